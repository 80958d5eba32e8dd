use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv::{MergeFixup, MergeTile};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::{Product, Schedule, Shape};
use crate::device::{Device, DeviceError, DeviceVec};
use crate::op::path_tiles::PathTiles;
use crate::op::{DeviceCsr, OpError};
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// What the merge-path kernels need beside the matrix.
pub(super) struct Merge<V: Value> {
    kernels: MergeKernels,
    tiles: PathTiles,
    /// One element a tile. Locked from a tile's launch to its fix-up's, which belong together.
    carries: Mutex<DeviceVec<V>>,
}

#[derive(Clone, Copy)]
struct MergeKernels {
    tile: &'static KernelInfo,
    fixup: &'static KernelInfo,
}

impl MergeKernels {
    fn select<V: Value, O: Offset>(device: &Device) -> Self {
        let tile = policy::spmv_merge(V::TYPE, device.properties().compute_capability);
        let kernels = (
            MergeTile::<V, O>::instance(tile.block_size, tile.items_per_thread),
            MergeFixup::<V, O>::first(),
        );
        let (Some(tile), Some(fixup)) = kernels else {
            unreachable!(
                "the kernels' tables have an instance for every type, and for every tile of the policy"
            )
        };
        Self { tile, fixup }
    }

    fn tile(self) -> Tile {
        Tile::of(self.tile)
    }
}

impl<V: Value> Merge<V> {
    /// Cuts the merge of row ends and nonzeros into tiles.
    pub(super) fn analyse<O: Offset>(matrix: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        let kernels = MergeKernels::select::<V, O>(matrix.device());
        let tiles = PathTiles::find(matrix, kernels.tile().items())?;
        let carries = Mutex::new(matrix.device().uninitialised(tiles.count as usize)?);
        Ok(Self { kernels, tiles, carries })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Merge<V> {
    fn run(&self, Product { matrix, alpha, x, beta, y }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let device = matrix.device();
        let pattern = matrix.pattern();
        let values = matrix.values();
        let mut carries = self.carries.lock().unwrap_or_else(PoisonError::into_inner);
        let tile = MergeTile {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            carries: carries.as_global_mut(),
            rows: pattern.rows as u32,
            nonzeros: pattern.column_indices.len() as u64,
            alpha,
            beta,
        };
        let fixup = MergeFixup {
            row_offsets: pattern.row_offsets.as_global(),
            y: y.as_global_mut(),
            tile_rows: self.tiles.rows.as_global(),
            carries: carries.as_global(),
            tiles: self.tiles.count,
            tile_items: self.kernels.tile().items(),
            alpha,
        };
        // SAFETY: the views are of the matrix, of vectors whose lengths were checked, and of the plan's own buffers; all
        // are on this device, and buffers are freed in the stream's order. The matrix is valid, so every column index
        // is below x's length. The lock on the carries keeps other runs of the plan from coming between the launches.
        unsafe {
            device.launch(tile, self.kernels.tile, self.tiles.count, 0)?;
            if self.tiles.count > 1 {
                device.launch(
                    fixup,
                    self.kernels.fixup,
                    self.tiles.count.div_ceil(self.kernels.fixup.block_size),
                    0,
                )?;
            }
        }
        Ok(())
    }

    fn shape(&self) -> Shape {
        let tiles = u64::from(self.tiles.count);
        let workspace_bytes = tiles * size_of::<V>() as u64 + self.tiles.bytes();
        Shape { tile: Some(self.kernels.tile()), tiles, workspace_bytes, ..Shape::default() }
    }
}
