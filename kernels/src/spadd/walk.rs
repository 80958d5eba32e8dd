use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Global, GlobalMut, Shared};

use super::cut::path_items;
use super::item_kinds::{ItemKinds, WORD_ITEMS};
use super::state::{GROUP, GROUPS, RESULTS};
use super::tile::SpaddTile;
use crate::block::count_scan::CountScan;
use crate::block::merge_path;
use crate::block::search::partition_point;
use crate::unroll::unroll;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Walks the path, one tile per block: writes the kinds of its items and counts the results.
    pub struct WalkPath<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, with as many rows.
        pub b: GlobalPattern<O>,
        /// Starts of the tiles, from [`CutPath`](super::CutPath).
        pub starts: Global<u64>,
        /// Output: the kinds of the path's items, a word per 31 items of a tile.
        pub kinds: GlobalMut<u64>,
        /// Output: the number of results of each tile.
        pub counts: GlobalMut<u32>,
        /// The state that [`CutPath`](super::CutPath) cleared; output: the number of results in it.
        pub states: GlobalMut<u64>,
        /// Items that make results: bits of [`keep`](super::keep).
        pub keep: u32,
    }
    shared: staged_len(BLOCK, ITEMS) * 4 + CountScan::<u32, BLOCK>::BYTES + 4;
    body: WalkPath::walk::<BLOCK, ITEMS>;
    entry: spadd_walk_{O} in spadd: O in [u32, u64], 96 x 62;
}

/// The column after the last of a row.
const NONE: u32 = u32::MAX;

/// Words of shared memory for a tile's columns, padded to whole packets and with one column more for each matrix, and for the
/// ends of its rows.
pub(super) const fn staged_len(block: usize, items: usize) -> usize {
    (block * items + 2 * (3 + 1 + 3) + 1 + items).next_multiple_of(4)
}

impl<O: Offset> WalkPath<O> {
    fn walk<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Stage the tile's columns and the ends of its rows in shared memory.
        let memory = arena.take(staged_len(BLOCK, ITEMS));
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let none = arena.take(1);
        let number = thread::block();
        let tile = SpaddTile::load(self.starts, number, path_items(self.a, self.b), (BLOCK * ITEMS) as u32);
        let (staged, ends) = stage::<O, BLOCK, ITEMS>(&tile, (self.a, self.b), memory, none);
        thread::await_copies();
        thread::barrier();

        // 2. Walk the thread's share of the path.
        let diagonal = (thread::index() * ITEMS as u32).min(tile.items);
        let mut walk = SpaddWalk::new(&tile, staged, ends, diagonal);
        let words = ITEMS / WORD_ITEMS as usize;
        let kinds = self.kinds.skip((number as usize * BLOCK + thread::index() as usize) * words);
        let mut left = tile.items - diagonal;
        let mut results = 0;
        for word in 0..words {
            let of_word = walk.next::<{ WORD_ITEMS as usize }>();
            kinds.store(word, of_word.word());
            let items = left.min(WORD_ITEMS);
            results += of_word.results(self.keep, items).count_ones();
            left -= items;
        }
        // 3. Count the tile's results.
        let total = scan.exclusive(results).total;
        if thread::index() == 0 {
            self.counts.store(number as usize, total);
            // Integer sums do not depend on the order of additions, and no other block of this launch reads them.
            let group = GROUPS + (number / GROUP) as usize;
            self.states.fetch_add(group, u64::from(total), Ordering::Relaxed, Scope::Device);
            self.states.fetch_add(RESULTS, u64::from(total), Ordering::Relaxed, Scope::Device);
        }
    }
}

/// Begins to stage a tile's columns and the ends of its rows, in [`staged_len`] words aligned to 16 bytes and one more.
/// They are there after [`thread::await_copies`] and a barrier. Returns the columns and the rows' ends.
#[device(track_caller)]
pub(super) fn stage<O: Offset, const BLOCK: usize, const ITEMS: usize>(
    tile: &SpaddTile,
    (a, b): (GlobalPattern<O>, GlobalPattern<O>),
    memory: Shared<u32>,
    none: Shared<u32>,
) -> (StagedColumns, Shared<u32>) {
    let of_a = TileColumns::new(a.column_indices, tile.a_first, tile.a_len, a.nonzeros);
    let of_b = TileColumns::new(b.column_indices, tile.b_first, tile.b_len, b.nonzeros);
    let (b_memory, ends) = (memory.skip(of_a.room()), memory.skip(of_a.room() + of_b.room()));
    of_a.stage::<BLOCK>(memory);
    of_b.stage::<BLOCK>(b_memory);
    if thread::index() == 0 {
        none.store(0, NONE);
    }
    let staged =
        StagedColumns { a: memory.skip(of_a.skew as usize), b: b_memory.skip(of_b.skew as usize), none };
    stage_row_ends::<O, BLOCK, ITEMS>(tile, (a, b), staged, ends);
    (staged, ends)
}

/// The columns of one matrix that a tile stages: its own, and the next one if there is one.
struct TileColumns {
    /// The columns, starting at the packet that holds the tile's first one.
    view: Global<u32, Aligned16>,
    /// The number of columns in the view before the tile's first.
    skew: u32,
    packets: u32,
    /// The number of columns in the view, capped at more than any tile has.
    left: u32,
}

impl TileColumns {
    const PACKET: u32 = 4;

    #[device]
    fn new(view: Global<u32, Aligned16>, first: usize, len: u32, nonzeros: u64) -> Self {
        let skew = first as u32 % Self::PACKET;
        let left = (nonzeros - first as u64 + u64::from(skew)).min(1 << 30) as u32;
        Self {
            view: view.skip_aligned(first - skew as usize),
            skew,
            packets: (skew + len + 1).min(left).div_ceil(Self::PACKET),
            left,
        }
    }

    /// Words of shared memory that they take.
    #[device]
    fn room(&self) -> usize {
        (self.packets * Self::PACKET) as usize
    }

    /// Starts to copy the columns to shared memory.
    #[device(track_caller)]
    fn stage<const BLOCK: usize>(&self, to: Shared<u32>) {
        let whole = self.packets.min(self.left / Self::PACKET);
        let mut packet = thread::index();
        while packet < whole {
            let first = (packet * Self::PACKET) as usize;
            to.copy_16(first, self.view, first);
            packet += BLOCK as u32;
        }
        // The matrix's last columns may not fill a packet.
        let place = whole * Self::PACKET + thread::index();
        if whole < self.packets && place < self.left {
            to.store(place as usize, self.view.load(place as usize));
        }
    }
}

/// Rows whose offsets a thread has in flight.
const ROW_BATCH: usize = 4;

/// Writes the ends of the rows that follow the tile's first: the address past the last column of A in the lower half of
/// a word, of B in the upper. Rows that end past the tile end past the one extra column that is staged. There are
/// `ITEMS` more rows than the tile touches, so that a walk past its end finds rows; past the last row these are empty.
#[device(track_caller)]
fn stage_row_ends<O: Offset, const BLOCK: usize, const ITEMS: usize>(
    tile: &SpaddTile,
    (a, b): (GlobalPattern<O>, GlobalPattern<O>),
    columns: StagedColumns,
    ends: Shared<u32>,
) {
    let (a_offsets, b_offsets) = (a.row_offsets.skip(tile.first_row), b.row_offsets.skip(tile.first_row));
    let last = a.rows - tile.first_row as u32;
    let count = tile.rows + 1 + ITEMS as u32;
    let address = |columns: Shared<u32>, end: O, first: usize, len: u32| {
        // With 32-bit offsets, differences fit 32 bits as well.
        let left = if O::SIZE == 4 {
            (end.to_usize() as u32).wrapping_sub(first as u32).min(len + 1)
        } else {
            (end.to_usize() - first).min(len as usize + 1) as u32
        };
        columns.address() + 4 * left
    };
    let mut first = thread::index();
    while first < count {
        let mut own = [(O::ZERO, O::ZERO); ROW_BATCH];
        for item in 0..ROW_BATCH {
            let row = first + (item * BLOCK) as u32;
            let index = (row + 1).min(last) as usize;
            own[item] = (a_offsets.load_if(index, row < count), b_offsets.load_if(index, row < count));
        }
        for item in 0..ROW_BATCH {
            let row = first + (item * BLOCK) as u32;
            if row < count {
                let a_end = address(columns.a, own[item].0, tile.a_first, tile.a_len);
                let b_end = address(columns.b, own[item].1, tile.b_first, tile.b_len);
                ends.store(row as usize, b_end << 16 | a_end);
            }
        }
        first += (ROW_BATCH * BLOCK) as u32;
    }
}

/// A tile's columns in shared memory, starting at the first of each matrix.
#[derive(Clone, Copy)]
pub(super) struct StagedColumns {
    a: Shared<u32>,
    b: Shared<u32>,
    /// [`NONE`].
    none: Shared<u32>,
}

/// The state of a thread's walk along its share of the path.
pub(super) struct SpaddWalk {
    /// The next columns.
    a: Shared<u32>,
    b: Shared<u32>,
    /// [`NONE`], which follows the last column of a row.
    none: Shared<u32>,
    /// The ends of the current row and of the next ones.
    ends: Shared<u32>,
    /// The addresses where the current row's columns end.
    a_end: u32,
    b_end: u32,
    /// The first of the next columns; [`NONE`] at the row's end.
    a_column: u32,
    b_column: u32,
    kinds: ItemKinds,
}

/// Returns the addresses where a row's columns end.
#[device]
fn unpack(word: u32) -> (u32, u32) {
    (word & 0xffff, word >> 16)
}

impl SpaddWalk {
    /// Finds where a tile's `diagonal` cuts the path: the row, and the position in the row.
    #[device(track_caller)]
    pub(super) fn new(
        tile: &SpaddTile,
        StagedColumns { a, b, none }: StagedColumns,
        ends: Shared<u32>,
        diagonal: u32,
    ) -> Self {
        let begin = (a.address(), b.address());
        // The first row whose end is not before the diagonal; the last that the tile touches is not.
        let row = partition_point(0, tile.rows, |row| {
            let (a_end, b_end) = unpack(ends.load(row as usize));
            a_end + b_end + 4 * row < begin.0 + begin.1 + 4 * diagonal
        });
        let (a_start, b_start) = if row > 0 { unpack(ends.load(row as usize - 1)) } else { begin };
        let (a_end, b_end) = unpack(ends.load(row as usize));
        let before = ((a_start - begin.0) / 4, (b_start - begin.1) / 4);
        let (a, b) = (a.skip(before.0 as usize), b.skip(before.1 as usize));
        let taken = diagonal - before.0 - before.1 - row;
        let a_taken = merge_path::search(
            taken,
            (a_end - a_start) / 4,
            (b_end - b_start) / 4,
            |index| a.load(index as usize),
            |index| b.load(index as usize),
        );
        let mut walk = Self {
            a: a.skip(a_taken as usize),
            b: b.skip((taken - a_taken) as usize),
            none,
            ends: ends.skip(row as usize),
            a_end,
            b_end,
            a_column: NONE,
            b_column: NONE,
            kinds: ItemKinds { takes_a: 0, joins: 0 },
        };
        walk.load(true, true);
        walk
    }

    /// Continues the walk; the kinds of the next `N` items, at most 31.
    #[device(track_caller)]
    pub(super) fn next<const N: usize>(&mut self) -> ItemKinds {
        const { assert!(N <= WORD_ITEMS as usize) };
        self.kinds = ItemKinds { takes_a: 0, joins: 0 };
        unroll!(for item in 0..N {
            let takes_b = self.b_column < self.a_column;
            let joins = self.a_column == self.b_column;
            let ends_row = joins && self.a_column == NONE;
            let takes_a = !takes_b && !ends_row;
            if joins {
                self.kinds.joins |= 1 << item;
            }
            if takes_a {
                self.kinds.takes_a |= 1 << item;
                self.a = self.a.skip(1);
            }
            if takes_b {
                self.b = self.b.skip(1);
            }
            if ends_row {
                self.ends = self.ends.skip(1);
                (self.a_end, self.b_end) = unpack(self.ends.load(0));
            }
            self.load(!takes_b, !takes_a);
        });
        self.kinds
    }

    /// Loads the next column of A, of B, or of both.
    #[device(track_caller)]
    fn load(&mut self, of_a: bool, of_b: bool) {
        let a = if self.a.address() < self.a_end { self.a } else { self.none };
        let b = if self.b.address() < self.b_end { self.b } else { self.none };
        if of_a {
            self.a_column = a.load(0);
        }
        if of_b {
            self.b_column = b.load(0);
        }
    }
}
