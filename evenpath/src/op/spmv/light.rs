use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv::LightRows;
use evenpath_simt::kernel::KernelInfo;

use super::{Product, Schedule, Shape};
use crate::device::{DeviceError, DeviceVec};
use crate::op::{DeviceCsr, OpError, instance};
use crate::policy::Tile;
use crate::{Offset, Value};

/// Rows handed out from a counter.
pub(super) struct Light {
    kernel: &'static KernelInfo,
    lanes: u32,
    turns: u32,
    grid: u32,
    /// One word. Locked from where it is set to zero to the launch that counts with it, which belong together.
    next_row: Mutex<DeviceVec<u64>>,
}

/// Draws of a warp, where there are rows for so many: enough to even out what rows differ by.
const DRAWS: u64 = 4;
/// Rows of a draw for each vector, at most.
const MAX_TURNS: u64 = 8;

impl Light {
    /// `lanes` is a power of two up to 32.
    pub(super) fn new<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, lanes: u32) -> Result<Self, OpError> {
        let kernel = instance::<LightRows<V, O>>();
        let device = matrix.device();
        let vectors = u64::from(kernel.block_size / lanes);
        let resident = u64::from(device.resident_blocks(kernel, 0)?);
        let rows = matrix.rows() as u64;
        let turns = (rows / (vectors * resident * DRAWS)).clamp(1, MAX_TURNS);
        // No more blocks than find a row.
        let grid = rows.div_ceil(vectors * turns).min(resident) as u32;
        let next_row = Mutex::new(device.uninitialized(1)?);
        Ok(Self { kernel, lanes, turns: turns as u32, grid, next_row })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Light {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), DeviceError> {
        let (pattern, values) = (matrix.pattern(), matrix.values());
        let mut next_row = self.next_row.lock().unwrap_or_else(PoisonError::into_inner);
        next_row.set_zero()?;
        let kernel = LightRows {
            row_offsets: pattern.row_offsets.as_global(),
            column_indices: pattern.column_indices.as_global(),
            values: values.as_global(),
            x: x.as_global(),
            y: y.as_global_mut(),
            next_row: next_row.as_global_mut(),
            rows: pattern.rows as u32,
            lanes: self.lanes,
            turns: self.turns,
            alpha,
            beta,
        };
        // SAFETY: what a `Product` promises. The lock on the counter keeps other runs of the plan from coming between setting
        // it to zero and the launch.
        unsafe { matrix.device().launch(kernel, self.kernel, self.grid, 0) }
    }

    fn shape(&self) -> Shape {
        let Self { kernel, lanes, turns, grid, next_row } = self;
        Shape {
            tile: Some(Tile::of(kernel)),
            tiles: u64::from(*grid),
            lanes: Some(*lanes),
            figures: vec![("rows a draw of each vector", u64::from(*turns))],
            workspace_bytes: next_row.lock().unwrap_or_else(PoisonError::into_inner).bytes(),
        }
    }
}
