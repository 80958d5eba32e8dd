//! y = αAx + βy.

use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Float, Global};

use super::lanes::sum_lanes;
use super::matrix::GlobalBsr;
use super::shape::{
    lanes, loads_whole_sectors, row_lanes, slots, sums, width, AnySize, BlockSize, Blocks16, Blocks2,
    Blocks3, Blocks4, Blocks5, Blocks6, Blocks8, MOST_SUMS, MOST_WIDTH,
};
use crate::key::element_of;
use crate::pieces::{Pieces, Span};
use crate::unroll::unroll;
use crate::update::Update;
use crate::Offset;

kernel! {
    /// Multiplies by x: a group of lanes for each piece, and then for each block row that is not cut. Its variants are the
    /// sizes of blocks.
    pub struct BsrSpmv<V: Float, O: Offset> {
        /// A.
        pub matrix: GlobalBsr<V, O>,
        /// x, `block_size` elements for each block column.
        pub x: Global<V, Aligned16>,
        /// y, one element per row.
        pub update: Update<V>,
        /// Rows of the matrix: the last block row may have fewer than a block.
        pub rows: u32,
        /// Blocks of a group that a warp loads at once: a divisor of those of the warp; 1 for blocks of any size.
        pub row_slots: u32,
        /// The block rows that are cut.
        pub pieces: Pieces<V>,
    }
    shared: 0;
    body: BsrSpmv::multiply::<B, BLOCK, ITEMS>;
    entries: {
        spmv_bsr_{B}_{V}_{O} in bsr_{V}: V = f32,
            (B, N) in [
                (Blocks2 as b2, 4), (Blocks3 as b3, 8), (Blocks4 as b4, 4), (Blocks5 as b5, 8), (Blocks6 as b6, 4),
                (Blocks8 as b8, 4), (Blocks16 as b16, 2), (AnySize as any, 4),
            ], O in [u32, u64], 128 x N;
        spmv_bsr_{B}_{V}_{O} in bsr_{V}: V = f64,
            (B, N) in [
                (Blocks2 as b2, 4), (Blocks3 as b3, 8), (Blocks4 as b4, 4), (Blocks5 as b5, 4), (Blocks6 as b6, 4),
                (Blocks8 as b8, 4), (Blocks16 as b16, 1), (AnySize as any, 4),
            ], O in [u32, u64], 128 x N;
    }
}

impl<V: Float, O: Offset> BsrSpmv<V, O> {
    #[device]
    fn multiply<B: BlockSize, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        if B::SIZE == 0 {
            self.multiply_any::<BLOCK, ITEMS>();
        } else {
            self.multiply_fixed::<B, BLOCK, ITEMS>();
        }
    }

    #[device]
    fn multiply_fixed<B: BlockSize, const BLOCK: usize, const ITEMS: usize>(self) {
        // 1. Find the lane's place: its group, and its block and rows in what the group loads at once.
        let (lanes, slots) = const { (lanes::<V, B>(), slots::<V, B>()) };
        let (row_lanes, sums) = const { (row_lanes::<V, B>(), sums::<V, B>()) };
        let row_slots = self.row_slots.max(1);
        let slot = thread::lane() / lanes;
        let place = thread::lane() - slot * lanes;
        let group = slot / row_slots;
        let slot_of_group = slot - group * row_slots;

        // 2. Sum the lane's blocks. Lanes that are left over have none.
        let item = thread::global_warp::<BLOCK>() * (slots / row_slots) as usize + group as usize;
        let span = if slot < slots { self.span(item) } else { Span::NONE };
        let own = self.sum::<B, ITEMS>(span, slot_of_group, place);

        // 3. Add up the sums of the lanes of a row, and those of the group's other blocks.
        let is_first = slot_of_group == 0 && place.is_multiple_of(row_lanes);
        for part in 0..sums {
            let sum = sum_lanes(own[part], row_lanes, 1);
            let sum = sum_lanes(sum, row_slots, lanes);
            if is_first {
                self.store(span, B::SIZE, ((place + part as u32 * lanes) / row_lanes) as usize, sum);
            }
        }
    }

    /// Returns the blocks of a group.
    #[device]
    pub(super) fn span(self, item: usize) -> Span {
        self.pieces.span(self.matrix.row_offsets, self.matrix.block_rows, item)
    }

    /// Returns the lane's sums over every `row_slots`-th block of the span, starting at block `first`.
    ///
    /// The columns of the next `ITEMS` blocks are loaded while the values and elements of x of these are on their way.
    #[device]
    fn sum<B: BlockSize, const ITEMS: usize>(self, span: Span, first: u32, place: u32) -> [V; MOST_SUMS] {
        let mut own = [V::ZERO; MOST_SUMS];
        if span.len == 0 {
            return own;
        }
        let (lanes, row_lanes) = const { (lanes::<V, B>(), row_lanes::<V, B>()) };
        let (width, sums) = const { (width::<V, B>(), sums::<V, B>()) };
        let columns = self.matrix.column_indices.skip(span.begin);
        let values = self.matrix.values.skip_aligned(span.begin * B::SIZE * B::SIZE);
        let in_x = (place % row_lanes) as usize * width;
        let stride = self.row_slots.max(1);
        let column_at = |block: u32| columns.load_if(block as usize, block < span.len);

        let mut next = [0; ITEMS];
        unroll!(for item in 0..ITEMS {
            next[item] = column_at(first + item as u32 * stride);
        });
        let mut begin = first;
        while begin < span.len {
            let now = next;
            let mut loaded = [[[V::ZERO; MOST_WIDTH]; MOST_SUMS]; ITEMS];
            unroll!(for item in 0..ITEMS {
                // Lanes past the end repeat the last block.
                let block = (begin + item as u32 * stride).min(span.len - 1) as usize;
                for part in 0..sums {
                    let packet = place as usize + part * lanes as usize;
                    let index = block * B::SIZE * B::SIZE + packet * width;
                    loaded[item][part] = load_values::<V, B>(values, index);
                }
            });
            unroll!(for item in 0..ITEMS {
                next[item] = column_at(begin + (ITEMS + item) as u32 * stride);
            });
            let mut elements = [[V::ZERO; MOST_WIDTH]; ITEMS];
            unroll!(for item in 0..ITEMS {
                elements[item] = load_x::<V, B>(self.x, now[item] as usize * B::SIZE + in_x);
            });
            unroll!(for item in 0..ITEMS {
                if begin + (item as u32) * stride < span.len {
                    for part in 0..sums {
                        for at in 0..width {
                            own[part] = loaded[item][part][at].fma(elements[item][at], own[part]);
                        }
                    }
                }
            });
            begin += ITEMS as u32 * stride;
        }
        own
    }

    /// Stores the sum of row `row` of the span, whose blocks have `size` rows.
    #[device]
    pub(super) fn store(self, span: Span, size: usize, row: usize, sum: V) {
        let at = span.target * size + row;
        if span.is_piece {
            self.pieces.sums.store(at, sum);
        } else if span.is_stored && at < self.rows as usize {
            self.update.store(at, sum);
        }
    }
}

/// Loads the values of a lane.
#[device]
fn load_values<V: Float, B: BlockSize>(values: Global<V, Aligned16>, index: usize) -> [V; MOST_WIDTH] {
    let count = const { width::<V, B>() };
    let mut loaded = [V::ZERO; MOST_WIDTH];
    if const { !loads_whole_sectors::<V, B>() || width::<V, B>() == 1 } {
        for at in 0..count {
            loaded[at] = values.load(index + at);
        }
    } else if count == 2 {
        [loaded[0], loaded[1]] = values.load_streaming_2(index);
    } else {
        loaded = values.load_streaming_4(index);
    }
    loaded
}

/// Loads the elements of x for the values of a lane.
#[device]
fn load_x<V: Float, B: BlockSize>(x: Global<V, Aligned16>, index: usize) -> [V; MOST_WIDTH] {
    let count = const { width::<V, B>() };
    let mut loaded = [V::ZERO; MOST_WIDTH];
    if const { width::<V, B>() * V::SIZE == 16 } {
        let packet = x.load_16(index);
        for at in 0..count {
            loaded[at] = element_of(packet, at);
        }
    } else {
        for at in 0..count {
            loaded[at] = x.load(index + at);
        }
    }
    loaded
}
