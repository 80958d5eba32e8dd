//! `C = αAB + βC`.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global};

use super::matrix::GlobalBsr;
use crate::pieces::{Pieces, Span};
use crate::unroll::unroll;
use crate::update::Update;
use crate::Offset;

kernel! {
    /// Multiplies by B: a warp for each piece, or block row that is not cut, and 32 columns, of which each lane has one.
    pub struct BsrSpmm<V: Float, O: Offset> {
        /// A.
        pub matrix: GlobalBsr<V, O>,
        /// B.
        pub b: Global<V>,
        /// C.
        pub update: Update<V>,
        /// The block rows that are cut.
        pub pieces: Pieces<V>,
        /// Elements of B from a row to the next.
        pub b_row_stride: u64,
        /// Elements of B from a column to the next.
        pub b_column_stride: u64,
        /// Elements of C from a row to the next.
        pub c_row_stride: u64,
        /// Elements of C from a column to the next.
        pub c_column_stride: u64,
        /// Rows of A.
        pub rows: u32,
        /// Columns of A.
        pub cols: u32,
        /// Columns of B and C.
        pub columns: u32,
    }
    shared: 0;
    body: BsrSpmm::multiply::<BLOCK, ITEMS>;
    entry: spmm_bsr_{V}_{O} in bsr_spmm: V in [f32, f64], O in [u32, u64], 128 x 8;
}

/// Columns of a block that a lane multiplies at once.
const AT_ONCE: usize = 4;

impl<V: Float, O: Offset> BsrSpmm<V, O> {
    /// Sums `ITEMS` rows of the block row at once.
    #[device]
    fn multiply<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let warp = thread::global_warp::<BLOCK>();
        let tiles = self.columns.div_ceil(thread::WARP_SIZE).max(1) as usize;
        let item = warp / tiles;
        let column = (warp - item * tiles) as u32 * thread::WARP_SIZE + thread::lane();
        let span = self.pieces.span(self.matrix.row_offsets, self.matrix.block_rows, item);
        if !span.is_stored || column >= self.columns {
            return;
        }
        let mut first = 0;
        while first < self.matrix.block_size {
            let sums = self.sum::<ITEMS>(span, first, column);
            unroll!(for row in 0..ITEMS {
                if first + (row as u32) < self.matrix.block_size {
                    self.store(span, first as usize + row, column as usize, sums[row]);
                }
            });
            first += ITEMS as u32;
        }
    }

    /// Returns the sums of the rows of the span starting at `first`, in one column.
    #[device]
    fn sum<const ITEMS: usize>(self, span: Span, first: u32, column: u32) -> [V; ITEMS] {
        let size = self.matrix.block_size as usize;
        let b = self.b.skip(column as usize * self.b_column_stride as usize);
        let mut sums = [V::ZERO; ITEMS];
        let mut block = 0;
        while block < span.len as usize {
            let row_of_b = self.matrix.column_indices.load(span.begin + block) as usize * size;
            let values = self.matrix.values.skip((span.begin + block) * size * size);
            let mut begin = 0;
            while begin < size {
                let mut elements = [V::ZERO; AT_ONCE];
                unroll!(for at in 0..AT_ONCE {
                    let row = row_of_b + begin + at;
                    let is_inside = begin + at < size && row < self.cols as usize;
                    elements[at] = b.load_if(row * self.b_row_stride as usize, is_inside);
                });
                unroll!(for row in 0..ITEMS {
                    let in_block = first as usize + row;
                    unroll!(for at in 0..AT_ONCE {
                        let is_inside = in_block < size && begin + at < size;
                        let value = values.load_if(in_block * size + begin + at, is_inside);
                        if is_inside {
                            sums[row] = value.fma(elements[at], sums[row]);
                        }
                    });
                });
                begin += AT_ONCE;
            }
            block += 1;
        }
        sums
    }

    #[device]
    fn store(self, span: Span, row: usize, column: usize, sum: V) {
        let row = span.target * self.matrix.block_size as usize + row;
        if span.is_piece {
            self.pieces.sums.store(row * self.columns as usize + column, sum);
        } else if row < self.rows as usize {
            let index = row * self.c_row_stride as usize + column * self.c_column_stride as usize;
            self.update.store(index, sum);
        }
    }
}
