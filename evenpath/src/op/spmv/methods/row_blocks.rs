//! Row blocks: consecutive rows that have few nonzeros together.

use evenpath_kernels::block::list::UnorderedList;
use evenpath_kernels::spmv::{CutRowBlocks, ListRowBlocks, ROWS_PER_NONZERO};

use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::op::spmv::lengths::Lengths;
use crate::operand::OpError;
use crate::sequence::sort::{self, SortOptions, index_bits};
use crate::{Offset, Scalar};

/// Consecutive rows that have few nonzeros together, or one row that has many.
pub(super) struct RowBlocks {
    /// First row of each row block, and the number of rows.
    pub(super) block_rows: DeviceVec<u32>,
}

impl RowBlocks {
    /// Cuts the rows on the device, into blocks of at most `limit` nonzeros, most of them at least half full, or one row. Waits for
    /// the device if a row is longer than half of the limit.
    pub(super) fn cut<V: Scalar, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Self, OpError> {
        if Self::has_long_rows(lengths, limit) {
            Self::with_long_rows(matrix, Cut::beside_long_rows(matrix, lengths, limit))
        } else {
            Self::of_short_rows(matrix, Cut::new(limit, (lengths.longest as u32).max(1)))
        }
    }

    /// Returns whether a row is longer than half a row block of at most `limit` nonzeros.
    pub(super) fn has_long_rows(lengths: Lengths, limit: u32) -> bool {
        lengths.longest > u64::from(limit / 2)
    }

    /// Cuts rows of which none is long.
    fn of_short_rows<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>, cut: Cut) -> Result<Self, OpError> {
        let device = matrix.device();
        let blocks = cut.blocks(matrix);
        let launch = device.kernel().threads(blocks + 1)?;
        let mut block_rows = device.uninitialized(blocks + 1)?;
        let cut = CutRowBlocks {
            pattern: matrix.pattern().view(),
            block_rows: block_rows.as_global_mut(),
            blocks: blocks as u32,
            share: cut.share,
        };
        // SAFETY: there is one more row offset than rows, and one more element of `block_rows` than blocks, of which a
        // grid has fewer than 2³²; buffers are freed in the stream's order.
        unsafe { launch.launch(cut) }?;
        Ok(Self { block_rows })
    }

    /// Cuts rows of which some are alone.
    fn with_long_rows<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>, cut: Cut) -> Result<Self, OpError> {
        let (device, rows) = (matrix.device(), matrix.nrows());
        // A long row begins a block, and so does the row after it.
        let long_rows = matrix.nnz() / (cut.most as usize + 1);
        let capacity = (cut.blocks(matrix) + 2 * long_rows).min(rows) + 1;
        let launch = device.kernel().threads(rows + 1)?;
        let (mut starts, mut count) = (device.uninitialized(capacity)?, device.zeros::<u32>(1)?);
        let list = ListRowBlocks {
            pattern: matrix.pattern().view(),
            starts: UnorderedList { elements: starts.as_global_mut(), count: count.as_global_mut() },
            share: cut.share,
            most: cut.most,
        };
        // SAFETY: there is one more row offset than rows, and an element of `starts` for each row that can begin a block and for the
        // end; buffers are freed in the stream's order.
        unsafe { launch.launch(list) }?;
        let count = count.get(0)? as usize;
        let bits = SortOptions::default().with_bits(0..index_bits(rows + 1));
        Ok(Self { block_rows: sort::keys(&starts.slice(..count)?, bits)? })
    }
}

/// Sizes of row blocks.
#[derive(Clone, Copy)]
struct Cut {
    /// Nonzeros and quarters of rows between the beginnings of row blocks.
    share: u32,
    /// Maximum number of nonzeros of a row that is not alone.
    most: u32,
}

impl Cut {
    /// The largest shares for which blocks of rows of at most `most` nonzeros have at most `limit`.
    fn new(limit: u32, most: u32) -> Self {
        Self { share: limit + 1 - most, most }
    }

    /// Has the rows alone that were counted as long, if that gives fewer blocks than only those of more than half the limit.
    fn beside_long_rows<V: Scalar, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Self {
        let half = Self::new(limit, limit / 2);
        if lengths.limit > half.most {
            return half;
        }
        let counted = Self::new(limit, lengths.limit);
        let alone = 2 * lengths.long.rows as usize;
        if counted.blocks(matrix) + alone <= half.blocks(matrix) { counted } else { half }
    }

    /// Number of shares of a matrix.
    fn blocks<V: Scalar, O: Offset>(self, matrix: &DeviceCsr<V, O>) -> usize {
        let work = ROWS_PER_NONZERO * matrix.nnz() as u64 + matrix.nrows() as u64;
        work.div_ceil(ROWS_PER_NONZERO * u64::from(self.share)) as usize
    }
}

/// The first row of each row block, and the number of rows at the end. A row block is as many rows as have `limit`
/// nonzeros together, and no more than `limit`; or one row that has more.
pub(super) fn cut_rows<O: Offset>(row_offsets: &[O], limit: usize) -> Vec<u32> {
    let rows = row_offsets.len() - 1;
    let mut block_rows = vec![0];
    let (mut first, mut begin) = (0, 0);
    for row in 0..rows {
        let end = row_offsets[row + 1].to_usize();
        if row > first && (end - begin > limit || row - first == limit) {
            block_rows.push(row as u32);
            (first, begin) = (row, row_offsets[row].to_usize());
        }
    }
    if rows > 0 {
        block_rows.push(rows as u32);
    }
    block_rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(lengths: &[u32], limit: usize) -> Vec<u32> {
        let mut row_offsets = vec![0];
        for length in lengths {
            row_offsets.push(row_offsets[row_offsets.len() - 1] + length);
        }
        cut_rows(&row_offsets, limit)
    }

    #[test]
    fn rows_go_together_while_they_fit() {
        assert_eq!(cut(&[], 4), [0]);
        assert_eq!(cut(&[0], 4), [0, 1]);
        assert_eq!(cut(&[2, 2, 1], 4), [0, 2, 3]);
        assert_eq!(cut(&[2, 3, 1, 1], 4), [0, 1, 3, 4]);
        assert_eq!(cut(&[4, 0, 4], 4), [0, 2, 3]);
    }

    #[test]
    fn long_rows_are_alone() {
        assert_eq!(cut(&[5], 4), [0, 1]);
        assert_eq!(cut(&[1, 5, 1, 1], 4), [0, 1, 2, 4]);
        assert_eq!(cut(&[5, 9, 0, 5], 4), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn empty_rows_are_limited_too() {
        assert_eq!(cut(&[0; 9], 4), [0, 4, 8, 9]);
    }
}
