//! `C = alpha A B + beta C` with a tree A and row-major B and C; with one column, SpMV.
//!
//! A task sums the products of consecutive leaves in one row of leaves; then the sums of the tasks of a row are added in
//! the order of the leaves. The matrix alone determines the division into tasks, and hence the rounding. If the matrix
//! is transposed, a row of leaves here is a column of the content.

use std::ops::Range;

use crate::matrix::hisparse::leaves::PlacedNode;
use crate::matrix::hisparse::node::{SlotContent, StoredNode, unpack};
use crate::memory::{try_collect, try_zeroed};
use crate::{HiSparse, MatrixError, Value, parallel};

/// The minimum number of entries per task, except for the last task of a row of leaves.
const TASK: usize = 1 << 14;

/// Maximum number of columns of C that are summed together.
const COLUMNS: usize = 8;

/// Computes `C = alpha A B + beta C`, `columns` wide. If `beta` is 0, C is overwritten without being read.
///
/// B has one row per column of A, and C one per row. If there is not enough memory for the list of leaves or the sums of
/// the tasks, nothing is written.
pub(crate) fn multiply<V: Value, const D: usize>(
    matrix: &HiSparse<V, D>,
    columns: usize,
    alpha: V,
    b: &[V],
    beta: V,
    c: &mut [V],
) -> Result<(), MatrixError> {
    if c.is_empty() {
        return Ok(());
    }
    let out_of_memory = || MatrixError::OutOfMemory { rows: matrix.nrows(), nnz: matrix.nnz() };
    let matrix = &*matrix.with_number_as_scale()?;
    let leaves = matrix.leaves_by_row()?;
    let tasks = tasks(matrix, &leaves)?;
    // For as many columns as are summed at once.
    let len = tasks.len() * D * if columns < COLUMNS { 1 } else { COLUMNS };
    let mut sums: Vec<V> = try_zeroed(len).map_err(|()| out_of_memory())?;
    let operands = CpuTreeOperands { matrix, leaves: &leaves, tasks: &tasks, columns, alpha, b, beta };
    let wide = columns - columns % COLUMNS;
    for first in (0..wide).step_by(COLUMNS) {
        operands.multiply::<COLUMNS>(first, &mut sums, c);
    }
    for first in wide..columns {
        operands.multiply::<1>(first, &mut sums, c);
    }
    Ok(())
}

/// Consecutive leaves of one row of leaves.
struct LeafTask {
    row: usize,
    leaves: Range<usize>,
}

fn tasks<V: Value, const D: usize>(
    matrix: &HiSparse<V, D>,
    leaves: &[PlacedNode],
) -> Result<Vec<LeafTask>, MatrixError> {
    let out_of_memory = || MatrixError::OutOfMemory { rows: matrix.nrows(), nnz: matrix.nnz() };
    let mut counts: Vec<u32> = try_zeroed(leaves.len()).map_err(|()| out_of_memory())?;
    parallel::parts_mut(&mut counts, 1, |range, counts| {
        for (count, &leaf) in counts.iter_mut().zip(&leaves[range]) {
            *count = matrix.leaf(leaf).work() as u32;
        }
    });
    let mut begin = 0;
    let tasks = std::iter::from_fn(|| {
        let row = leaves.get(begin)?.row;
        let (mut end, mut entries) = (begin, 0);
        while entries < TASK && leaves.get(end).is_some_and(|leaf| leaf.row == row) {
            entries += counts[end] as usize;
            end += 1;
        }
        let leaves = std::mem::replace(&mut begin, end)..end;
        Some(LeafTask { row: row as usize, leaves })
    });
    try_collect(tasks).map_err(|_| out_of_memory())
}

struct CpuTreeOperands<'a, V, const D: usize> {
    matrix: &'a HiSparse<V, D>,
    leaves: &'a [PlacedNode],
    tasks: &'a [LeafTask],
    columns: usize,
    alpha: V,
    b: &'a [V],
    beta: V,
}

impl<V: Value, const D: usize> CpuTreeOperands<'_, V, D> {
    /// Computes W columns of C starting at `first`. `sums` has W elements per row of each task, with
    /// arbitrary contents.
    fn multiply<const W: usize>(&self, first: usize, sums: &mut [V], c: &mut [V]) {
        let sums = &mut sums.as_chunks_mut::<W>().0[..self.tasks.len() * D];
        parallel::chunks_mut(sums, D, |task, sums| {
            sums.fill([V::ZERO; W]);
            for leaf in &self.leaves[self.tasks[task].leaves.clone()] {
                let begin = leaf.col as usize * D * self.columns + first;
                let leaf = self.matrix.leaf(*leaf);
                if self.matrix.is_transposed() {
                    self.add_products(leaf, |place| unpack(place.swap_bytes()), begin, sums);
                } else {
                    self.add_products(leaf, unpack, begin, sums);
                }
            }
        });
        parallel::chunks_mut(c, D.saturating_mul(self.columns), |row, c| {
            let begin = self.tasks.partition_point(|task| task.row < row);
            let len = self.tasks[begin..].partition_point(|task| task.row == row);
            let own_sums = &sums[begin * D..(begin + len) * D];
            for (row, c) in c.chunks_mut(self.columns).enumerate() {
                for (column, c) in c[first..first + W].iter_mut().enumerate() {
                    let sum: V = own_sums.chunks_exact(D).map(|sums| sums[row][column]).sum();
                    let product = self.alpha * (self.matrix.scale() * sum);
                    *c = if self.beta == V::ZERO { product } else { product + self.beta * *c };
                }
            }
        });
    }

    /// Adds the products of a leaf and rows of B, the first of which starts at `begin`.
    #[inline]
    fn add_products<const W: usize>(
        &self,
        leaf: StoredNode<'_, V>,
        oriented: impl Fn(u16) -> (usize, usize),
        begin: usize,
        sums: &mut [[V; W]],
    ) {
        let mut add = |coordinates, value: V| {
            let (row, col) = oriented(coordinates);
            let b = &self.b[begin + col * self.columns..][..W];
            for (sum, &b) in sums[row].iter_mut().zip(b) {
                *sum += value * b;
            }
        };
        match leaf {
            StoredNode::Sparse(coordinates, values) => {
                coordinates.iter().zip(values).for_each(|(&coordinates, &value)| add(coordinates, value));
            }
            StoredNode::Dense(values) => {
                for (row, values) in values.chunks_exact(D).enumerate() {
                    for (col, &value) in values.iter().enumerate().filter(|(_, value)| !value.is_absent()) {
                        add((row << 8 | col) as u16, value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};
    use crate::matrix::hisparse;

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f64> = generate(Kind::Rmat { scale: 13 }, 2).unwrap();
        let a: HiSparse<f64, 256> = a.to_hisparse(hisparse::Options::default()).unwrap();
        let b: Vec<f64> = (0..a.ncols() * 9).map(|at| (at as f64 * 0.754_877_666).fract() - 0.5).collect();
        for a in [a.clone(), a.transpose()] {
            let leaves = a.leaves_by_row().unwrap();
            let tasks = tasks(&a, &leaves).unwrap();
            assert!(tasks.windows(2).any(|pair| pair[0].row == pair[1].row), "no row of leaves is cut");
            let run = |threads| {
                let mut c = vec![0.25; a.nrows() * 9];
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| multiply(&a, 9, 1.5, &b, 0.5, &mut c)).unwrap();
                c.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            };
            let alone = run(1);
            assert!([2, 3, 8].iter().all(|&threads| run(threads) == alone));
        }
    }

    #[test]
    fn tasks_have_every_leaf_once() {
        let a: Csr<f32> = generate(Kind::PowerLaw { rows: 3000 }, 2).unwrap();
        let a: HiSparse<f32, 32> = a.to_hisparse(hisparse::Options::default()).unwrap();
        let leaves = a.leaves_by_row().unwrap();
        let mut next = 0;
        for task in tasks(&a, &leaves).unwrap() {
            assert_eq!(task.leaves.start, next);
            assert!(leaves[task.leaves.clone()].iter().all(|leaf| leaf.row as usize == task.row));
            next = task.leaves.end;
        }
        assert_eq!(next, leaves.len());
    }
}
