//! Entries by leaves. The entries of a row in one leaf are consecutive, a *run*. Runs are sorted instead of entries:
//! there are far fewer of them if rows have neighboring columns.
use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{
    device, kernel, parameters, thread, warp, Aligned16, Arena, Element, Global, GlobalMut, Shared,
};

use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};
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
    #[device]
    pub(super) fn word(self) -> u64 {
        u64::from(self.first) | u64::from(self.row) << 32 | u64::from(self.len - 1) << 40
    }

    #[device]
    pub(super) fn from_word(word: u64) -> Self {
        let upper = (word >> 32) as u32;
        Self { first: word as u32, row: upper & 0xff, len: (upper >> 8) + 1 }
    }
}

parameters! {
    /// The positions of a matrix's entries, sorted by row.
    pub struct EntryPositions {
        /// Row indices, ascending.
        pub row_indices: Global<u32, Aligned16>,
        /// Column indices.
        pub column_indices: Global<u32, Aligned16>,
        /// The number of entries.
        pub len: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

impl EntryPositions {
    /// Returns whether the entry at `place` is in the given row, and in the leaf of the given column.
    #[device(track_caller)]
    fn same_run(self, row: u32, col: u32, place: u32) -> bool {
        self.row_indices.load(place as usize) == row
            && self.column_indices.load(place as usize) >> self.d_log2 == col >> self.d_log2
    }

    /// Returns the end of the run of the entry before `start`. A run is no longer than a leaf has columns.
    #[device(track_caller)]
    fn run_end(self, row: u32, col: u32, start: u32) -> u32 {
        if start >= self.len || !self.same_run(row, col, start) {
            return start;
        }
        let longest = ((1 << self.d_log2) - 1).min(self.len - start - 1);
        partition_point(start + 1, start + 1 + longest, |place| self.same_run(row, col, place))
    }
}

/// The consecutive entries of a thread, and which of them begin runs.
struct ThreadEntries<const ITEMS: usize> {
    rows: [u32; ITEMS],
    cols: [u32; ITEMS],
    /// The number of the first entry.
    start: u32,
    /// A bit per entry: whether it begins a run.
    heads: u32,
    /// The number of entries whose column is not greater than that of the entry before in the same row.
    descents: u32,
}

impl<const ITEMS: usize> ThreadEntries<ITEMS> {
    #[device(track_caller)]
    fn load<const BLOCK: usize>(entries: EntryPositions, tile: u32) -> Self {
        let EntryPositions { row_indices: rows, column_indices: cols, len, d_log2 } = entries;
        let start = (tile * BLOCK as u32 + thread::index()) * ITEMS as u32;
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

/// Words of the state: the number of runs, and of columns that are not greater than the one before them in their row; then a
/// ticket, and a word per tile.
pub const fn run_state_words(tiles: usize) -> usize {
    RUN_RESULTS + 1 + tiles
}

/// The number of results, which are the first words of the state.
pub const RUN_RESULTS: usize = 2;

kernel! {
    /// Writes the runs of a matrix in the order of its entries: one block per tile of entries. Where columns do not ascend in every
    /// row, the runs mean nothing.
    pub struct HiSparseWriteRuns<K: Key> {
        /// The entries.
        pub entries: EntryPositions,
        /// Output: the path of each run's leaf: the digits of row and column from the root down.
        pub keys: GlobalMut<K>,
        /// Output: the runs.
        pub runs: GlobalMut<u64>,
        /// [`run_state_words`] words, all zero. Output: the results, in the first words.
        pub state: GlobalMut<u64>,
        /// Levels of the tree.
        pub depth: u32,
    }
    shared: BLOCK * ITEMS * (8 + K::SIZE) + CountScan::<u32, BLOCK>::BYTES + 8;
    body: HiSparseWriteRuns::write_runs::<BLOCK, ITEMS>;
    entry: hisparse_write_runs_{K} in hisparse_convert: K in [u32, u64], 256 x 8;
}

impl<K: Key> HiSparseWriteRuns<K> {
    #[device]
    fn write_runs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Draw a tile, and find the runs that begin at the thread's entries.
        let staged_runs = arena.take(BLOCK * ITEMS);
        let staged_keys = arena.take(BLOCK * ITEMS);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let (ticket, before): (Shared<u32>, Shared<u32>) = (arena.take(1), arena.take(1));
        let tile = Tickets::new(self.state.skip(RUN_RESULTS)).draw_for_block(ticket);
        let share = ThreadEntries::<ITEMS>::load::<BLOCK>(self.entries, tile);
        let counted = scan.exclusive(share.heads.count_ones());
        // 2. Count the runs of earlier tiles, while the other warps stage theirs.
        if thread::warp() == 0 {
            let earlier = self.look_back(tile, counted.total);
            if thread::lane() == 0 {
                before.store(0, earlier as u32);
            }
        }
        let descents = warp::reduce_add(share.descents);
        if thread::lane() == 0 && descents > 0 {
            self.state.fetch_add(1, u64::from(descents), Ordering::Relaxed, Scope::Device);
        }
        self.stage(&share, counted.before, staged_runs, staged_keys);
        thread::barrier();
        // 3. Write the tile's runs.
        let before = before.load(0) as usize;
        output::store::<K, BLOCK, ITEMS>(staged_keys, self.keys, before, counted.total);
        output::store::<u64, BLOCK, ITEMS>(staged_runs, self.runs, before, counted.total);
    }

    /// Returns the number of runs of earlier tiles; the last tile writes the number of all runs. For one warp.
    #[device(track_caller)]
    fn look_back(&self, tile: u32, total: u32) -> u64 {
        let earlier = Lookback::new(self.state.skip(RUN_RESULTS + 1)).publish_and_prefix(tile, total);
        if thread::lane() == 0 && tile + 1 == thread::grid_size() {
            self.state.store(0, earlier + u64::from(total));
        }
        earlier
    }

    /// Stages the thread's runs in shared memory, starting at `place`.
    #[device(track_caller)]
    fn stage<const ITEMS: usize>(
        &self,
        share: &ThreadEntries<ITEMS>,
        mut place: u32,
        staged_runs: Shared<u64>,
        staged_keys: Shared<K>,
    ) {
        let EntryPositions { len, d_log2, .. } = self.entries;
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
    }
}

/// Returns the path of a leaf from its row and column, counted in leaves: a digit of each per level above the leaves',
/// the root's in the highest bits.
#[device]
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
