//! Blocks of rows with about equal work.

use std::ops::Range;

use crate::{CsrView, Entry, Offset};

/// Approximate work per task: rows plus nonzeros, times the columns of C.
const TASK: usize = 1 << 16;

/// Splits the rows into blocks with about equal work, of at least one row.
pub(super) fn row_blocks<S: Entry, O: Offset>(
    matrix: CsrView<'_, S, O>,
    columns: usize,
) -> Vec<Range<usize>> {
    let limit = TASK / columns.clamp(1, TASK);
    let offsets = matrix.row_offsets();
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < matrix.nrows() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

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
}
