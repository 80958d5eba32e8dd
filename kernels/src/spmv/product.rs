//! Operands of SpMV kernels; and a row times x, by any number of threads.
use evenpath_simt::{device, parameters, thread, Aligned16, Arithmetic, Element, Global};

use crate::block::reduce::BlockReduce;
use crate::update::Update;
use crate::{GlobalCsr, Offset};

parameters! {
    /// y = αAx + βy, for a matrix with values of `S` and vectors of `V`, in which products are computed and summed.
    pub struct MixedArguments<S: Element, V: Arithmetic, O: Offset> {
        /// The matrix A.
        pub matrix: GlobalCsr<S, O>,
        /// The dense vector x, one element per column.
        pub x: Global<V>,
        /// The result y, one element per row, with α and β.
        pub update: Update<V>,
    }
}

/// y = αAx + βy, all of one type.
pub type SpmvArguments<V, O> = MixedArguments<V, V, O>;

parameters! {
    /// [`SpmvArguments`] for kernels that load several elements of x at once.
    pub struct AlignedProduct<V: Arithmetic, O: Offset> {
        /// The matrix A.
        pub matrix: GlobalCsr<V, O>,
        /// The dense vector x, one element per column.
        pub x: Global<V, Aligned16>,
        /// The result y, one element per row, with α and β.
        pub update: Update<V>,
    }
}

/// Nonzeros that a thread loads before it uses the first.
const BATCH: usize = 2;

impl<V: Arithmetic, O: Offset> SpmvArguments<V, O> {
    /// Returns the first nonzero of a row, and the first after it; an empty range unless `row` is below `rows`.
    #[device(track_caller)]
    pub(super) fn bounds(&self, row: usize, rows: usize) -> (usize, usize) {
        if row < rows {
            self.matrix.pattern().row_bounds(row)
        } else {
            (0, 0)
        }
    }

    /// Returns the sum of the products of every `threads`-th nonzero, from `begin` + `thread` to before `end`.
    ///
    /// Loads past the end repeat the last nonzero, which is cheaper than a branch around each. They go through L1, so
    /// that the next turn finds the rest of a line there.
    #[device(track_caller)]
    pub(super) fn strided_sum(&self, begin: usize, end: usize, thread: u32, threads: u32) -> V {
        let stride = threads as usize;
        let mut sum = V::ZERO;
        let mut place = begin + thread as usize;
        while place < end {
            let inside = |item: usize| (place + item * stride).min(end - 1);
            let mut columns = [0; BATCH];
            let mut values = [V::ZERO; BATCH];
            let mut factors = [V::ZERO; BATCH];
            for item in 0..BATCH {
                columns[item] = self.matrix.column_indices.load(inside(item)) as usize;
            }
            for item in 0..BATCH {
                values[item] = self.matrix.values.load(inside(item));
            }
            for item in 0..BATCH {
                factors[item] = self.x.load(columns[item]);
            }
            for item in 0..BATCH {
                let next = values[item].fma(factors[item], sum);
                sum = if place + item * stride < end { next } else { sum };
            }
            place += BATCH * stride;
        }
        sum
    }

    /// Returns the sum of the products of the nonzeros `begin` to before `end` by the whole block, as
    /// [`BlockReduce::sum`].
    #[device(track_caller)]
    pub(super) fn block_sum<const BLOCK: usize>(
        &self,
        begin: usize,
        end: usize,
        reduce: BlockReduce<V, BLOCK>,
    ) -> V {
        reduce.sum(self.strided_sum(begin, end, thread::index(), BLOCK as u32))
    }
}
