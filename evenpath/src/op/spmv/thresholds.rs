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
    /// Minimum mean row length for a block per row, if rows are alike.
    BLOCK_MEAN: f64 = 768.0;
    /// Maximum ratio of the longest row to the mean for rows to count as alike.
    BLOCK_SPREAD: f64 = 2.0;
    /// Threads of a block that takes a row.
    BLOCK_THREADS: u64 = 256;
    /// Minimum mean row length for searching windows of x; with shorter rows, x is a small part of the traffic.
    WINDOW_MEAN: f64 = 15.0;
    /// Minimum mean row length for windows in f32 where neighboring nonzeros have neighboring columns.
    WINDOW_MEAN_OF_NEIGHBORS: f64 = 56.0;
    /// Minimum rows per multiprocessor for windows in f32, whose blocks take 512 rows.
    WINDOW_ROWS_F32: u64 = 768;
    /// Minimum rows per multiprocessor for windows in f64.
    WINDOW_ROWS_F64: u64 = 2048;
    /// Maximum share of the second-level cache, in tenths, for a matrix and its vectors to stay there.
    CACHE_TENTHS: u64 = 7;
    /// Threads that a multiprocessor runs at once; more lanes run in waves.
    WAVE_THREADS: u64 = 2048;
    /// Minimum lanes per row where the lanes of all rows fill at most half a wave.
    SPARE_LANES: u32 = 4;
    /// Minimum accesses per lane of a mean row for doubling the lanes when all rows still run at once.
    SPARE_STEPS: f64 = 2.0;
    /// Minimum mean row length for row blocks if some row is longer than half of one, and maximum for narrow columns in cache.
    ROW_BLOCK_MEAN: f64 = 12.0;
    /// Minimum nonzeros in hot columns for keeping their elements of x in shared memory; fewer do not pay for the copies and the
    /// second launch.
    HOT_NONZEROS: u64 = 1_200_000;
    /// Minimum share of the nonzeros in hot columns, in tenths.
    HOT_TENTHS: u64 = 2;
    /// Minimum mean row length for copies where columns are scattered; in shorter rows, row ends and sums dominate.
    COPY_MEAN: f64 = 5.0;
    /// Minimum rows for sliced ELL, in quarters of a wave of threads, where rows are alike: each row has one thread.
    SLICED_QUARTERS: u64 = 1;
    /// Maximum slots of sliced ELL per hundred nonzeros.
    SLICED_SLOTS: u64 = 110;
    /// Minimum size of x for hot columns, in tenths of the shared memory of a block; the first-level cache holds a smaller x.
    HOT_X_TENTHS: u64 = 7;
    /// Minimum nonzeros for measuring how scattered their columns are.
    SCATTERED_NONZEROS: u64 = 1_000_000;
    /// Minimum sectors of x per nonzero, among neighboring nonzeros, for columns to count as scattered; below that, the cache has
    /// most elements of x.
    SCATTERED: f64 = 0.5;
    /// Maximum size of x, in first-level caches, for the size of the cache to matter.
    SCATTERED_SPAN: u64 = 8;
    /// Bytes of staged products per multiprocessor that hide the latency of gathers; more would only take cache from each other.
    IN_FLIGHT: usize = 40_960;
    /// Minimum share of all bytes, in hundredths, that narrow columns save for a matrix beyond the cache.
    NARROW_HUNDREDTHS: u64 = 13;
    /// Maximum ratio of rows to nonempty rows for methods with a fixed number of rows per tile.
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
