use evenpath_kernels::spmv::MergeTile;
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::cut_rows::{Cut, CutRows};
use super::{Product, Schedule, Shape};
use crate::device::DeviceError;
use crate::op::path_tiles::PathTiles;
use crate::op::{DeviceCsr, OpError};
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// What the merge-path kernel needs beside the matrix.
pub(super) struct Merge {
    kernel: &'static KernelInfo,
    tiles: PathTiles,
    cut_rows: CutRows,
}

impl Merge {
    /// Cuts the merge of row ends and nonzeros into tiles.
    pub(super) fn analyze<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let device = matrix.device();
        let tile = policy::spmv_merge(V::TYPE, device.properties().compute_capability);
        let kernel_of = |tile: Tile| MergeTile::<V, O>::instance(tile.block_size, tile.items_per_thread);
        let Some((tile, kernel)) = tile.and_then(|tile| Some((tile, kernel_of(tile)?))) else {
            unreachable!("the kernels' tables have an instance for every tile of the policy")
        };
        let tiles = PathTiles::find(matrix, tile.items())?;
        let cut = Cut {
            row_offsets: matrix.pattern().row_offsets.as_global(),
            rows: matrix.rows() as u32,
            tile_rows: &tiles.rows,
            tiles: tiles.count,
            tile_items: tile.items(),
            counts_row_ends: true,
        };
        let cut_rows = CutRows::find::<V, O>(device, &cut)?;
        Ok(Self { kernel, tiles, cut_rows })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Merge {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let pattern = matrix.pattern();
        let values = matrix.values();
        let mut work = self.cut_rows.sums.lock();
        let tile = MergeTile {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            spans: self.cut_rows.spans.as_global(),
            sums: work.sums.as_global_mut(),
            arrived: work.arrived.as_global_mut(),
            run: work.run,
            rows: pattern.rows as u32,
            nonzeros: pattern.column_indices.len() as u64,
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises, and the plan's own buffers are of its matrix.
        unsafe { matrix.device().launch(tile, self.kernel, self.tiles.count, 0) }
    }

    fn shape(&self) -> Shape {
        let tiles = u64::from(self.tiles.count);
        let workspace_bytes = self.tiles.bytes() + self.cut_rows.bytes();
        Shape { tile: Some(Tile::of(self.kernel)), tiles, workspace_bytes, ..Shape::default() }
    }
}
