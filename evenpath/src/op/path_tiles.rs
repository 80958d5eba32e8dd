//! Tiles of the merge of row ends and nonzeros.

use evenpath_kernels::spmv::MergePartition;

use super::{DeviceCsr, OpError, grid, instance};
use crate::device::DeviceVec;
use crate::{Offset, Value};

/// A matrix, cut into equal parts of row ends and nonzeros together.
#[derive(Debug)]
pub(super) struct PathTiles {
    /// Tiles.
    pub(super) count: u32,
    /// First row of each tile, and the number of rows; `count` + 1.
    pub(super) rows: DeviceVec<u32>,
}

impl PathTiles {
    /// Cuts a matrix on a device with kernels into tiles of `tile_items`.
    pub(super) fn find<V: Value, O: Offset>(
        matrix: &DeviceCsr<V, O>,
        tile_items: u32,
    ) -> Result<Self, OpError> {
        let device = matrix.device();
        let (rows, nonzeros) = (matrix.rows(), matrix.nnz());
        let count = grid(rows, nonzeros, (rows as u64 + nonzeros as u64).div_ceil(u64::from(tile_items)))?;
        let mut tile_rows = device.uninitialized(count as usize + 1)?;
        let partition = MergePartition {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            tile_rows: tile_rows.as_global_mut(),
            rows: rows as u32,
            nonzeros: nonzeros as u64,
            tiles: count,
            tile_items,
        };
        let info = instance::<MergePartition<O>>();
        // SAFETY: the views are of the matrix's row offsets, `rows` + 1 long, and of `tile_rows`, `count` + 1 long, and
        // buffers are freed in the stream's order.
        unsafe { device.launch(partition, info, (count + 1).div_ceil(info.block_size), 0) }?;
        Ok(Self { count, rows: tile_rows })
    }

    /// Bytes of device memory that they take.
    pub(super) fn bytes(&self) -> u64 {
        self.rows.bytes()
    }
}
