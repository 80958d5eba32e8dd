//! A batch cut into tiles of equal work, each of which a block multiplies in several matrices at once.

use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv_batch::{BATCH_AT_ONCE, BatchFixup, BatchTile};

use crate::device::{DeviceError, DeviceSlice, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::format::path_tiles::PathTiles;
use crate::sequence::vector::update;
use crate::{Offset, Value};

/// Tiles and launches on a device with kernels.
pub(super) struct Tiles<V: Value, O: Offset> {
    path: PathTiles,
    batch: usize,
    multiply: Launch<BatchTile<V, O>>,
    fixup: Launch<BatchFixup<V>>,
    /// For each matrix, a carry for each tile but the last: workspace of one run at a time.
    carries: Mutex<DeviceVec<V>>,
}

impl<V: Value, O: Offset> Tiles<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>, batch: usize) -> Result<Self, DeviceError> {
        let device = matrix.device();
        let (path, _) = PathTiles::find(matrix, device.kernel::<BatchTile<V, O>>())?;
        let blocks = (path.count as usize).saturating_mul(batch.div_ceil(BATCH_AT_ONCE));
        let multiply = device.kernel().blocks(blocks)?.room_for(u32::MAX);
        let count = carries_of(&path);
        let fixup = device.kernel::<BatchFixup<V>>();
        let blocks = count.div_ceil(fixup.info().block_size as usize).saturating_mul(batch);
        let fixup = fixup.blocks(blocks)?;
        let carries = Mutex::new(device.uninitialized(count.saturating_mul(batch))?);
        Ok(Self { path, batch, multiply, fixup, carries })
    }

    /// Launches the products. The operands' lengths were checked.
    pub(super) fn multiply(
        &self,
        matrix: &DeviceCsr<V, O>,
        (alpha, values, x): (V, &DeviceSlice<V>, &DeviceSlice<V>),
        (beta, y): (V, &mut DeviceSlice<V>),
    ) -> Result<(), DeviceError> {
        let Self { path, batch, multiply, fixup, carries } = self;
        let mut carries = carries.lock().unwrap_or_else(PoisonError::into_inner);
        let update = update(alpha, beta, y);
        let kernel = BatchTile {
            pattern: matrix.pattern().view(),
            values: values.as_global(),
            x: x.as_global(),
            update,
            tile_rows: path.rows.as_global(),
            carries: carries.as_global_mut(),
            cols: matrix.ncols() as u32,
            batch: *batch as u32,
            tiles: path.count,
        };
        // SAFETY: the views are of a valid matrix's pattern and its tiles, of values and vectors of all matrices, whose lengths were checked,
        // and of a carry for each matrix and tile but the last. All are on this device, and buffers are freed in the stream's order. The
        // lock keeps other runs from coming between the launches.
        unsafe { multiply.launch(kernel) }?;
        let count = carries_of(path);
        let kernel = BatchFixup {
            tile_rows: path.rows.as_global(),
            carries: carries.as_global(),
            y: update.y,
            count: count as u32,
            rows: matrix.nrows() as u32,
            blocks: count.div_ceil(fixup.info().block_size as usize) as u32,
            alpha,
        };
        // SAFETY: as above. A row with nonzeros or an end follows each tile but the last, so that it has an element of y.
        unsafe { fixup.launch(kernel) }
    }

    /// Number of tiles of a matrix.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.path.count)
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.path.bytes() + self.carries.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

/// Number of carries of each matrix: nothing follows the last tile.
fn carries_of(path: &PathTiles) -> usize {
    (path.count as usize).saturating_sub(1)
}
