//! `C = alpha A B + beta C` with sparse A and dense B and C, row by row of C.

mod by_rows;
mod rows;
mod sums;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use rayon::prelude::*;

use self::by_rows::ByRows;
use self::rows::{Instructions, Rows};
use crate::{Compute, CsrView, Offset, Storage};

/// Approximate work per task: rows plus nonzeros, times the columns of C.
const TASK: usize = 1 << 16;

/// A dense operand.
#[derive(Clone, Copy)]
pub(crate) struct Dense<'a, T> {
    pub(crate) values: &'a [T],
    /// Distance in elements from one row to the next, and from one column to the next.
    pub(crate) strides: (usize, usize),
}

/// The dense result, with as many rows as the sparse matrix.
pub(crate) struct DenseMut<'a, T> {
    pub(crate) values: &'a mut [T],
    pub(crate) columns: usize,
    pub(crate) by_columns: bool,
    /// Distance in elements between consecutive rows or columns, depending on the layout.
    pub(crate) leading_dimension: usize,
}

/// Some rows of C.
enum Part<'a, T> {
    /// From the beginning of the first row on.
    Rows(&'a mut [T], usize),
    /// The part of each column in these rows.
    Columns(Vec<&'a mut [T]>),
}

/// Computes `C = alpha A B + beta C`. If `beta` is 0, C is overwritten without being read.
///
/// B has one row per column of A, and C one per row of A. Each element is a single sum in the order of the row's
/// nonzeros, so results depend neither on the number of threads nor on layouts. Products and sums are rounded together where
/// the processor has such instructions.
pub(crate) fn spmm<S: Storage, T: Storage<Computed = Compute<S>>, O: Offset>(
    matrix: CsrView<'_, S, O>,
    alpha: Compute<S>,
    b: Dense<'_, T>,
    beta: Compute<S>,
    c: DenseMut<'_, T>,
) {
    let columns = c.columns;
    if columns == 0 {
        return;
    }
    let last = matrix.cols().saturating_sub(1) * b.strides.0 + (columns - 1) * b.strides.1;
    assert!(matrix.nnz() == 0 || last < b.values.len(), "shapes are checked by the caller");
    let b = ByRows::new(b, matrix.cols(), columns, matrix.nnz());
    let blocks = row_blocks(matrix, columns);
    let parts = c.split(&blocks, matrix.rows());
    let rows = Rows { matrix, alpha, b: &b, beta, columns };
    let instructions = Instructions::fastest();
    blocks.into_par_iter().zip(parts).for_each(|(block, part)| rows.compute(block, part, instructions));
}

/// Splits the rows into blocks with about equal work, of at least one row.
fn row_blocks<S: Storage, O: Offset>(matrix: CsrView<'_, S, O>, columns: usize) -> Vec<Range<usize>> {
    let limit = TASK / columns.clamp(1, TASK);
    let offsets = matrix.row_offsets();
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < matrix.rows() {
        let base = offsets[start].to_usize() + start;
        let rest = &offsets[start + 2..];
        // The work up to the end of a row increases with the row.
        let (mut low, mut high) = (0, rest.len().min(limit));
        while low < high {
            let middle = usize::midpoint(low, high);
            if rest[middle].to_usize() + start + middle + 2 - base <= limit {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        blocks.push(start..start + 1 + low);
        start += 1 + low;
    }
    blocks
}

impl<'a, T> DenseMut<'a, T> {
    /// Splits the matrix by blocks that cover its rows.
    fn split(self, blocks: &[Range<usize>], rows: usize) -> Vec<Part<'a, T>> {
        let Self { values, columns, by_columns, leading_dimension } = self;
        if columns == 0 {
            return blocks.iter().map(|_| Part::Columns(Vec::new())).collect();
        }
        if by_columns {
            let mut parts: Vec<Vec<&mut [T]>> = blocks.iter().map(|_| Vec::with_capacity(columns)).collect();
            for column in values.chunks_mut(leading_dimension.max(1)).take(columns) {
                let mut rest = &mut column[..rows];
                for (block, part) in blocks.iter().zip(&mut parts) {
                    let own;
                    (own, rest) = rest.split_at_mut(block.len());
                    part.push(own);
                }
            }
            return parts.into_iter().map(Part::Columns).collect();
        }
        let mut rest = values;
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let own;
            // The last row may be shorter than the leading dimension.
            (own, rest) = rest.split_at_mut((block.len() * leading_dimension).min(rest.len()));
            parts.push(Part::Rows(own, leading_dimension));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};

    fn with_lengths(lengths: &[usize]) -> Csr<f64, u64> {
        let mut offsets = vec![0];
        for &length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length as u64);
        }
        let nnz = offsets[lengths.len()] as usize;
        Csr::try_new(lengths.len(), 1, offsets, vec![0; nnz], vec![1.0; nnz]).unwrap()
    }

    #[test]
    fn blocks_cover_all_rows_with_bounded_work() {
        let mut lengths: Vec<usize> = (0..20_000).map(|row| row % 9).collect();
        lengths[77] = TASK + 5;
        for lengths in [&lengths[..], &[], &[0], &[0; 500], &[TASK, 1, 1]] {
            let matrix = with_lengths(lengths);
            for columns in [0, 1, 7, 512, 1 << 20] {
                let mut next = 0;
                for block in row_blocks(matrix.view(), columns) {
                    assert_eq!(block.start, next);
                    let work = block.len() + lengths[block.clone()].iter().sum::<usize>();
                    assert!(work <= TASK / columns.max(1) || block.len() == 1, "{block:?}");
                    next = block.end;
                }
                assert_eq!(next, lengths.len());
            }
        }
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f32> = generate(Kind::PowerLaw { rows: 20_000 }, 2).unwrap();
        let b: Vec<f32> = (0..a.cols() * 5).map(|at| (at as f32 * 0.618).fract() - 0.5).collect();
        let run = |threads| {
            let mut c = vec![0.25_f32; a.rows() * 5];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let b = Dense { values: &b[..], strides: (5, 1) };
            pool.install(|| {
                let c =
                    DenseMut { values: &mut c, columns: 5, by_columns: true, leading_dimension: a.rows() };
                spmm(a.view(), 1.5, b, 0.5, c);
            });
            c.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let alone = run(1);
        assert!([2, 3, 8].iter().all(|&threads| run(threads) == alone));
    }
}
