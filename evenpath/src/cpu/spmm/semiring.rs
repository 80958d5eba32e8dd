//! Products with dense matrices in a semiring.

use super::blocks::row_blocks;
use super::dense::{Dense, DenseMut, DenseRowsMut};
use crate::matrix::CsrView;
use crate::semiring::Semiring;
use crate::{Entry, Offset, parallel};

/// Number of columns of C that are summed before C is updated.
const COLUMNS: usize = 128;

/// Computes C = AB, or C = C + AB if `adds`. B has one row per column of A, and C one per row of A. Each element is a single sum in the
/// order of the row's nonzeros.
pub(crate) fn semiring_spmm<S: Semiring<V>, V: Entry, O: Offset>(
    a: CsrView<'_, V, O>,
    b: Dense<'_, V>,
    c: DenseMut<'_, V>,
    adds: bool,
) {
    let columns = c.columns;
    let blocks = row_blocks(a, columns);
    let parts = c.split(&blocks, a.nrows());
    parallel::for_each(blocks.into_iter().zip(parts).collect(), |(block, mut part)| {
        for (index, row) in block.enumerate() {
            for first in (0..columns).step_by(COLUMNS) {
                let own = first..columns.min(first + COLUMNS);
                let mut sums = [S::ZERO; COLUMNS];
                let sums = &mut sums[..own.len()];
                sum_row::<S, V, O>(a, row, b, first, sums);
                let update = |(c, &sum): (&mut V, &V)| *c = if adds { S::plus(*c, sum) } else { sum };
                match &mut part {
                    DenseRowsMut::Rows(values, leading_dimension) => {
                        let c = &mut values[index * *leading_dimension + first..][..own.len()];
                        c.iter_mut().zip(&*sums).for_each(update);
                    }
                    DenseRowsMut::Columns(all) => {
                        all[own].iter_mut().map(|column| &mut column[index]).zip(&*sums).for_each(update);
                    }
                }
            }
        }
    });
}

/// Adds the products of a row of A with columns of B, starting at `first`, to their sums.
fn sum_row<S: Semiring<V>, V: Entry, O: Offset>(
    a: CsrView<'_, V, O>,
    row: usize,
    b: Dense<'_, V>,
    first: usize,
    sums: &mut [V],
) {
    let (row_stride, column_stride) = b.strides;
    for position in a.range(row) {
        let value = a.values()[position];
        let start = a.column_indices()[position] as usize * row_stride + first * column_stride;
        let add = |(sum, &element): (&mut V, &V)| *sum = S::plus(*sum, S::times(value, element));
        if column_stride == 1 {
            // Without strides the compiler uses vectors.
            sums.iter_mut().zip(&b.values[start..]).for_each(add);
        } else {
            sums.iter_mut().zip(b.values[start..].iter().step_by(column_stride.max(1))).for_each(add);
        }
    }
}
