//! The parts of rows.

use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut};

use crate::Offset;

/// Weight of a tile, and the most of a row that is not cut.
pub const TILE: u64 = 1024;

/// Returns the weight of a part of a row of more than [`TILE`], given the length of the row of the mask: so much that the sums of
/// parts are at most half as many as lookups, and no less than an entry of A can have.
#[device]
fn part_weight(mask_len: u64) -> u64 {
    (2 * mask_len).max(TILE)
}

/// The rows of A by weight.
#[derive(Clone, Copy)]
pub(super) struct WeighedRows<O> {
    pub(super) row_offsets: Global<O>,
    /// The weight before each entry of A, and that of all at the end.
    pub(super) before: Global<u64>,
}

/// The entries of A in a part of a row.
#[derive(Clone, Copy)]
pub(super) struct RowPart {
    /// Number of the part.
    pub(super) number: u64,
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl<O: Offset> WeighedRows<O> {
    /// Returns the weight before a row.
    #[device(track_caller)]
    fn before(self, row: u32) -> u64 {
        self.before.load(self.row_offsets.load(row as usize).to_usize())
    }

    /// Returns whether a row may be cut.
    #[device(track_caller)]
    pub(super) fn is_heavy(self, row: u32) -> bool {
        self.before(row + 1) - self.before(row) > TILE
    }

    /// Returns the number of parts of a row.
    #[device(track_caller)]
    fn parts(self, row: u32, mask_len: u64) -> u64 {
        let weight = self.before(row + 1) - self.before(row);
        if weight > TILE {
            weight.div_ceil(part_weight(mask_len))
        } else {
            1
        }
    }

    /// Returns the first of the rows `start..rows` that begins at a weight of `weight` or more. Called by the whole warp.
    #[device(track_caller)]
    pub(super) fn first_from(self, start: u32, rows: u32, weight: u64) -> u32 {
        warp_partition_point(start.into(), rows.into(), |row| self.before(row as u32) < weight) as u32
    }

    /// Returns the part of a heavy row that begins in the tile starting at `tile`, if one does. Called by the whole warp.
    #[device(track_caller)]
    pub(super) fn part(self, row: u32, mask_len: u64, tile: u64) -> Option<RowPart> {
        let (start, end) = (self.before(row), self.before(row + 1));
        let len = part_weight(mask_len);
        let number = if tile > start { (tile - start).div_ceil(len) } else { 0 };
        let first = start + number * len;
        if first >= end || first >= tile + TILE {
            return None;
        }
        let begin = self.row_offsets.load(row as usize).to_usize() as u64;
        let row_end = self.row_offsets.load(row as usize + 1).to_usize() as u64;
        let begin = warp_partition_point(begin, row_end, |entry| self.before.load(entry as usize) < first);
        let end =
            warp_partition_point(begin, row_end, |entry| self.before.load(entry as usize) < first + len);
        Some(RowPart { number, begin: begin as usize, end: end as usize })
    }
}

/// [`partition_point`](crate::block::search::partition_point) by a warp, which tests 32 indices at a time.
#[device(track_caller)]
fn warp_partition_point(start: u64, end: u64, is_before: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (start, end);
    while low < high {
        // A lane tests the last index of its share.
        let share = (high - low).div_ceil(u64::from(thread::WARP_SIZE));
        let last = low + (u64::from(thread::lane()) + 1) * share - 1;
        let is_whole = last < high && is_before(last);
        low += u64::from(warp::ballot(warp::FULL, is_whole).count_ones()) * share;
        high = high.min(low + share - 1);
    }
    low
}

kernel! {
    /// Counts the sums of the parts of each row after the first: one thread per row, and one more.
    pub struct SpgemmMaskedParts<O: Offset> {
        /// Row offsets of A.
        pub row_offsets: Global<O>,
        /// The weight before each entry of A, and that of all at the end.
        pub weights: Global<u64>,
        /// Row offsets of the mask.
        pub mask_row_offsets: Global<O>,
        /// Output: the number of sums of each row; then a zero, so that an exclusive scan ends with all.
        pub sums: GlobalMut<u64>,
        /// The number of rows.
        pub rows: u32,
    }
    shared: 0;
    body: SpgemmMaskedParts::count_sums::<BLOCK>;
    entry: spgemm_masked_parts_{O} in spgemm_masked: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SpgemmMaskedParts<O> {
    #[device]
    fn count_sums<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.rows as usize {
            let rows = WeighedRows { row_offsets: self.row_offsets, before: self.weights };
            let mask_begin = self.mask_row_offsets.load(row).to_usize();
            let mask_len = (self.mask_row_offsets.load(row + 1).to_usize() - mask_begin) as u64;
            self.sums.store(row, (rows.parts(row as u32, mask_len) - 1) * mask_len);
        } else if row == self.rows as usize {
            self.sums.store(row, 0);
        }
    }
}
