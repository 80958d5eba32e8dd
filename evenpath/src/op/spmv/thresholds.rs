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
    /// Nonzeros per row from which on a row is a block's work, if the blocks of all rows run at once.
    RESIDENT_BLOCK_MEAN: f64 = 64.0;
    /// The same where the longest row takes a warp more than `WAVE_STEPS_OF_BLOCKS` accesses.
    RESIDENT_BLOCK_MEAN_OF_UNEVEN: f64 = 32.0;
    /// Threads of such a block.
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
    /// Waves of lanes up to which these are faster in f32 than row blocks and tiles where the matrix stays in cache.
    WAVES_OF_F32: u64 = 3;
    /// Waves of warps, one per row, up to which these are best for a matrix of unlike rows that stays in cache.
    WAVES_OF_WARPS: u64 = 2;
    /// Accesses of a lane, one behind the other, for the longest row, up to which such warps are best.
    WARP_STEPS: u64 = 11;
    /// Accesses of a lane, one behind the other, for the longest row, up to which lanes per row, or a block per row, are faster
    /// than row blocks where all rows run at once.
    WAVE_STEPS_OF_BLOCKS: u64 = 8;
    /// The same if the longest row has at most `ALIKE_SPREAD` times the mean.
    WAVE_STEPS_OF_ALIKE: u64 = 16;
    /// Rows are much alike if the longest has at most this many times the mean.
    ALIKE_SPREAD: f64 = 1.25;
    /// The same in place of row tiles.
    WAVE_STEPS_OF_TILES: u64 = 32;
    /// Times the mean that the longest row has at most, in cache: where all rows run at once, for row blocks; where they do not, for
    /// lanes per row.
    CACHED_SPREAD: f64 = 4.0;
    /// Nonzeros per row from which on row blocks are faster than row tiles.
    ROW_BLOCK_MEAN: f64 = 12.0;
    /// Nonzeros of the longest row up to which lanes per row are best for unlike rows of fewer than `ROW_BLOCK_MEAN` in cache.
    SHORT_LONGEST: u64 = 64;
    /// Nonzeros per row from which on row blocks are faster than row tiles in f32 where the matrix does not stay in cache.
    ROW_BLOCK_MEAN_OF_F32: f64 = 32.0;
    /// Nonzeros per row from which on long rows are cut out and binned.
    BINNED_LEAST_MEAN: f64 = 2.0;
    /// Nonzeros per row up to which long rows are cut out and binned.
    BINNED_MEAN: f64 = 8.0;
    /// Long rows are cut out if they have at most the nonzeros divided by this.
    LONG_SHARE: u64 = 8;
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
        let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(listed, rows, "the table in {path} should be:\n{}", rows.join("\n"));
    }
}
