//! `C = αAB + βC`.

use evenpath_simt::{device, kernel, thread, Arena, Element, Float, Global};

use super::matrix::GlobalBsr;
use crate::key::element_of;
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

/// Columns of a block that a lane multiplies at once: 16 bytes of each row.
const fn at_once<V: Element>() -> usize {
    16 / V::SIZE
}

/// The most of them, those of the smallest type.
const MOST: usize = 4;

/// Part of a block: rows starting at `row`, in the columns starting at `column`.
#[derive(Clone, Copy)]
struct Part {
    block: usize,
    row: u32,
    column: u32,
}

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
        let size = self.matrix.block_size;
        let columns = self.matrix.column_indices.skip(span.begin);
        let mut sums = [V::ZERO; ITEMS];
        let mut column_of_a = columns.load_if(0, span.len > 0);
        let mut at = 0;
        while at < span.len {
            let next = columns.load_if(at as usize + 1, at + 1 < span.len);
            let mut part = Part { block: span.begin + at as usize, row: first, column: 0 };
            while part.column < size {
                let elements = self.elements(column_of_a, part.column, column);
                let values = self.values::<ITEMS>(part);
                unroll!(for row in 0..ITEMS {
                    for at in 0..const { at_once::<V>() } {
                        sums[row] = values[row][at].fma(elements[at], sums[row]);
                    }
                });
                part.column += const { at_once::<V>() } as u32;
            }
            column_of_a = next;
            at += 1;
        }
        sums
    }

    /// Returns the elements of B by which a block's columns starting at `first` are multiplied, in one column of B.
    #[device]
    fn elements(self, column_of_a: u32, first: u32, column: u32) -> [V; MOST] {
        let b = self.b.skip(column as usize * self.b_column_stride as usize);
        let mut elements = [V::NEUTRAL; MOST];
        for at in 0..const { at_once::<V>() } {
            let in_block = first + at as u32;
            let row = column_of_a as usize * self.matrix.block_size as usize + in_block as usize;
            let is_column = in_block < self.matrix.block_size;
            let element = b.load_if(row * self.b_row_stride as usize, is_column && row < self.cols as usize);
            // After the last column, a value is 0, and its product with -0 changes no sum.
            elements[at] = if is_column { element } else { V::NEUTRAL };
        }
        elements
    }

    /// Returns the values of `ITEMS` rows of a part; zeros outside of the block. All loads are issued before one is used.
    #[device]
    fn values<const ITEMS: usize>(self, part: Part) -> [[V; MOST]; ITEMS] {
        let size = self.matrix.block_size as usize;
        let first = part.block * size * size + part.row as usize * size + part.column as usize;
        let mut values = [[V::ZERO; MOST]; ITEMS];
        if (size * V::SIZE).is_multiple_of(16) {
            let mut packets = [[0; 2]; ITEMS];
            unroll!(for row in 0..ITEMS {
                let is_row = part.row as usize + row < size;
                packets[row] = self.matrix.values.load_16_if(first + row * size, is_row);
            });
            unroll!(for row in 0..ITEMS {
                for at in 0..const { at_once::<V>() } {
                    values[row][at] = element_of(packets[row], at);
                }
            });
        } else {
            unroll!(for row in 0..ITEMS {
                let is_row = part.row as usize + row < size;
                for at in 0..const { at_once::<V>() } {
                    let is_inside = is_row && part.column as usize + at < size;
                    values[row][at] = self.matrix.values.load_if(first + row * size + at, is_inside);
                }
            });
        }
        values
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
