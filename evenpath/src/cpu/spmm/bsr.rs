//! `C = alpha A B + beta C` with A in blocks.

use std::ops::Range;

use super::super::bsr::BsrArrays;
use super::super::merge_path;
use super::super::vector::update;
use super::by_rows::ByRows;
use super::dense::{Dense, DenseMut, DenseRowsMut};
use crate::{Offset, Value, parallel};

/// Approximate work per task: values of A times the columns of C.
const TASK: usize = 1 << 16;

/// A product with some number of columns.
struct Product<'a, V: Value, O> {
    matrix: BsrArrays<'a, V, O>,
    /// Rows and columns of A.
    shape: (usize, usize),
    columns: usize,
    b: ByRows<'a, V>,
    alpha: V,
    beta: V,
}

/// Computes `C = alpha A B + beta C` for an A of `shape`. If `beta` is 0, C is overwritten without being read.
///
/// B has one row per column of A, and C one per row of A. Each element is a single sum in the order of the blocks.
pub(crate) fn spmm_bsr<V: Value, O: Offset>(
    matrix: BsrArrays<'_, V, O>,
    shape: (usize, usize),
    (alpha, b): (V, Dense<'_, V>),
    (beta, c): (V, DenseMut<'_, V>),
) {
    let (size, columns) = (matrix.size, c.columns);
    if columns == 0 {
        return;
    }
    let blocks = matrix.column_indices.len();
    let rows = |range: &Range<usize>| (range.start * size).min(shape.0)..(range.end * size).min(shape.0);
    let tasks = tasks(matrix, columns);
    let parts = c.split(&tasks.iter().map(rows).collect::<Vec<_>>(), shape.0);
    let b = ByRows::new(b, shape.1, columns, blocks * size * size);
    let product = Product { matrix, shape, columns, b, alpha, beta };
    parallel::for_each(tasks.into_iter().zip(parts).collect(), |(block_rows, part)| {
        product.compute(block_rows, part);
    });
}

/// Ranges of block rows with about equal work.
fn tasks<V: Value, O: Offset>(matrix: BsrArrays<'_, V, O>, columns: usize) -> Vec<Range<usize>> {
    let length = (TASK / (matrix.size * matrix.size * columns)).max(1);
    let paths = merge_path::tiles(&matrix.row_offsets[1..], matrix.column_indices.len(), length);
    let ranges = paths.into_iter().map(|path| path.start.row..path.end.row);
    ranges.filter(|range| !range.is_empty()).collect()
}

impl<V: Value, O: Offset> Product<'_, V, O> {
    /// Computes some block rows of C.
    fn compute(&self, block_rows: Range<usize>, mut c: DenseRowsMut<'_, V>) {
        let size = self.matrix.size;
        let mut sums = vec![V::ZERO; size * self.columns];
        let first = block_rows.start * size;
        for block_row in block_rows {
            sums.fill(V::ZERO);
            let (begin, end) = (self.matrix.row_offsets[block_row], self.matrix.row_offsets[block_row + 1]);
            for block in begin.to_usize()..end.to_usize() {
                self.add_block(block, &mut sums);
            }
            let rows = block_row * size..self.shape.0.min((block_row + 1) * size);
            for (row, sums) in rows.zip(sums.chunks_exact(self.columns)) {
                self.store(row - first, sums, &mut c);
            }
        }
    }

    /// Adds the products of a block, whose rows have `columns` sums each.
    fn add_block(&self, block: usize, sums: &mut [V]) {
        let size = self.matrix.size;
        let first = self.matrix.column_indices[block] as usize * size;
        let inside = size.min(self.shape.1 - first);
        let values = self.matrix.values[block * size * size..][..size * size].chunks_exact(size);
        for (sums, values) in sums.chunks_exact_mut(self.columns).zip(values) {
            for (row_of_b, &value) in (first..first + inside).zip(values) {
                match &self.b {
                    ByRows::Rows(b, stride) => {
                        let b = &b[row_of_b * stride..][..self.columns];
                        sums.iter_mut().zip(b).for_each(|(sum, &b)| *sum += value * b);
                    }
                    ByRows::Strided(b) => {
                        let first = row_of_b * b.strides.0;
                        for (column, sum) in sums.iter_mut().enumerate() {
                            *sum += value * b.values[first + column * b.strides.1];
                        }
                    }
                }
            }
        }
    }

    /// Stores a row of C.
    fn store(&self, row: usize, sums: &[V], c: &mut DenseRowsMut<'_, V>) {
        let update = |c: &mut V, sum: V| update(c, self.alpha, sum, self.beta);
        match c {
            DenseRowsMut::Rows(c, leading_dimension) => {
                let c = &mut c[row * *leading_dimension..][..self.columns];
                c.iter_mut().zip(sums).for_each(|(c, &sum)| update(c, sum));
            }
            DenseRowsMut::Columns(columns) => {
                columns.iter_mut().zip(sums).for_each(|(column, &sum)| update(&mut column[row], sum));
            }
        }
    }
}
