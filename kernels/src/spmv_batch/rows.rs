use evenpath_simt::{device, kernel, thread, warp, Arena, Float, Global};

use crate::pieces::{Pieces, Span};
use crate::unroll::unroll;
use crate::update::Update;
use crate::{GlobalPattern, Offset};

/// Matrices of which a group of lanes sums a row at once.
pub const BATCH_AT_ONCE: usize = 4;

kernel! {
    /// Multiplies by x: a group of lanes for each piece of a row, or row that is not cut, and [`BATCH_AT_ONCE`] matrices.
    /// The columns are loaded once for all of these.
    pub struct BatchRows<V: Float, O: Offset> {
        /// The pattern of all matrices.
        pub pattern: GlobalPattern<O>,
        /// The values, matrix after matrix.
        pub values: Global<V>,
        /// The vectors x, one after the other.
        pub x: Global<V>,
        /// The vectors y, one after the other.
        pub update: Update<V>,
        /// The rows that are cut.
        pub pieces: Pieces<V>,
        /// Columns of a matrix.
        pub cols: u32,
        /// Matrices.
        pub batch: u32,
        /// Lanes of a group: a power of two up to 32.
        pub lanes: u32,
    }
    shared: 0;
    body: BatchRows::multiply::<BLOCK, ITEMS>;
    entry: spmv_batch_{V}_{O} in spmv_batch: V in [f32, f64], O in [u32, u64], 128 x 2;
}

impl<V: Float, O: Offset> BatchRows<V, O> {
    #[device]
    fn multiply<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let log = self.lanes.trailing_zeros();
        let group = thread::block() as usize * (BLOCK >> log) + (thread::index() >> log) as usize;
        let lane = thread::index() & (self.lanes - 1);
        // 1. Find the matrices and the row, or the piece of one.
        let items = (self.pieces.count as usize + self.pattern.rows as usize).max(1);
        let at_once = group / items;
        let first = at_once * BATCH_AT_ONCE;
        let span = if first < self.batch as usize {
            self.pieces.span(self.pattern.row_offsets, self.pattern.rows, group - at_once * items)
        } else {
            Span::NONE
        };

        // 2. Sum it for each of the matrices.
        let sums = if span.len > 0 { self.sum::<ITEMS>(span, first, lane) } else { [V::ZERO; BATCH_AT_ONCE] };
        unroll!(for at in 0..BATCH_AT_ONCE {
            let sum = warp::reduce_groups(sums[at], self.lanes, |a, b| a + b);
            if lane == 0 && first + at < self.batch as usize {
                self.store(span, first + at, sum);
            }
        });
    }

    /// Returns the lane's sums over every `lanes`-th nonzero, `ITEMS` at once, for the matrices starting at `first`.
    #[device]
    fn sum<const ITEMS: usize>(self, span: Span, first: usize, lane: u32) -> [V; BATCH_AT_ONCE] {
        let mut sums = [V::ZERO; BATCH_AT_ONCE];
        let columns = self.pattern.column_indices.skip(span.begin);
        let values = self.values.skip(first * self.pattern.nonzeros as usize + span.begin);
        let x = self.x.skip(first * self.cols as usize);
        let left = self.batch as usize - first;
        let mut begin = lane;
        while begin < span.len {
            let mut own = [0; ITEMS];
            unroll!(for item in 0..ITEMS {
                let at = begin + item as u32 * self.lanes;
                own[item] = columns.load_if(at as usize, at < span.len) as usize;
            });
            let mut loaded = [[V::ZERO; BATCH_AT_ONCE]; ITEMS];
            let mut elements = [[V::ZERO; BATCH_AT_ONCE]; ITEMS];
            unroll!(for item in 0..ITEMS {
                let at = (begin + item as u32 * self.lanes) as usize;
                unroll!(for matrix in 0..BATCH_AT_ONCE {
                    let is_there = at < span.len as usize && matrix < left;
                    let value = matrix * self.pattern.nonzeros as usize + at;
                    loaded[item][matrix] = values.load_if(value, is_there);
                    elements[item][matrix] = x.load_if(matrix * self.cols as usize + own[item], is_there);
                });
            });
            unroll!(for item in 0..ITEMS {
                if begin + (item as u32) * self.lanes < span.len {
                    unroll!(for matrix in 0..BATCH_AT_ONCE {
                        sums[matrix] = loaded[item][matrix].fma(elements[item][matrix], sums[matrix]);
                    });
                }
            });
            begin += ITEMS as u32 * self.lanes;
        }
        sums
    }

    /// Stores a sum of one matrix.
    #[device]
    fn store(self, span: Span, matrix: usize, sum: V) {
        if span.is_piece {
            self.pieces.sums.store(span.target * self.batch as usize + matrix, sum);
        } else if span.is_stored {
            self.update.store(matrix * self.pattern.rows as usize + span.target, sum);
        }
    }
}
