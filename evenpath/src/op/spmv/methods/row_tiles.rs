use evenpath_kernels::spmv::RowTiles as Kernel;
use evenpath_simt::kernel::{self, KernelInfo};

use crate::device::{DeviceError, Launch};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::op::spmv::cost::Matrix;
use crate::op::spmv::costs::ROW_TILES;
use crate::op::spmv::details::SpmvDetails;
use crate::op::spmv::features::Features;
use crate::op::spmv::gathers::Gathers;
use crate::op::spmv::lengths::Lengths;
use crate::op::spmv::method::SpmvMethod;
use crate::op::spmv::schedule::{Boxed, ScheduleShape, SpmvSchedule};
use crate::op::spmv::strategy::{Request, Strategy, boxed, or_too_long};
use crate::operand::OpError;
use crate::policy::Tile;
use crate::{Offset, Scalar};

/// The most nonzeros of a warp's rows: places in them have 32 bits.
const GROUP_LIMIT: u64 = u32::MAX as u64 - (1 << 12);

/// The method with the same number of consecutive rows for every warp.
pub(super) struct RowTilesMethod;

impl<V: Scalar, O: Offset> Strategy<V, O> for RowTilesMethod {
    fn method(&self) -> SpmvMethod {
        SpmvMethod::RowTiles
    }

    fn build(&self, matrix: &DeviceCsr<V, O>, _: Request) -> Result<Boxed<V, O>, OpError> {
        let (gathers, lengths) = (Gathers::of(matrix)?, Lengths::count(matrix)?);
        or_too_long(RowTilesSchedule::new(matrix, lengths, gathers)?, SpmvMethod::RowTiles, lengths)
    }

    fn estimate(&self, features: &Features) -> Option<f64> {
        features.are_filled().then(|| ROW_TILES.microseconds(&Matrix::new(features).row_tiles()))
    }

    fn build_chosen(
        &self,
        matrix: &DeviceCsr<V, O>,
        features: &Features,
    ) -> Result<Option<Boxed<V, O>>, OpError> {
        Ok(boxed(RowTilesSchedule::new(matrix, features.lengths, features.gathers)?))
    }
}

/// Every warp takes the same number of consecutive rows.
struct RowTilesSchedule<V: Scalar, O: Offset> {
    launch: Launch<Kernel<V, O>>,
    group: WarpRows,
}

/// How a warp takes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WarpRows {
    /// Rows of a warp.
    pub(super) rows: u32,
    /// log2 of the lanes per row.
    pub(super) lanes_log2: u32,
}

impl WarpRows {
    /// 32 rows per warp for each that a lane sums, or fewer with several lanes per row.
    pub(super) fn all(rows_per_lane: u32) -> impl Iterator<Item = Self> {
        let most = if rows_per_lane == 1 { 5 } else { 0 };
        (0..=most).map(move |lanes_log2| Self { rows: (32 * rows_per_lane) >> lanes_log2, lanes_log2 })
    }

    /// How well chunks of `chunk` products suit it, for rows of `mean` nonzeros: the share of them that is filled, less
    /// something for a number of chunks that measured worse. `None` for too many chunks.
    pub(super) fn fitness(self, mean: f64, chunk: u32) -> Option<f64> {
        // Loads begin at a multiple of 4 or 8, on average half of that before the first row.
        let products = f64::from(self.rows) * mean + 3.0;
        let chunks = (products / f64::from(chunk)).ceil();
        let best = if self.lanes_log2 == 0 { 1.0 } else { 2.0 };
        let bearable = chunks <= 3.0 || self.rows == 1;
        let fill = products / (chunks * f64::from(chunk));
        bearable.then_some(fill - 0.04 * f64::min((chunks - best).abs(), 2.0))
    }
}

/// The instance of a kernel of row tiles, and the groups, that suit rows of `mean` nonzeros best.
pub(super) fn fit<K: kernel::Kernel>(mean: f64) -> (&'static KernelInfo, WarpRows) {
    let instances = K::INSTANCES.iter().filter(|info| info.types == K::TYPES);
    let candidates = instances.flat_map(|&info| {
        let rows_per_lane = match info.variant {
            "FourRows" => 4,
            "TwoRows" => 2,
            _ => 1,
        };
        WarpRows::all(rows_per_lane).map(move |group| (info, group))
    });
    let fitness = |&(info, group): &(&KernelInfo, WarpRows)| {
        group.fitness(mean, 32 * info.items_per_thread).unwrap_or(f64::NEG_INFINITY)
    };
    match candidates.max_by(|left, right| fitness(left).total_cmp(&fitness(right))) {
        Some(best) => best,
        None => unreachable!("the kernels' tables have row tiles for every type"),
    }
}

impl WarpRows {
    /// Returns whether 32 bits hold every place in the nonzeros of a group of rows.
    pub(super) fn counts(self, nonzeros: usize, longest: u64) -> bool {
        longest.saturating_mul(u64::from(self.rows)).min(nonzeros as u64) <= GROUP_LIMIT
    }

    /// Groups of `rows` rows: one warp each.
    pub(super) fn warps(self, rows: usize) -> usize {
        rows.div_ceil(self.rows as usize)
    }
}

impl<V: Scalar, O: Offset> RowTilesSchedule<V, O> {
    /// The tiles that suit rows of these lengths; `None` if a group of rows is longer than a kernel counts.
    fn new(matrix: &DeviceCsr<V, O>, lengths: Lengths, gathers: Gathers) -> Result<Option<Self>, OpError> {
        let (info, group) = fit::<Kernel<V, O>>(lengths.mean);
        if !group.counts(matrix.nnz(), lengths.longest) {
            return Ok(None);
        }
        let launch = matrix.device().instance(info).warps(group.warps(matrix.nrows()))?;
        let launch = gathers.divide(launch);
        Ok(Some(Self { launch, group }))
    }
}

impl<V: Scalar, O: Offset> SpmvSchedule<V, O> for RowTilesSchedule<V, O> {
    fn run(&self, mut product: SpmvCall<'_, V, O>) -> Result<(), DeviceError> {
        let lanes_log2 = self.group.lanes_log2;
        // SAFETY: there are no other views, and a warp for each group of rows.
        unsafe { product.launch(&self.launch, |product| Kernel { product, lanes_log2 }) }
    }

    fn shape(&self) -> ScheduleShape {
        ScheduleShape {
            tile: Some(Tile::of(self.launch.info())),
            tiles: u64::from(self.launch.grid()),
            details: Some(SpmvDetails::RowTiles { rows_per_warp: self.group.rows }),
            workspace_bytes: 0,
        }
    }
}
