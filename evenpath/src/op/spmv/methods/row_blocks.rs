//! Row blocks: consecutive rows that have few nonzeros together.

use evenpath_kernels::spmv::{CutRowBlocks, ROWS_PER_NONZERO};

use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::op::spmv::lengths::Lengths;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// Consecutive rows that have few nonzeros together, or one row that has many.
pub(super) struct RowBlocks {
    /// First row of each row block, and the number of rows.
    pub(super) block_rows: DeviceVec<u32>,
}

impl RowBlocks {
    /// Row blocks of at most `limit` nonzeros, or one row: made by the device, or by the host where a row is longer than
    /// half of the limit.
    pub(super) fn cut<V: Scalar, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Self, OpError> {
        if let Some(cut) = Self::on_device(matrix, lengths, limit)? {
            return Ok(cut);
        }
        let block_rows = cut_rows(&matrix.pattern().row_offsets.download()?, limit as usize);
        Ok(Self { block_rows: matrix.device().upload(&block_rows)? })
    }

    /// Cuts the rows on the device, into blocks of at most `limit` nonzeros that are at least half full. `None` if a row
    /// is longer than half of the limit.
    pub(super) fn on_device<V: Scalar, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        if lengths.longest > u64::from(limit / 2) {
            return Ok(None);
        }
        let share = limit + 1 - (lengths.longest as u32).max(1);
        let work = ROWS_PER_NONZERO * matrix.nnz() as u64 + matrix.nrows() as u64;
        let blocks = work.div_ceil(ROWS_PER_NONZERO * u64::from(share)) as usize;
        let launch = device.kernel().threads(blocks + 1)?;
        let mut block_rows = device.uninitialized(blocks + 1)?;
        let cut = CutRowBlocks {
            pattern: matrix.pattern().view(),
            block_rows: block_rows.as_global_mut(),
            blocks: blocks as u32,
            share,
        };
        // SAFETY: there is one more row offset than rows, and one more element of `block_rows` than blocks, of which a
        // grid has fewer than 2³²; buffers are freed in the stream's order.
        unsafe { launch.launch(cut) }?;
        Ok(Some(Self { block_rows }))
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
