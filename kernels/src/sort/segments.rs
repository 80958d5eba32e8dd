//! Cuts segments into ranges that a block sorts: whole segments, or runs of those too long for a block.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

use crate::block::radix_sort::bits_of;
use crate::block::search::partition_point;
use crate::block::warp_search;
use crate::Offset;

/// Consecutive elements. Packed, the first one is in the low half of a word and the length in the high one.
#[derive(Clone, Copy)]
pub(super) struct ElementRange {
    pub(super) first: usize,
    pub(super) len: usize,
}

impl ElementRange {
    #[device]
    pub(super) fn pack(self) -> u64 {
        self.first as u64 | (self.len as u64) << 32
    }

    #[device]
    pub(super) fn unpack(word: u64) -> Self {
        Self { first: word as u32 as usize, len: (word >> 32) as usize }
    }
}

/// Flag of a packed range of up to a tile: the block that sorts it writes to the other one of two buffers.
pub(super) const TO_OTHER: u64 = 1 << 63;

/// Returns the number of rounds in which a segment's runs of `run_len` elements are merged, two at a time, until there
/// is one.
#[device]
pub fn merge_rounds(segment_len: usize, run_len: usize) -> u32 {
    bits_of(((segment_len - 1) / run_len) as u32)
}

kernel! {
    /// Sets the bit of each element that begins a segment: one thread per row.
    pub struct MarkSegments<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: one bit per element, 32 per word, the lowest first; all zero before.
        pub heads: GlobalMut<u32>,
        /// Rows.
        pub rows: u32,
    }
    shared: 0;
    body: MarkSegments::mark_segments::<BLOCK>;
    entry: sort_mark_segments_{O} in sort_segments: O in [u32, u64], 256 x 1;
}

impl<O: Offset> MarkSegments<O> {
    #[device]
    fn mark_segments<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row >= self.rows as usize {
            return;
        }
        let first = self.row_offsets.load(row).to_usize();
        if first < self.row_offsets.load(row + 1).to_usize() {
            // No other row with elements begins there: adding sets the bit.
            self.heads.fetch_add(first / 32, 1 << (first % 32), Ordering::Relaxed, Scope::Device);
        }
    }
}

kernel! {
    /// Cuts segments into ranges that fit a tile. Each chunk of `chunk` elements has two ranges, of the segments that begin
    /// in it: the first has all of them if they fit a tile together, and otherwise all but the last, which is then the
    /// second. One warp per chunk, and one more.
    ///
    /// A last segment that is longer than a tile is in no range: the second range begins with it and is empty. Other segments
    /// are not that long, because they end in the chunk.
    pub struct CutSegments<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: two words per chunk.
        pub ranges: GlobalMut<u64>,
        /// Output: one word per chunk, of a segment that is in no range: its length in the high half, and the number of
        /// pairs of tiles that it fills in the low one; zero without such a segment. One more word is zero.
        pub long: GlobalMut<u64>,
        /// Output: the pairs of tiles of all such segments, and the length of the longest; zero before.
        pub totals: GlobalMut<u64>,
        /// Rows.
        pub rows: u32,
        /// Elements, fewer than 2³².
        pub len: u32,
        /// Chunks.
        pub chunks: u32,
        /// Elements of a chunk, at most `capacity`.
        pub chunk: u32,
        /// Elements of a tile.
        pub capacity: u32,
    }
    shared: 0;
    body: CutSegments::cut_segments::<BLOCK>;
    entry: sort_cut_segments_{O} in sort_segments: O in [u32, u64], 256 x 1;
}

impl<O: Offset> CutSegments<O> {
    #[device]
    fn cut_segments<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.chunks as usize {
            if index == self.chunks as usize && thread::lane() == 0 {
                self.long.store(index, 0);
            }
            return;
        }
        let start = index * self.chunk as usize;
        let end = (start + self.chunk as usize).min(self.len as usize);
        let offset = |row: usize| self.row_offsets.load(row).to_usize();
        let row_at = |place: usize, from: usize| {
            let is_there = |row: u64| offset(row as usize) >= place;
            warp_search::first(from as u64, u64::from(self.rows), is_there) as usize
        };
        let first_row = row_at(start, 0);
        let next_row = row_at(end, first_row);
        if thread::lane() == 0 {
            self.store_chunk(index, first_row, next_row);
        }
    }

    /// Stores the ranges of a chunk in which the rows from `first_row` to before `next_row` begin.
    #[device(track_caller)]
    fn store_chunk(self, index: usize, first_row: usize, next_row: usize) {
        let offset = |row: usize| self.row_offsets.load(row).to_usize();
        let capacity = self.capacity as usize;
        let first = offset(first_row);
        let mut ranges = [ElementRange { first, len: 0 }; 2];
        let mut long = 0;
        if first_row < next_row {
            let (last, next) = (offset(next_row - 1), offset(next_row));
            if next - first <= capacity {
                ranges[0].len = next - first;
            } else {
                ranges[0].len = last - first;
                ranges[1].first = last;
                if next - last <= capacity {
                    ranges[1].len = next - last;
                } else {
                    let tiles = (next - last).div_ceil(2 * capacity) as u64;
                    long = ((next - last) as u64) << 32 | tiles;
                    self.totals.fetch_add(0, tiles, Ordering::Relaxed, Scope::Device);
                    self.totals.fetch_max(1, (next - last) as u64, Ordering::Relaxed, Scope::Device);
                }
            }
        }
        self.ranges.store(2 * index, ranges[0].pack());
        self.ranges.store(2 * index + 1, ranges[1].pack());
        self.long.store(index, long);
    }
}

kernel! {
    /// Lists the pairs of tiles of the segments that are in no range: one thread per pair. A tile of such a segment becomes
    /// a *run* when it is sorted.
    pub struct ListRuns {
        /// Sums of `long` from [`CutSegments`]: of the chunks before each, and of all.
        pub before: Global<u64>,
        /// Ranges from [`CutSegments`].
        pub ranges: Global<u64>,
        /// Output: the two tiles of each pair, as ranges. A segment whose runs are merged an odd number of times is sorted
        /// into the other buffer. The last tile of a segment may be empty.
        pub tiles: GlobalMut<u64>,
        /// Output: for each pair its segment, as a range, and the number of the pair in the segment.
        pub pairs: GlobalMut<u64>,
        /// Chunks.
        pub chunks: u32,
        /// Pairs.
        pub count: u32,
        /// Elements of a tile.
        pub capacity: u32,
    }
    shared: 0;
    body: ListRuns::list_runs::<BLOCK>;
    entry: sort_list_runs in sort_segments: 256 x 1;
}

impl ListRuns {
    #[device]
    fn list_runs<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index >= self.count as usize {
            return;
        }
        let pairs_before = |chunk: usize| self.before.load(chunk) as u32 as usize;
        let chunk = partition_point(0, self.chunks as usize, |chunk| pairs_before(chunk + 1) <= index);
        let len = ((self.before.load(chunk + 1) - self.before.load(chunk)) >> 32) as usize;
        let first = ElementRange::unpack(self.ranges.load(2 * chunk + 1)).first;
        let (number, capacity) = (index - pairs_before(chunk), self.capacity as usize);
        let to_other = if merge_rounds(len, capacity).is_multiple_of(2) { 0 } else { TO_OTHER };
        for half in 0..2 {
            let begin = ((2 * number + half) * capacity).min(len);
            let tile = ElementRange { first: first + begin, len: capacity.min(len - begin) };
            self.tiles.store(2 * index + half, tile.pack() | to_other);
        }
        self.pairs.store(2 * index, ElementRange { first, len }.pack());
        self.pairs.store(2 * index + 1, number as u64);
    }
}
