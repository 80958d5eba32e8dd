//! Rows that lie over several tiles: rows that are *cut*.
//!
//! A tile leaves its part of a cut row's sum, and the tile of the row that finishes last adds all parts up, in order of
//! tiles. There is no second launch, and sums depend only on the number of tiles, so results are the same from run to
//! run.

use evenpath_simt::{
    device, kernel, parameters, thread, warp, Arena, Arithmetic, Global, GlobalMut, Shared, Words,
};

use crate::block::reduce::BlockReduce;
use crate::block::tagged_sums::TaggedWords;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Finds the rows that are cut: one thread per tile, and one for the end.
    pub struct FindCutRows<O: Offset> {
        /// The rows: of a flat split, those with nonzeros.
        pub pattern: GlobalPattern<O>,
        /// The row in which each tile begins, and `rows` at the end; `tiles` + 1.
        pub tile_rows: Global<u32>,
        /// Output: the first and the last tile (shifted left by 32) of the row in which a tile begins, where the row has
        /// nonzeros in the tile before; else zero. `tiles` + 1.
        pub spans: GlobalMut<u64>,
        /// Tiles.
        pub tiles: u32,
        /// Items of a tile.
        pub tile_items: u32,
        /// 1 if a row's end is an item, after its nonzeros; 0 if only nonzeros are.
        pub row_ends: u32,
    }
    shared: 0;
    body: FindCutRows::find::<BLOCK>;
    entry: spmv_find_cut_rows_{O} in spmv_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> FindCutRows<O> {
    #[device]
    fn find<const BLOCK: usize>(self, _: Arena) {
        let tile = thread::global_index::<BLOCK>() as u32;
        if tile > self.tiles {
            return;
        }
        let row = self.tile_rows.load(tile as usize);
        let mut span = 0;
        if row < self.pattern.rows {
            let ends_before = u64::from(row * self.row_ends);
            let (begin, end) = self.pattern.row_bounds(row as usize);
            let begin = begin as u64 + ends_before;
            let end = end as u64 + ends_before + u64::from(self.row_ends);
            let first = begin / u64::from(self.tile_items);
            let last = (end - 1) / u64::from(self.tile_items);
            if first < u64::from(tile) {
                span = first | last << 32;
            }
        }
        self.spans.store(tile as usize, span);
    }
}

parameters! {
    /// The cut rows of a matrix, and the memory in which the sums of their tiles meet.
    pub struct CutRows {
        /// The tiles of each cut row, from [`FindCutRows`].
        pub spans: Global<u64>,
        /// Two parts per tile: the tile's sums of the row in which it begins, if it is the row's last tile, and of the row
        /// after its end. A sum is counted at the row's last tile.
        pub sums: TaggedWords,
    }
}

/// Rows over up to this many tiles are summed by a warp, longer ones by the block.
const SHORT_SPAN: u32 = 64;

/// Shared memory in which a block sums a row over many tiles.
#[derive(Clone, Copy)]
pub(super) struct LongSpan<V, const BLOCK: usize> {
    is_last: Shared<u32>,
    reduce: BlockReduce<V, BLOCK>,
}

impl<V: Arithmetic, const BLOCK: usize> LongSpan<V, BLOCK> {
    /// Bytes of shared memory.
    pub(super) const BYTES: usize = 8 + BLOCK / thread::WARP_SIZE as usize * V::SIZE;

    #[device]
    pub(super) fn take(arena: &mut Arena) -> Self {
        Self { reduce: BlockReduce::take(arena), is_last: arena.take(1) }
    }
}

/// The tiles of a cut row.
#[derive(Clone, Copy)]
struct RowSpan {
    first: u32,
    last: u32,
}

impl RowSpan {
    #[device]
    fn new(packed: u64) -> Self {
        Self { first: packed as u32, last: (packed >> 32) as u32 }
    }

    #[device]
    fn is_cut(self) -> bool {
        self.first < self.last
    }

    #[device]
    fn is_finished_by(self, tile: u32) -> bool {
        self.is_cut() && self.last == tile
    }

    #[device]
    fn tiles(self) -> u32 {
        self.last - self.first + 1
    }

    /// Returns the place of a tile's sum, tiles counted from the row's first.
    #[device]
    fn place(self, tile: u32) -> usize {
        2 * (self.first + tile) as usize + usize::from(self.first + tile < self.last)
    }
}

/// Cut rows of a tile.
#[derive(Clone, Copy)]
pub(super) struct CutRowsOfTile {
    /// True if it is the last of a row that it did not begin.
    pub(super) is_finished: bool,
    /// The row in which the next tile begins.
    after: RowSpan,
}
impl CutRows {
    /// Returns whether `tile` is the last of a cut row, whose result it must not store itself.
    #[device]
    pub(super) fn is_finished_by(self, tile: u32) -> bool {
        RowSpan::new(self.spans.load(tile as usize)).is_finished_by(tile)
    }

    /// Leaves the tile's sum of the row that it finishes but did not begin, `head`, and of the row after its end, `tail`,
    /// where these rows are cut. If the tile is the last of a row's to do so, the row's sum goes to `store_head` or
    /// `store_tail`, in one thread. Every thread of the block calls it.
    #[device]
    pub(super) fn leave<V: Arithmetic, const BLOCK: usize>(
        self,
        shared: LongSpan<V, BLOCK>,
        tile: u32,
        head: impl Fn() -> V,
        tail: V,
        store_head: impl Fn(V),
        store_tail: impl Fn(V),
    ) {
        let after = RowSpan::new(self.spans.load(tile as usize + 1));
        if after.is_cut() {
            self.leave_sum(shared, 0, after, tile, tail, store_tail);
        }
        let before = RowSpan::new(self.spans.load(tile as usize));
        if self.is_finished_by(tile) {
            self.leave_sum(shared, BLOCK as u32 / thread::WARP_SIZE - 1, before, tile, head(), store_head);
        }
    }

    /// The warp `by` sums a short row, the block a long one.
    #[device]
    fn leave_sum<V: Arithmetic, const BLOCK: usize>(
        self,
        shared: LongSpan<V, BLOCK>,
        by: u32,
        span: RowSpan,
        tile: u32,
        sum: V,
        store: impl Fn(V),
    ) {
        if span.tiles() > SHORT_SPAN {
            if thread::index() == 0 {
                shared.is_last.store(0, u32::from(self.arrive(span, tile, sum)));
            }
            thread::barrier();
            if shared.is_last.load(0) != 0 {
                let total = self.sum_by_block(shared, span);
                if thread::index() == 0 {
                    store(total);
                }
            }
            // The tile's other row may use the same shared memory.
            thread::barrier();
        } else if thread::warp() == by {
            self.leave_sum_by_warp(span, tile, sum, store);
        }
    }

    /// A warp leaves a tile's sum, and adds up the row if it is the last.
    #[device]
    fn leave_sum_by_warp<V: Arithmetic>(self, span: RowSpan, tile: u32, sum: V, store: impl Fn(V)) {
        let is_last = thread::lane() == 0 && self.arrive(span, tile, sum);
        if warp::any(warp::FULL, is_last) {
            self.sum_by_warp(span, store);
        }
    }

    /// Returns the cut rows of a tile that is one warp's work.
    #[device]
    pub(super) fn of_tile(self, tile: u32) -> CutRowsOfTile {
        let is_finished = self.is_finished_by(tile);
        CutRowsOfTile { is_finished, after: RowSpan::new(self.spans.load(tile as usize + 1)) }
    }

    /// Leaves the tile's sum of the row that it finishes but did not begin. Returns whether it is the last tile of the
    /// row to do so. One lane calls it.
    #[device]
    pub(super) fn leave_head<V: Arithmetic>(self, tile: u32, head: V) -> bool {
        self.arrive(RowSpan::new(self.spans.load(tile as usize)), tile, head)
    }

    /// [`leave`](Self::leave) for a tile that is one warp's work, whose lanes all call it with the same sum.
    /// `finishes_head` is what [`leave_head`](Self::leave_head) returned, in one lane.
    #[device]
    pub(super) fn leave_by_warp<V: Arithmetic>(
        self,
        tile: u32,
        of_tile: CutRowsOfTile,
        (finishes_head, tail): (bool, V),
        store_head: impl Fn(V),
        store_tail: impl Fn(V),
    ) {
        if of_tile.after.is_cut() {
            self.leave_sum_by_warp(of_tile.after, tile, tail, store_tail);
        }
        if warp::any(warp::FULL, finishes_head) {
            self.sum_by_warp(RowSpan::new(self.spans.load(tile as usize)), store_head);
        }
    }

    /// A warp adds up a row.
    #[device]
    fn sum_by_warp<V: Arithmetic>(self, span: RowSpan, store: impl Fn(V)) {
        let total = warp::reduce_add(self.sum_by::<V, 2>(span, thread::lane(), thread::WARP_SIZE));
        if thread::lane() == 0 {
            store(total);
        }
    }

    /// Leaves a tile's part; whether it is the row's last.
    #[device]
    fn arrive<V: Arithmetic>(self, span: RowSpan, tile: u32, part: V) -> bool {
        self.sums.sums().leave(span.place(tile - span.first), part, span.last as usize, span.tiles())
    }

    /// Returns the sum of a row over many tiles, in thread 0.
    #[device]
    fn sum_by_block<V: Arithmetic, const BLOCK: usize>(self, shared: LongSpan<V, BLOCK>, span: RowSpan) -> V {
        shared.reduce.sum(self.sum_by::<V, 4>(span, thread::index(), BLOCK as u32))
    }

    /// Returns the sum of every `stride`-th part of a row starting at the tile `first`, counted from its own first:
    /// `UNROLLED` at once.
    #[device]
    fn sum_by<V: Arithmetic, const UNROLLED: usize>(self, span: RowSpan, first: u32, stride: u32) -> V {
        let (parts, mut sums) = (self.sums.sums::<V>(), [V::ZERO; UNROLLED]);
        let mut base = first;
        while base + (UNROLLED as u32 - 1) * stride < span.tiles() {
            let place = |item: usize| span.place(base + item as u32 * stride);
            let mut seen = [V::Words::each(|_| [0; 2]); UNROLLED];
            for item in 0..UNROLLED {
                seen[item] = parts.look(place(item));
            }
            for item in 0..UNROLLED {
                sums[item] += parts.part(place(item), seen[item]);
            }
            base += UNROLLED as u32 * stride;
        }
        while base < span.tiles() {
            sums[0] += parts.part(span.place(base), parts.look(span.place(base)));
            base += stride;
        }
        const { assert!(UNROLLED == 2 || UNROLLED == 4) };
        if UNROLLED == 2 {
            sums[0] + sums[1]
        } else {
            (sums[0] + sums[1]) + (sums[2 % UNROLLED] + sums[3 % UNROLLED])
        }
    }
}
