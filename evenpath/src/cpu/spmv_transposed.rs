//! `y = alpha A^T x + beta y`, without forming the transpose.
//!
//! The rows are split into pieces with about equally many nonzeros. Each piece has its own sums for all columns,
//! which are then added in the order of the pieces. The matrix alone determines the number of pieces, and hence the
//! rounding.

use std::ops::Range;

use crate::{CsrView, Offset, Scalar, parallel};

/// The maximum number of pieces: more sums per column would cost more than they gain.
const MAX_PIECES: usize = 16;

/// The minimum number of nonzeros per column in a piece, so that clearing and adding the sums costs little in
/// comparison.
const NONZEROS_PER_COLUMN: usize = 4;

/// The minimum number of nonzeros per piece: about ten microseconds of work.
const MIN_NONZEROS: usize = 1 << 14;

/// Columns per task when the sums of the pieces are added.
const COLUMN_BLOCK: usize = 1 << 12;

/// The number of pieces for a matrix. A single piece needs no sums of its own.
pub(crate) fn spmv_transposed_pieces(cols: usize, nnz: usize) -> usize {
    let piece = MIN_NONZEROS.max(cols.saturating_mul(NONZEROS_PER_COLUMN));
    (nnz / piece).clamp(1, MAX_PIECES)
}

/// Computes `y = alpha A^T x + beta y`. If `beta` is 0, `y` is overwritten without being read.
///
/// `x` has one element per row and `y` one per column.
pub(crate) fn spmv_transposed<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    alpha: V,
    x: &[V],
    beta: V,
    y: &mut [V],
) {
    assert_eq!((x.len(), y.len()), matrix.shape(), "shapes are checked by the caller");
    let scale = |y: &mut V| *y = if beta == V::ZERO { V::ZERO } else { beta * *y };
    let pieces = spmv_transposed_pieces(matrix.ncols(), matrix.nnz());
    if pieces == 1 {
        y.iter_mut().for_each(scale);
        return add_rows(matrix, 0..matrix.nrows(), alpha, x, y);
    }
    let sums = parallel::map(pieces, 1, |piece| {
        let mut sums = vec![V::ZERO; matrix.ncols()];
        let rows = piece_start(matrix, piece, pieces)..piece_start(matrix, piece + 1, pieces);
        add_rows(matrix, rows, alpha, x, &mut sums);
        sums
    });
    parallel::chunks_mut(y, COLUMN_BLOCK, |block, y| {
        y.iter_mut().for_each(scale);
        for sums in &sums {
            let sums = &sums[block * COLUMN_BLOCK..][..y.len()];
            y.iter_mut().zip(sums).for_each(|(y, &sum)| *y += sum);
        }
    });
}

/// The first row of a piece: the first that starts at or after the first nonzero of the piece. The last piece ends
/// after all rows.
fn piece_start<V: Scalar, O: Offset>(matrix: CsrView<'_, V, O>, piece: usize, pieces: usize) -> usize {
    if piece == pieces {
        return matrix.nrows();
    }
    let nonzero = matrix.nnz() / pieces * piece;
    let begins = &matrix.row_offsets()[..matrix.nrows()];
    begins.partition_point(|offset| offset.to_usize() < nonzero)
}

/// Adds rows to the sums of their columns.
fn add_rows<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    rows: Range<usize>,
    alpha: V,
    x: &[V],
    sums: &mut [V],
) {
    let offsets = &matrix.row_offsets()[rows.start..=rows.end];
    for (offsets, &x) in offsets.windows(2).zip(&x[rows]) {
        let nonzeros = offsets[0].to_usize()..offsets[1].to_usize();
        let factor = alpha * x;
        let columns = &matrix.column_indices()[nonzeros.clone()];
        for (&column, &value) in columns.iter().zip(&matrix.values()[nonzeros]) {
            sums[column as usize] += value * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};

    fn run(a: &Csr<f64>, threads: usize) -> Vec<u64> {
        let x: Vec<f64> = (0..a.nrows()).map(|i| (i as f64 * 0.754_877_666).fract() - 0.5).collect();
        let mut y = vec![0.25; a.ncols()];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| spmv_transposed(a.view(), 1.5, &x, 0.5, &mut y));
        y.into_iter().map(f64::to_bits).collect()
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f64> = generate(Kind::Rmat { scale: 14 }, 2).unwrap();
        assert!(spmv_transposed_pieces(a.ncols(), a.nnz()) > 1);
        let alone = run(&a, 1);
        for threads in [2, 3, 8] {
            assert_eq!(run(&a, threads), alone, "{threads} threads");
        }
    }

    #[test]
    fn pieces_have_every_row_once() {
        let lengths = [0, 40_000, 0, 0, 30_000, 5, 1, 100_000, 0];
        let mut row_offsets = vec![0_u32];
        for len in lengths {
            row_offsets.push(row_offsets[row_offsets.len() - 1] + len);
        }
        let nnz = row_offsets[lengths.len()] as usize;
        let columns = (0..nnz).map(|at| (at * 7919 % 100) as u32).collect();
        let a = Csr::try_new(lengths.len(), 100, row_offsets, columns, vec![1.0_f64; nnz]).unwrap();
        let pieces = spmv_transposed_pieces(a.ncols(), a.nnz());
        assert!(pieces > 1);
        let starts: Vec<usize> = (0..=pieces).map(|piece| piece_start(a.view(), piece, pieces)).collect();
        assert_eq!((starts[0], starts[pieces]), (0, lengths.len()));
        assert!(starts.is_sorted(), "{starts:?}");
        let mut y = vec![f64::NAN; 100];
        spmv_transposed(a.view(), 2.0, &[1.0; 9], 0.0, &mut y);
        // Sums of small integers are exact.
        let mut expected = vec![0.0; 100];
        a.column_indices().iter().for_each(|&column| expected[column as usize] += 2.0);
        assert_eq!(y, expected);
    }
}
