//! Entries by leaves. The entries of a row in one leaf are consecutive, a *run*. Runs are what is sorted: there are far fewer
//! of them than entries where rows have neighboring columns.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, parameters, thread, warp, Arena, Element, Global, GlobalMut};

use crate::block::count_scan::CountScan;
use crate::block::output;
use crate::block::search::partition_point;
use crate::Key;

/// A run as a word: its first entry in the lowest 32 bits, the local row, and the number of entries less one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) row: u32,
    pub(super) len: u32,
}

impl Run {
    #[inline(always)]
    pub(super) fn word(self) -> u64 {
        u64::from(self.first) | u64::from(self.row) << 32 | u64::from(self.len - 1) << 40
    }

    #[inline(always)]
    pub(super) fn from_word(word: u64) -> Self {
        let upper = (word >> 32) as u32;
        Self { first: word as u32, row: upper & 0xff, len: (upper >> 8) + 1 }
    }
}

parameters! {
    /// The positions of a matrix's entries, sorted by row.
    pub struct Entries {
        /// Row indices, ascending.
        pub row_indices: Global<u32>,
        /// Column indices.
        pub column_indices: Global<u32>,
        /// The number of entries.
        pub len: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

impl Entries {
    /// Whether the entry at `place` is in the given row, and in the leaf of the given column.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn same_run(self, row: u32, col: u32, place: u32) -> bool {
        self.row_indices.load(place as usize) == row
            && self.column_indices.load(place as usize) >> self.d_log2 == col >> self.d_log2
    }

    /// The end of the run of the entry before `start`. A run is no longer than a leaf has columns.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn run_end(self, row: u32, col: u32, start: u32) -> u32 {
        if start >= self.len || !self.same_run(row, col, start) {
            return start;
        }
        let longest = ((1 << self.d_log2) - 1).min(self.len - start - 1);
        partition_point(start + 1, start + 1 + longest, |place| self.same_run(row, col, place))
    }
}

/// The consecutive entries of a thread, and which of them begin runs.
struct Share<const ITEMS: usize> {
    rows: [u32; ITEMS],
    cols: [u32; ITEMS],
    /// The number of the first entry.
    start: u32,
    /// A bit per entry: whether it begins a run.
    heads: u32,
    /// The number of entries whose column is not greater than that of the entry before in the same row.
    descents: u32,
}

impl<const ITEMS: usize> Share<ITEMS> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<const BLOCK: usize>(entries: Entries) -> Self {
        let Entries { row_indices: rows, column_indices: cols, len, d_log2 } = entries;
        let start = (thread::block() * BLOCK as u32 + thread::index()) * ITEMS as u32;
        let mut share = Self { rows: [0; ITEMS], cols: [0; ITEMS], start, heads: 0, descents: 0 };
        for packet in 0..ITEMS / 4 {
            let place = start + 4 * packet as u32;
            if place + 4 <= len {
                let (row, col) = (rows.load_16(place as usize), cols.load_16(place as usize));
                for item in 0..4 {
                    share.rows[4 * packet + item] = (row[item / 2] >> (item % 2 * 32)) as u32;
                    share.cols[4 * packet + item] = (col[item / 2] >> (item % 2 * 32)) as u32;
                }
            } else {
                for item in 0..4 {
                    let place = place + item as u32;
                    share.rows[4 * packet + item] = rows.load_if(place as usize, place < len);
                    share.cols[4 * packet + item] = cols.load_if(place as usize, place < len);
                }
            }
        }
        let has_earlier = start > 0 && start <= len;
        let earlier = start.saturating_sub(1) as usize;
        let (mut row, mut col) = (rows.load_if(earlier, has_earlier), cols.load_if(earlier, has_earlier));
        for item in 0..ITEMS {
            let place = start + item as u32;
            let same_row = place > 0 && share.rows[item] == row;
            let is_head = !same_row || share.cols[item] >> d_log2 != col >> d_log2;
            if place < len {
                share.heads |= u32::from(is_head) << item;
                share.descents += u32::from(same_row && share.cols[item] <= col);
            }
            (row, col) = (share.rows[item], share.cols[item]);
        }
        share
    }
}

kernel! {
    /// Counts the runs that begin in a tile of entries, and the columns that are not greater than the one before them in their
    /// row: one block per tile.
    pub struct HiSparseCountRuns {
        /// The entries.
        pub entries: Entries,
        /// Output: the number of runs that begin in each tile.
        pub counts: GlobalMut<u32>,
        /// A word to which the number of descents is added.
        pub descents: GlobalMut<u32>,
    }
    shared: CountScan::<u32, BLOCK>::BYTES;
    body: HiSparseCountRuns::count_runs::<BLOCK, ITEMS>;
    entries: {
        hisparse_count_runs in hisparse_convert: 256 x 8;
    }
}

impl HiSparseCountRuns {
    #[inline(always)]
    fn count_runs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let share = Share::<ITEMS>::load::<BLOCK>(self.entries);
        let total = scan.exclusive(share.heads.count_ones()).total;
        if thread::index() == 0 {
            self.counts.store(thread::block() as usize, total);
        }
        let own = warp::reduce_add(share.descents);
        if thread::lane() == 0 && own > 0 {
            self.descents.fetch_add(0, own, Ordering::Relaxed, Scope::Device);
        }
    }
}

kernel! {
    /// Writes the runs of a matrix whose columns ascend in every row, in the order of entries: one block per tile of entries.
    pub struct HiSparseWriteRuns<K: Key> {
        /// The entries.
        pub entries: Entries,
        /// The number of runs of each tile and all before it.
        pub ends: Global<u32>,
        /// Output: the path of each run's leaf: the digits of row and column from the root down.
        pub keys: GlobalMut<K>,
        /// Output: the runs.
        pub runs: GlobalMut<u64>,
        /// Levels of the tree.
        pub depth: u32,
    }
    shared: BLOCK * ITEMS * (8 + K::SIZE) + CountScan::<u32, BLOCK>::BYTES;
    body: HiSparseWriteRuns::write_runs::<BLOCK, ITEMS>;
    entries: {
        hisparse_write_runs_u32 in hisparse_convert: <K = u32>, 256 x 8;
        hisparse_write_runs_u64 in hisparse_convert: <K = u64>, 256 x 8;
    }
}

impl<K: Key> HiSparseWriteRuns<K> {
    #[inline(always)]
    fn write_runs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Entries { len, d_log2, .. } = self.entries;
        let staged_runs = arena.take(BLOCK * ITEMS);
        let staged_keys = arena.take(BLOCK * ITEMS);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let share = Share::<ITEMS>::load::<BLOCK>(self.entries);
        let counted = scan.exclusive(share.heads.count_ones());
        let mut place = counted.before;
        // The thread's last run may extend past its entries.
        let mut last_end = (share.start + ITEMS as u32).min(len);
        if share.heads != 0 && last_end > share.start {
            let last = last_end - 1 - share.start;
            let (mut row, mut col) = (0, 0);
            for item in 0..ITEMS {
                if item as u32 == last {
                    (row, col) = (share.rows[item], share.cols[item]);
                }
            }
            last_end = self.entries.run_end(row, col, last_end);
        }
        for item in 0..ITEMS {
            let first = share.start + item as u32;
            if share.heads >> item & 1 != 0 {
                let (row, col) = (share.rows[item], share.cols[item]);
                let later = share.heads >> item >> 1;
                let end = if later == 0 { last_end } else { first + 1 + later.trailing_zeros() };
                let path = path(row >> d_log2, col >> d_log2, d_log2, self.depth);
                staged_keys.store(place as usize, K::from_bits(path));
                let run = Run { first, row: row & ((1 << d_log2) - 1), len: end - first };
                staged_runs.store(place as usize, run.word());
                place += 1;
            }
        }
        thread::barrier();
        let before = (self.ends.load(thread::block() as usize) - counted.total) as usize;
        output::store::<K, BLOCK, ITEMS>(staged_keys, self.keys, before, counted.total);
        output::store::<u64, BLOCK, ITEMS>(staged_runs, self.runs, before, counted.total);
    }
}

/// The path of a leaf from its row and column, counted in leaves: a digit of each per level above the leaves', the root's in
/// the highest bits.
#[inline(always)]
pub(super) fn path(row: u32, col: u32, d_log2: u32, depth: u32) -> u64 {
    let mask = (1 << d_log2) - 1;
    let mut path = 0;
    let mut level = depth - 1;
    while level > 0 {
        level -= 1;
        // At most bit 25: the first of six digits of five bits.
        let shift = d_log2 * level;
        let digits = (row >> shift & mask) << d_log2 | col >> shift & mask;
        path = path << (2 * d_log2) | u64::from(digits);
    }
    path
}
