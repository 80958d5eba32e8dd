use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv::LightRows;

use super::block_size::with_block_size;
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::op::product::Product;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Schedule, Shape};
use crate::op::spmv::strategy::{Abilities, Boxed, Request, Strategy};
use crate::operand::OpError;
use crate::policy::{self, Tile};
use crate::{Offset, Value};

/// The method with rows drawn from a counter.
pub(super) struct LightMethod;

impl<V: Value, O: Offset> Strategy<V, O> for LightMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::Light
    }

    fn abilities(&self) -> Abilities {
        Abilities { takes_lanes: true, takes_block_size: true, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        // By the mean alone, as published.
        let suitable = || policy::spmv_lanes(matrix.nrows() as u64, matrix.nnz() as u64);
        let lanes = request.lanes.unwrap_or_else(suitable);
        Ok(Box::new(Light::new(matrix, lanes, request.block_size)?))
    }
}

/// Rows drawn from a counter.
struct Light<V: Value, O: Offset> {
    launch: Launch<LightRows<V, O>>,
    lanes: u32,
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
        let device = matrix.device();
        let launcher = match block_size {
            Some(threads) => with_block_size(device, SpmvMethod::Light, threads)?,
            None => device.kernel::<LightRows<V, O>>(),
        };
        let vectors = u64::from(launcher.info().block_size / lanes);
        let resident = u64::from(launcher.resident_blocks()?);
        let rows = matrix.nrows() as u64;
        let turns = (rows / (vectors * resident * DRAWS)).clamp(1, MAX_TURNS);
        // No more blocks than find a row.
        let launch = launcher.blocks(rows.div_ceil(vectors * turns).min(resident) as usize)?;
        let next_row = Mutex::new(device.uninitialized(1)?);
        Ok(Self { launch, lanes, turns: turns as u32, next_row })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Light<V, O> {
    fn run(&self, mut product: Product<'_, V, O>) -> Result<(), DeviceError> {
        let mut next_row = self.next_row.lock().unwrap_or_else(PoisonError::into_inner);
        next_row.set_zero()?;
        let (next_row, lanes, turns) = (next_row.as_global_mut(), self.lanes, self.turns);
        // SAFETY: the counter has one word. The lock on it keeps other runs of the plan from coming between the two.
        unsafe { product.launch(&self.launch, |product| LightRows { product, next_row, lanes, turns }) }
    }

    fn shape(&self) -> Shape {
        let Self { launch, lanes, turns, next_row } = self;
        Shape {
            tile: Some(Tile::of(launch.info())),
            tiles: u64::from(launch.grid()),
            lanes: Some(*lanes),
            figures: vec![("rows per draw of each vector", u64::from(*turns))],
            workspace_bytes: next_row.lock().unwrap_or_else(PoisonError::into_inner).bytes(),
        }
    }
}
