//! The product, block of rows by block.

use evenpath_simt::WidenTo;

use super::blocks::row_blocks;
use super::by_rows::ByRows;
use super::dense::{Dense, DenseMut};
use super::instructions::SpmmInstructions;
use super::rows::CpuSpmmOperands;
use crate::{Compute, CsrView, Offset, Storage, parallel};

/// Computes `C = alpha A B + beta C`. If `beta` is 0, C is overwritten without being read.
///
/// B has one row per column of A, and C one per row of A. Each element is a single sum in the order of the row's
/// nonzeros, so results depend neither on the number of threads nor on layouts. Products and sums are rounded together where
/// the processor has such instructions.
pub(crate) fn spmm<S: Storage + WidenTo<Compute<T>>, T: Storage, O: Offset>(
    matrix: CsrView<'_, S, O>,
    alpha: Compute<T>,
    b: Dense<'_, T>,
    beta: Compute<T>,
    c: DenseMut<'_, T>,
) {
    let columns = c.columns;
    if columns == 0 {
        return;
    }
    let last = matrix.ncols().saturating_sub(1) * b.strides.0 + (columns - 1) * b.strides.1;
    assert!(matrix.nnz() == 0 || last < b.values.len(), "shapes are checked by the caller");
    let b = ByRows::new(b, matrix.ncols(), columns, matrix.nnz());
    let blocks = row_blocks(matrix, columns);
    let parts = c.split(&blocks, matrix.nrows());
    let rows = CpuSpmmOperands { matrix, alpha, b: &b, beta, columns };
    let instructions = SpmmInstructions::fastest();
    parallel::for_each(blocks.into_iter().zip(parts).collect(), |(block, part)| {
        rows.compute(block, part, instructions);
    });
}

/// Number of tasks of a product with `columns` columns.
pub(crate) fn spmm_tasks<S: Storage, O: Offset>(matrix: CsrView<'_, S, O>, columns: usize) -> usize {
    row_blocks(matrix, columns).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f32> = generate(Kind::PowerLaw { rows: 20_000 }, 2).unwrap();
        let b: Vec<f32> = (0..a.ncols() * 5).map(|at| (at as f32 * 0.618).fract() - 0.5).collect();
        let run = |threads| {
            let mut c = vec![0.25_f32; a.nrows() * 5];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let b = Dense { values: &b[..], strides: (5, 1) };
            pool.install(|| {
                let c =
                    DenseMut { values: &mut c, columns: 5, by_columns: true, leading_dimension: a.nrows() };
                spmm(a.view(), 1.5, b, 0.5, c);
            });
            c.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let alone = run(1);
        assert!([2, 3, 8].iter().all(|&threads| run(threads) == alone));
    }
}
