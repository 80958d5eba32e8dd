use evenpath_kernels::spmv::{self as kernels, FlatFillEmptyRows, FlatPartition, FlatTile};
use evenpath_kernels::{GlobalCsr, GlobalPattern};
use evenpath_simt::kernel::Kernel;

use super::cut_rows::{CutRows, TileCuts};
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::format::filled_rows::FilledRows;
use crate::op::product::SpmvCall;
use crate::op::spmv::cost::Matrix;
use crate::op::spmv::costs::FLAT;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::{ByWindows, Features};
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::reason::Reason;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy};
use crate::operand::OpError;
use crate::policy::{self, Tile};
use crate::{Offset, Scalar};

/// The method with equal shares of the nonzeros.
pub(super) struct FlatMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for FlatMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::Flat
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        Ok(Box::new(Flat::analyze(matrix, Gathers::of(matrix)?)?))
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        // With empty rows it would need a list of the others, and another launch.
        let items = if features.is_f32() { 1920.0 } else { 1152.0 };
        let is_filled = features.lengths.empty == 0;
        is_filled.then(|| FLAT.microseconds(&Matrix::new(features).tiles(items)))
    }

    fn rule(&self, features: &Features, _: Option<SpmvMethod>) -> Option<Reason> {
        let are_scattered = features.by_windows() == Some(ByWindows::Flat);
        are_scattered.then_some(Reason::Property("their columns are scattered".into()))
    }

    fn takes_any_rows(&self, features: &Features) -> bool {
        features.lengths.empty == 0
    }

    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        // The rows were counted: none is empty.
        Ok(Some(Box::new(Flat::of_filled_rows(matrix, features.gathers)?)))
    }
}

/// Cut of the nonzeros into equal parts, with its launches.
struct Flat<V: Scalar, O: Offset> {
    tile_launch: Launch<FlatTile<V, O>>,
    fill_launch: Launch<FlatFillEmptyRows<V, O>>,
    /// The row of each tile's first nonzero, and the number of rows; `tiles` + 1.
    tile_rows: DeviceVec<u32>,
    filled: FilledRows<O>,
    cut_rows: CutRows,
}

impl<V: Scalar, O: Offset> Flat<V, O> {
    /// Finds the rows that have nonzeros, and the row in which each tile begins.
    fn analyze(matrix: &DeviceCsr<V, O>, gathers: Gathers) -> Result<Self, OpError> {
        Self::cut(matrix, FilledRows::find(matrix.pattern())?, gathers)
    }

    /// Finds the row in which each tile begins, of a matrix whose rows all have nonzeros.
    fn of_filled_rows(matrix: &DeviceCsr<V, O>, gathers: Gathers) -> Result<Self, OpError> {
        Self::cut(matrix, FilledRows { count: matrix.nrows() as u32, compacted: None }, gathers)
    }

    fn cut(matrix: &DeviceCsr<V, O>, filled: FilledRows<O>, gathers: Gathers) -> Result<Self, OpError> {
        let device = matrix.device();
        let tile = policy::spmv_flat(V::TYPE, device.properties().compute_capability);
        let kernel_of = |tile: Tile| FlatTile::<V, O>::instance(tile.block_size, tile.items_per_thread);
        let Some((tile, tile_kernel)) = tile.and_then(|tile| Some((tile, kernel_of(tile)?))) else {
            unreachable!("the kernels' tables have an instance for every tile of the policy")
        };
        let tile_launch = gathers.divide(device.instance(tile_kernel).items(matrix.nnz())?);
        let fill_launch = device.kernel().threads(matrix.nrows())?;
        let (tile_rows, cut_rows) = cut_evenly(matrix, &filled, tile_launch.grid(), tile.items())?;
        Ok(Self { tile_launch, fill_launch, tile_rows, filled, cut_rows })
    }
}

/// The row of each tile's first nonzero among the rows that have some, with their number at the end, and the rows that are cut, of
/// `tiles` tiles of `tile_items` nonzeros.
pub(super) fn cut_evenly<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    filled: &FilledRows<O>,
    tiles: u32,
    tile_items: u32,
) -> Result<(DeviceVec<u32>, CutRows), OpError> {
    let device = matrix.device();
    let launch = device.kernel().threads(tiles as usize + 1)?;
    let mut tile_rows = device.uninitialized(tiles as usize + 1)?;
    let pattern = filled.pattern(matrix.pattern().view());
    let partition = FlatPartition { pattern, tile_rows: tile_rows.as_global_mut(), tiles, tile_items };
    // SAFETY: the views are of the offsets of the rows that have nonzeros, one more than these, and of `tile_rows`,
    // `tiles` + 1 long, and buffers are freed in the stream's order.
    unsafe { launch.launch(partition) }?;
    let cut = TileCuts { pattern, tile_rows: &tile_rows, tiles, tile_items, counts_row_ends: false };
    let cut_rows = CutRows::find::<V, O>(device, &cut)?;
    Ok((tile_rows, cut_rows))
}

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for Flat<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let rows = product.matrix.nrows();
        let mut work = self.cut_rows.sums.lock()?;
        let (tile_rows, cut_rows) = (self.tile_rows.as_global(), self.cut_rows.view(&mut work));
        let tile = |product: kernels::SpmvArguments<V, O>| {
            let GlobalPattern { row_offsets, rows, .. } = self.filled.pattern(product.matrix.pattern());
            let matrix = GlobalCsr { row_offsets, rows, ..product.matrix };
            let product = kernels::SpmvArguments { matrix, ..product };
            FlatTile { product, tile_rows, filled_rows: self.filled.map(), cut_rows }
        };
        // SAFETY: the tiles, the cut rows and the rows that have nonzeros are the matrix's.
        unsafe { product.launch(&self.tile_launch, tile) }?;
        if self.filled.count as usize == rows {
            return Ok(());
        }
        // SAFETY: there are no other views, and a thread for each row.
        unsafe {
            product.launch(&self.fill_launch, |kernels::SpmvArguments { matrix, update, .. }| {
                FlatFillEmptyRows { pattern: matrix.pattern(), update }
            })
        }
    }

    fn shape(&self) -> ScheduleShape {
        let tiles = u64::from(self.tile_launch.grid());
        ScheduleShape {
            tile: Some(Tile::of(self.tile_launch.info())),
            tiles,
            details: Some(SpmvDetails::Flat { filled_rows: self.filled.count }),
            workspace_bytes: self.tile_rows.bytes() + self.cut_rows.bytes() + self.filled.bytes(),
        }
    }
}
