//! Where one method of SpMV becomes faster than another, measured on an H200. `docs/spmv-methods.md` prints this table.

macro_rules! thresholds {
    ($($(#[doc = $meaning:literal])+ $name:ident: $type:ty = $value:literal;)*) => {
        $($(#[doc = $meaning])+ pub(super) const $name: $type = $value;)*

        /// Name, value and meaning of each.
        #[cfg(test)]
        pub(super) const TABLE: &[(&str, &str, &str)] =
            &[$((stringify!($name), stringify!($value), concat!($($meaning),+))),*];
    };
}

thresholds! {
    /// Nonzeros per row from which on a row is a block's work, if all rows are alike.
    BLOCK_MEAN: f64 = 768.0;
    /// Rows are alike if the longest has at most this many times the mean.
    BLOCK_SPREAD: f64 = 2.0;
    /// Threads of a block that takes a row.
    BLOCK_THREADS: u64 = 256;
    /// Nonzeros per row from which on windows of x are looked for: with fewer, x is no large part of what is read.
    WINDOW_MEAN: f64 = 15.0;
    /// Nonzeros per row from which on windows pay in f32 even where neighboring nonzeros have neighboring columns.
    WINDOW_MEAN_OF_NEIGHBORS: f64 = 56.0;
    /// Rows per multiprocessor from which on windows are looked for in f32: every one needs blocks of 512 rows.
    WINDOW_ROWS_F32: u64 = 768;
    /// The same in f64.
    WINDOW_ROWS_F64: u64 = 2048;
    /// Tenths of the second-level cache that a matrix and its vectors fill at most if they are to stay there.
    CACHE_TENTHS: u64 = 7;
    /// Threads that a multiprocessor runs at once: with more lanes for all rows together, rows come in waves.
    WAVE_THREADS: u64 = 2048;
    /// Lanes per row, at least, where those of all rows are half a wave or less.
    SPARE_LANES: u32 = 4;
    /// Accesses of a lane, at least, for a row of mean length, where rows get twice the lanes because all of them still run at once.
    SPARE_STEPS: f64 = 2.0;
    /// Nonzeros per row from which on the host cuts row blocks where the device cannot, and up to which narrow columns pay in cache.
    ROW_BLOCK_MEAN: f64 = 12.0;
    /// Nonzeros in hot columns from which on these elements of x go to shared memory: with fewer, the copies and the second launch
    /// take as long as they save.
    HOT_NONZEROS: u64 = 1_200_000;
    /// Tenths of the nonzeros that are in hot columns, at least, for that.
    HOT_TENTHS: u64 = 2;
    /// Nonzeros per row from which on plans that may copy do so for scattered columns: of shorter rows, ends and sums take the time.
    COPY_MEAN: f64 = 5.0;
    /// Rows of a wave of threads, in quarters, from which on rows that are alike go to sliced ELL, where each has one thread.
    SLICED_QUARTERS: u64 = 1;
    /// Slots of sliced ELL for each hundred nonzeros, at most, for that.
    SLICED_SLOTS: u64 = 110;
    /// Tenths of the shared memory of a block that x takes more than if it has hot columns: of a smaller x the first-level cache has enough.
    HOT_X_TENTHS: u64 = 7;
    /// Nonzeros from which on it is counted how scattered their columns are.
    SCATTERED_NONZEROS: u64 = 1_000_000;
    /// Sectors of x for each nonzero of neighboring ones, from which on their columns are scattered: with fewer, a cache has most
    /// elements of x when they are wanted.
    SCATTERED: f64 = 0.5;
    /// First-level caches that x fills at most if it matters how large these are: of a larger x they have too little.
    SCATTERED_SPAN: u64 = 8;
    /// Bytes of products of a multiprocessor's blocks, about, that are enough to wait for gathers with: more take cache from one another.
    IN_FLIGHT: usize = 40_960;
    /// Hundredths of all bytes that narrow columns save, at least, where the matrix does not stay in cache.
    NARROW_HUNDREDTHS: u64 = 13;
    /// Rows for each one that has nonzeros up to which a method with equally many rows per tile may be chosen.
    TILE_FILLED: u64 = 5;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_the_thresholds() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spmv-methods.md");
        let page = std::fs::read_to_string(path).expect("the page on the methods of SpMV");
        let rows: Vec<String> = TABLE
            .iter()
            .map(|(name, value, meaning)| format!("| `{name}` | {value} | {} |", meaning.trim()))
            .collect();
        let listed: Vec<&str> = page
            .lines()
            .filter(|line| line.strip_prefix("| `").is_some_and(|name| name.starts_with(char::is_uppercase)))
            .collect();
        assert_eq!(listed, rows, "the table in {path} should be:\n{}", rows.join("\n"));
    }
}
