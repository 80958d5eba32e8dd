use evenpath_kernels::spmv::MergeTile;
use evenpath_simt::WidenTo;
use evenpath_simt::kernel::Kernel;

use super::cpu;
use super::cut_rows::{CutRows, TileCuts};
use crate::cpu::SpmvCut;
use crate::device::{DeviceError, DeviceKind, Launch};
use crate::format::DeviceCsr;
use crate::format::path_tiles::PathTiles;
use crate::op::product::SpmvCall;
use crate::op::spmv::cost::Matrix;
use crate::op::spmv::costs::MERGE_PATH;
use crate::op::spmv::features::Features;
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Abilities, Devices, Request, Strategy};
use crate::operand::OpError;
use crate::policy::{self, Tile};
use crate::{Offset, Scalar, Storage};

/// The method with equal shares of the merge path.
pub(super) struct MergePathMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for MergePathMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::MergePath
    }

    fn abilities(&self) -> Abilities {
        Abilities { devices: Devices::All, ..Abilities::default() }
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, request: Request) -> Result<Boxed<V, O>, OpError> {
        if matrix.device().kind() == DeviceKind::Cpu {
            return Ok(cpu::build(matrix, SpmvCut::MergePath, request.copies));
        }
        Ok(Box::new(MergeSchedule::analyze(matrix, Gathers::of(matrix)?)?))
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        Some(MERGE_PATH.microseconds(&Matrix::new(features).tiles(1152.0)))
    }

    fn takes_any_rows(&self, _: &Features) -> bool {
        true
    }

    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        Ok(Some(Box::new(MergeSchedule::analyze(matrix, features.gathers)?)))
    }
}

/// Prepares the method for vectors of a wider type than the values, on a device that runs kernels.
pub(in crate::op::spmv) fn build_wide<S: Storage + WidenTo<V>, O: Offset, V: Scalar>(
    matrix: &DeviceCsr<S, O>,
) -> Result<Boxed<S, O, V>, OpError> {
    Ok(Box::new(MergeSchedule::analyze(matrix, Gathers::of_elements(matrix, V::SIZE)?)?))
}

/// Cut of the merge path into equal parts, with its launch.
struct MergeSchedule<S: Storage, V: Scalar, O: Offset> {
    launch: Launch<MergeTile<S, V, O>>,
    tiles: PathTiles,
    cut_rows: CutRows,
}

impl<S: Storage, V: Scalar, O: Offset> MergeSchedule<S, V, O> {
    /// Cuts the merge of row ends and nonzeros into tiles.
    fn analyze(matrix: &DeviceCsr<S, O>, gathers: Gathers) -> Result<Self, OpError> {
        let device = matrix.device();
        let tile = policy::spmv_merge(V::TYPE, device.properties().compute_capability);
        let kernel_of = |tile: Tile| MergeTile::<S, V, O>::instance(tile.block_size, tile.items_per_thread);
        let Some((tile, kernel)) = tile.and_then(|tile| Some((tile, kernel_of(tile)?))) else {
            unreachable!("the kernels' tables have an instance for every tile of the policy")
        };
        let (tiles, launch) = PathTiles::find(matrix, device.instance(kernel))?;
        let launch = gathers.divide(launch);
        let cut = TileCuts {
            pattern: matrix.pattern().view(),
            tile_rows: &tiles.rows,
            tiles: tiles.count,
            tile_items: tile.items(),
            counts_row_ends: true,
        };
        let cut_rows = CutRows::find::<V, O>(device, &cut)?;
        Ok(Self { launch, tiles, cut_rows })
    }
}

impl<S: Storage, V: Scalar, O: Offset> SpmvSchedule<S, O, V> for MergeSchedule<S, V, O> {
    fn run(&self, mut product: SpmvCall<'_, S, O, V>) -> Result<(), DeviceError> {
        let mut work = self.cut_rows.sums.lock()?;
        let (tile_rows, cut_rows) = (self.tiles.rows.as_global(), self.cut_rows.view(&mut work));
        // SAFETY: the tiles and the cut rows are the matrix's.
        unsafe { product.launch(&self.launch, |product| MergeTile { product, tile_rows, cut_rows }) }
    }

    fn shape(&self) -> ScheduleShape {
        let tiles = u64::from(self.tiles.count);
        let workspace_bytes = self.tiles.bytes() + self.cut_rows.bytes();
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles,
            workspace_bytes,
            ..ScheduleShape::default()
        }
    }
}
