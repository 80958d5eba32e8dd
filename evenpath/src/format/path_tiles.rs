//! Tiles of the merge of row ends and nonzeros.

use evenpath_kernels::GlobalPattern;
use evenpath_kernels::spmv::MergePartition;
use evenpath_simt::kernel::Kernel;

use crate::device::{Device, DeviceError, DeviceVec, Launch, Launcher};
use crate::format::DeviceCsr;
use crate::{Offset, Storage};

/// A division of a matrix into equal parts of row ends plus nonzeros.
#[derive(Debug)]
pub(crate) struct PathTiles {
    /// Number of tiles.
    pub(crate) count: u32,
    /// First row of each tile, and the number of rows; `count` + 1.
    pub(crate) rows: DeviceVec<u32>,
}

impl PathTiles {
    /// Divides a matrix on a device with kernels into tiles of a kernel.
    pub(crate) fn find<S: Storage, O: Offset, K: Kernel>(
        matrix: &DeviceCsr<S, O>,
        launcher: Launcher<K>,
    ) -> Result<(Self, Launch<K>), DeviceError> {
        Self::of_view(matrix.device(), matrix.pattern().view(), launcher)
    }

    /// [`find`](Self::find) for the pattern of a matrix that is not complete: column indices are not read.
    pub(crate) fn of_view<O: Offset, K: Kernel>(
        device: &Device,
        pattern: GlobalPattern<O>,
        launcher: Launcher<K>,
    ) -> Result<(Self, Launch<K>), DeviceError> {
        let tile_items = launcher.info().tile_items() as u32;
        let tiles = launcher.items(pattern.rows as usize + pattern.nonzeros as usize)?;
        let count = tiles.grid();
        let rows = Self::rows_of(device, pattern, (count, tile_items))?;
        Ok((Self { count, rows }, tiles))
    }

    /// Finds the first row of each of `tiles` tiles of `tile_items` row ends and nonzeros, with the number of rows at the end.
    pub(crate) fn rows_of<O: Offset>(
        device: &Device,
        pattern: GlobalPattern<O>,
        (tiles, tile_items): (u32, u32),
    ) -> Result<DeviceVec<u32>, DeviceError> {
        let launch = device.kernel().threads(tiles as usize + 1)?;
        let mut tile_rows = device.uninitialized(tiles as usize + 1)?;
        let partition = MergePartition { pattern, tile_rows: tile_rows.as_global_mut(), tiles, tile_items };
        // SAFETY: the views are of the matrix's row offsets, `rows` + 1 long, and of `tile_rows`, `tiles` + 1 long, and
        // buffers are freed in the stream's order.
        unsafe { launch.launch(partition) }?;
        Ok(tile_rows)
    }

    /// Size in bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.rows.bytes()
    }
}
