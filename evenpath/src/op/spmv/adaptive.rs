use evenpath_kernels::spmv::{AdaptiveRows, CutRowBlocks, RowBlockKind};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::lengths::Lengths;
use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, OpError, grid, instance, tile_items};
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// Row blocks, made on the host or on the device.
pub(super) struct Adaptive {
    kernel: &'static KernelInfo,
    /// First row of each row block, and the number of rows.
    block_rows: DeviceVec<u32>,
    blocks: u32,
    /// Counted where the host makes them.
    kinds: Option<Kinds>,
}

/// How many row blocks there are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Kinds {
    stream: u64,
    vector: u64,
    long_vector: u64,
}

impl Adaptive {
    /// Copies the row offsets to the host, and cuts the rows there.
    pub(super) fn analyze<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let kernel = kernel_for(matrix);
        let block_rows = cut_rows(&matrix.pattern().row_offsets.download()?, tile_items(kernel) as usize);
        let kinds = Some(Kinds::count(&block_rows, kernel.block_size));
        let RowBlocks { block_rows, blocks } = RowBlocks::upload(matrix, &block_rows)?;
        Ok(Self { kernel, block_rows, blocks, kinds })
    }

    /// Cuts the rows on the device, as [`RowBlocks::on_device`].
    pub(super) fn on_device<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
    ) -> Result<Option<Self>, OpError> {
        let kernel = kernel_for(matrix);
        let cut = RowBlocks::on_device(matrix, lengths, tile_items(kernel))?;
        Ok(cut.map(|RowBlocks { block_rows, blocks }| Self { kernel, block_rows, blocks, kinds: None }))
    }
}

/// Consecutive rows that have few nonzeros together, or one row that has many.
pub(super) struct RowBlocks {
    /// First row of each row block, and the number of rows.
    pub(super) block_rows: DeviceVec<u32>,
    pub(super) blocks: u32,
}

impl RowBlocks {
    /// Row blocks of at most `limit` nonzeros, or one row: made by the device, or by the host where a row is longer than
    /// half of the limit.
    pub(super) fn cut<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Self, OpError> {
        if let Some(cut) = Self::on_device(matrix, lengths, limit)? {
            return Ok(cut);
        }
        Self::upload(matrix, &cut_rows(&matrix.pattern().row_offsets.download()?, limit as usize))
    }

    fn upload<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, block_rows: &[u32]) -> Result<Self, OpError> {
        let blocks = grid(matrix.rows(), matrix.nnz(), block_rows.len() as u64 - 1)?;
        Ok(Self { block_rows: matrix.device().upload(block_rows)?, blocks })
    }

    /// Cuts the rows on the device, into blocks of at most `limit` nonzeros that hold half of what they could at least.
    /// `None` where a row is longer than that.
    fn on_device<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        lengths: Lengths,
        limit: u32,
    ) -> Result<Option<Self>, OpError> {
        let device = matrix.device();
        if lengths.longest > u64::from(limit / 2) {
            return Ok(None);
        }
        let share = limit + 1 - (lengths.longest as u32).max(1);
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        // Rows without nonzeros are a block's too.
        let blocks =
            grid(rows, nonzeros, (nonzeros as u64).div_ceil(u64::from(share)).max(u64::from(rows > 0)))?;
        let mut block_rows = device.uninitialized(blocks as usize + 1)?;
        let info = instance::<CutRowBlocks<O>>();
        let cut = CutRowBlocks {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            block_rows: block_rows.as_global_mut(),
            rows: rows as u32,
            blocks,
            share,
        };
        // SAFETY: there are `rows` + 1 row offsets and `blocks` + 1 row blocks; buffers are freed in the stream's order.
        unsafe { device.launch(cut, info, (blocks + 1).div_ceil(info.block_size), 0) }?;
        Ok(Some(Self { block_rows, blocks }))
    }
}

/// The instance for the matrix's types and its device.
fn kernel_for<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> &'static KernelInfo {
    let tile = policy::spmv_adaptive(V::TYPE, matrix.device().properties().compute_capability);
    match tile.and_then(|tile| AdaptiveRows::<V, O>::instance(tile.block_size, tile.items_per_thread)) {
        Some(kernel) => kernel,
        None => unreachable!("the kernels' tables have an instance for every tile of the policy"),
    }
}

/// The first row of each row block, and the number of rows at the end. A row block is as many rows as have `limit`
/// nonzeros together, and no more than `limit`; or one row that has more.
fn cut_rows<O: Offset>(row_offsets: &[O], limit: usize) -> Vec<u32> {
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

impl Kinds {
    fn count(block_rows: &[u32], threads: u32) -> Self {
        let mut kinds = Self::default();
        for pair in block_rows.windows(2) {
            match RowBlockKind::of(pair[1] - pair[0], threads) {
                RowBlockKind::Stream => kinds.stream += 1,
                RowBlockKind::Vector => kinds.vector += 1,
                RowBlockKind::LongVector => kinds.long_vector += 1,
            }
        }
        kinds
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Adaptive {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let (pattern, values) = (matrix.pattern(), matrix.values());
        let kernel = AdaptiveRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            block_rows: self.block_rows.as_global(),
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises; there is one row block more than the grid has blocks.
        unsafe { matrix.device().launch(kernel, self.kernel, self.blocks, 0) }
    }

    fn shape(&self) -> Shape {
        let figures = match self.kinds {
            Some(Kinds { stream, vector, long_vector }) => {
                vec![("by stream", stream), ("by vector", vector), ("by long vector", long_vector)]
            }
            None => Vec::new(),
        };
        Shape {
            tile: Some(Tile::of(self.kernel)),
            tiles: u64::from(self.blocks),
            figures,
            workspace_bytes: self.block_rows.bytes(),
            ..Shape::default()
        }
    }
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

    #[test]
    fn kinds_follow_from_rows() {
        let kinds = Kinds::count(&[0, 1, 3, 7, 12], 128);
        assert_eq!(kinds, Kinds { stream: 1, vector: 2, long_vector: 1 });
    }
}
