//! A row times x, by any number of threads.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{thread, Float, Global};

use crate::block::reduce::BlockReduce;
use crate::Offset;

/// A matrix and the vector that it multiplies.
#[derive(Clone, Copy)]
pub(super) struct Operands<V, O> {
    pub(super) row_offsets: Global<O>,
    pub(super) column_indices: Global<u32>,
    pub(super) values: Global<V>,
    pub(super) x: Global<V>,
}

/// Nonzeros of which a thread has the loads on their way at once.
const BATCH: usize = 2;

impl<V: Float, O: Offset> Operands<V, O> {
    /// The first nonzero of a row, and the first behind it; none where `row` is no row.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn bounds(&self, row: usize, rows: usize) -> (usize, usize) {
        if row < rows {
            (self.row_offsets.load(row).to_usize(), self.row_offsets.load(row + 1).to_usize())
        } else {
            (0, 0)
        }
    }

    /// The sum of the products of every `threads`-th nonzero, from `begin` + `thread` to before `end`.
    ///
    /// Loads behind the end repeat the last nonzero, which is cheaper than a branch around each. They go through L1:
    /// what one turn leaves of a line the next one takes.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
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
                columns[item] = self.column_indices.load(inside(item)) as usize;
            }
            for item in 0..BATCH {
                values[item] = self.values.load(inside(item));
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

    /// The sum of the products of the nonzeros `begin` to before `end` by the whole block, as [`BlockReduce::sum`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn block_sum<const BLOCK: usize>(
        &self,
        begin: usize,
        end: usize,
        reduce: BlockReduce<V, BLOCK>,
    ) -> V {
        reduce.sum(self.strided_sum(begin, end, thread::index(), BLOCK as u32))
    }
}
