use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv::LightRows;

use super::block_size::with_block_size;
use super::lanes::checked_lanes;
use crate::device::{Device, DeviceError, DeviceVec, Launch, Launcher};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy};
use crate::operand::OpError;
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// The method with rows drawn from a counter.
pub(super) struct LightMethod;

impl<V: Value, O: Offset> Strategy<V, O> for LightMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::Light { lanes: None, block_size: None }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        let (lanes, block_size) = match request.method {
            SpmvMethod::Light { lanes, block_size } => (lanes, block_size),
            _ => (None, None),
        };
        let lanes = match lanes {
            Some(lanes) => checked_lanes(lanes, request.method)?,
            None => published_lanes(matrix),
        };
        Ok(Box::new(Light::new(matrix, lanes, block_size)?))
    }
}

/// Prepares the method with a block of `block_size` threads for as many rows, and draws of a row for each vector.
#[cfg(feature = "lab")]
pub(in crate::op::spmv) fn build_by_rows<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    block_size: u32,
) -> Result<Boxed<V, O>, OpError> {
    let (lanes, block_size) = (published_lanes(matrix), Some(block_size));
    let launcher = launcher(matrix.device(), lanes, block_size)?;
    Ok(Box::new(Light::with_launch(launcher.threads(matrix.nrows())?, matrix, (lanes, block_size), 1)?))
}

/// Lanes per row by the mean alone, as published.
fn published_lanes<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>) -> u32 {
    policy::spmv_lanes(matrix.nrows() as u64, matrix.nnz() as u64)
}

/// The launcher of the instance with `block_size` threads per block, or of the first.
fn launcher<V: Value, O: Offset>(
    device: &Device,
    lanes: u32,
    block_size: Option<u32>,
) -> Result<Launcher<LightRows<V, O>>, OpError> {
    match block_size {
        Some(threads) => {
            with_block_size(device, SpmvMethod::Light { lanes: Some(lanes), block_size }, threads)
        }
        None => Ok(device.kernel()),
    }
}

/// Rows drawn from a counter.
struct Light<V: Value, O: Offset> {
    launch: Launch<LightRows<V, O>>,
    lanes: u32,
    /// Threads per block that the options ask for.
    block_size: Option<u32>,
    turns: u32,
    /// One word. The lock is held from where it is set to zero to the launch that counts with it.
    next_row: Mutex<DeviceVec<u64>>,
}

/// Draws of a warp, if there are enough rows: enough to even out the differences between rows.
const DRAWS: u64 = 4;
/// The most rows of a draw for each vector.
const MAX_TURNS: u64 = 8;

impl<V: Value, O: Offset> Light<V, O> {
    /// `lanes` is a power of two up to 32. Blocks have `block_size` threads, or as many as the first instance.
    fn new(matrix: &DeviceCsr<V, O>, lanes: u32, block_size: Option<u32>) -> Result<Self, OpError> {
        let launcher = launcher(matrix.device(), lanes, block_size)?;
        let vectors = u64::from(launcher.info().block_size / lanes);
        let resident = u64::from(launcher.resident_blocks()?);
        let rows = matrix.nrows() as u64;
        let turns = (rows / (vectors * resident * DRAWS)).clamp(1, MAX_TURNS);
        // No more blocks than find a row.
        let launch = launcher.blocks(rows.div_ceil(vectors * turns).min(resident) as usize)?;
        Ok(Self::with_launch(launch, matrix, (lanes, block_size), turns as u32)?)
    }

    /// A launch whose vectors get `turns` rows from a draw.
    fn with_launch(
        launch: Launch<LightRows<V, O>>,
        matrix: &DeviceCsr<V, O>,
        (lanes, block_size): (u32, Option<u32>),
        turns: u32,
    ) -> Result<Self, DeviceError> {
        let next_row = Mutex::new(matrix.device().uninitialized(1)?);
        Ok(Self { launch, lanes, block_size, turns, next_row })
    }
}

impl<V: Value, O: Offset> SpmvSchedule<V, O> for Light<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let mut next_row = self.next_row.lock().unwrap_or_else(PoisonError::into_inner);
        next_row.set_zero()?;
        let (next_row, lanes, turns) = (next_row.as_global_mut(), self.lanes, self.turns);
        // SAFETY: the counter has one word. The lock on it keeps other runs of the plan from coming between the two.
        unsafe { product.launch(&self.launch, |product| LightRows { product, next_row, lanes, turns }) }
    }

    fn method(&self, _: SpmvMethod) -> SpmvMethod {
        SpmvMethod::Light { lanes: Some(self.lanes), block_size: self.block_size }
    }

    fn shape(&self) -> ScheduleShape {
        let Self { launch, next_row, .. } = self;
        ScheduleShape {
            tile: Some(Tile::of(launch.info())),
            tiles: u64::from(launch.grid()),
            details: Some(SpmvDetails::Light { lanes: self.lanes, rows_per_draw: self.turns }),
            workspace_bytes: next_row.lock().unwrap_or_else(PoisonError::into_inner).bytes(),
        }
    }
}
