//! Sparse matrix times dense vector: the plan, and one schedule per method.

mod adaptive;
mod binned;
mod block_size;
mod build;
mod choose;
mod cost;
mod costs;
mod cpu;
mod cut_rows;
mod features;
mod flat;
mod gathers;
mod hot;
mod info;
mod lengths;
mod light;
mod merge;
mod method;
mod narrow;
mod row_tiles;
mod rows;
mod sectors;
mod sliced;
mod thresholds;
mod tune;
mod windows;

pub use info::SpmvPlanInfo;
pub use method::SpmvMethod;
pub use tune::{SpmvTiming, SpmvTuning};

use std::fmt;

use self::features::Copies;
use super::product::Product;
use crate::device::{DeviceError, DeviceSlice, Event};
use crate::format::DeviceCsr;
use crate::operand::{Factor, OpError};
use crate::policy::Tile;
use crate::sequence::vector::with_numbers;
use crate::{Offset, Value};

/// How [`DeviceCsr::plan_spmv`] plans.
///
/// With the same options, the same device and the same version of this library, results are the same to the last bit. The
/// plan's own choice depends on the device: the number of its multiprocessors, and the size of its cache. With a given
/// method, all GPUs, real and simulated, agree to the last bit; [`SpmvPlanInfo::options`] returns the options that repeat a
/// plan's choice on another GPU.
///
/// ```
/// use evenpath::spmv::{SpmvMethod, SpmvOptions};
/// use evenpath::{Csr, Device};
///
/// assert_eq!(SpmvOptions::default().method, SpmvMethod::Auto);
/// assert_eq!(SpmvOptions::default().with_method("merge-path".parse()?).method, SpmvMethod::MergePath);
///
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let (first, second) = (Device::simulated(Default::default()), Device::simulated(Default::default()));
/// let chosen = first.upload(&a)?.plan_spmv(SpmvOptions::default())?.info()?.options();
/// let plan = second.upload(&a)?.plan_spmv(chosen)?; // the bits of the first
/// assert_eq!(plan.info()?.options(), chosen);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpmvOptions {
    /// The method; by default the plan chooses.
    pub method: SpmvMethod,
    /// Lanes per row, 1, 2, 4, 8, 16 or 32, for [`Vector`](SpmvMethod::Vector) and [`Light`](SpmvMethod::Light); by default
    /// what suits the mean row length.
    pub lanes: Option<u32>,
    /// Threads per block, 128, 256, 512 or 1024, for [`CsrAdaptive`](SpmvMethod::CsrAdaptive) and
    /// [`Light`](SpmvMethod::Light) with row offsets of `u32`. A row block of CSR-Adaptive then has as many nonzeros as
    /// threads, as in the study of both methods. By default, the tile that is fastest.
    pub block_size: Option<u32>,
    /// Whether the plan may keep another form of the matrix beside it where that makes products faster: by its own choice
    /// [`NarrowColumns`](SpmvMethod::NarrowColumns), about 2 bytes per nonzero, [`HotColumns`](SpmvMethod::HotColumns), 4 bytes, or
    /// [`SlicedEll`](SpmvMethod::SlicedEll), 4 bytes and a value, and by [`tune`](SpmvPlan::tune) any method that
    /// [`copies`](SpmvMethod::copies). On the CPU it keeps the column indices
    /// that consecutive rows share once more: up to about 2 bytes per nonzero. By default it may not.
    pub may_copy: bool,
}

impl SpmvOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the number of lanes per row.
    #[must_use]
    pub fn with_lanes(self, lanes: impl Into<Option<u32>>) -> Self {
        Self { lanes: lanes.into(), ..self }
    }

    /// Sets whether the plan's own choice may keep another form of the matrix.
    #[must_use]
    pub fn with_may_copy(self, may_copy: bool) -> Self {
        Self { may_copy, ..self }
    }

    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block_size(self, threads: impl Into<Option<u32>>) -> Self {
        Self { block_size: threads.into(), ..self }
    }
}

/// y = αAx + βy for one matrix, analyzed once and run as often as needed.
///
/// The result is bitwise the same from run to run, and from plan to plan with the same options on the same device;
/// [`SpmvOptions`] describes what that takes across devices. The matrix's values may change ([`DeviceCsr::set_values`]); its
/// pattern cannot.
///
/// ```
/// use evenpath::spmv::SpmvOptions;
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let x = device.upload(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// let plan = a.plan_spmv(SpmvOptions::default())?;
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmvPlan<V: Value, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    choice: Choice<V, O>,
    options: SpmvOptions,
    analysis: (Event, Event),
}

/// What a plan runs, and why.
struct Choice<V: Value, O: Offset> {
    method: SpmvMethod,
    reason: String,
    schedule: Box<dyn Schedule<V, O>>,
}

/// A method, prepared for one matrix.
trait Schedule<V: Value, O: Offset>: Send + Sync {
    /// Launches the product. The matrix is the one that the schedule was made for.
    fn run(&self, product: Product<'_, V, O>) -> Result<(), DeviceError>;

    /// How the matrix is cut, and what that takes.
    fn shape(&self) -> Shape;

    /// Whether a run reads the matrix's column indices.
    fn reads_columns(&self) -> bool {
        true
    }
}

/// How a schedule cuts a matrix.
#[derive(Default)]
struct Shape {
    /// What one block handles, on devices that run kernels.
    tile: Option<Tile>,
    /// Pieces that the matrix is cut into.
    tiles: u64,
    /// Lanes per row, where every row has as many.
    lanes: Option<u32>,
    /// Other figures, as in [`SpmvPlanInfo`].
    figures: Vec<(&'static str, u64)>,
    /// Bytes of device memory that the schedule holds.
    workspace_bytes: u64,
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Analyzes the matrix for [`SpmvPlan::run`]. The matrix need not be canonical: duplicates are summed, in order.
    /// Matrices of 16-bit values are multiplied with vectors by [`DeviceCsr::plan_spmm`], as matrices of one column.
    ///
    /// # Errors
    ///
    /// If the device does not have the method that is asked for ([`SpmvMethod::runs_on`]), or the method does not take the
    /// lanes per row or threads per block that are asked for. If there is no memory for the workspace (some 4 bytes plus a
    /// value for each tile of about a thousand nonzeros; for `flat`, and rows that are empty, an offset and 4 bytes per row
    /// besides), the matrix is too large for one launch, or the device was lost.
    pub fn plan_spmv(&self, options: SpmvOptions) -> Result<SpmvPlan<V, O>, OpError> {
        let start = self.device().record()?;
        let choice = build::build(self, options)?;
        let analysis = (start, self.device().record()?);
        Ok(SpmvPlan { matrix: self.clone(), choice, options, analysis })
    }

    /// The plan of a matrix that is only multiplied: its own choice has narrow or hot columns where these may be faster, and arrays
    /// that the plan does not read are freed.
    pub(super) fn into_plan(self, options: SpmvOptions) -> Result<SpmvPlan<V, O>, OpError> {
        let start = self.device().record()?;
        let choice = build::build_with(&self, options, Copies::Columns)?;
        let analysis = (start, self.device().record()?);
        let matrix = if choice.schedule.reads_columns() { self } else { self.without_columns()? };
        Ok(SpmvPlan { matrix, choice, options, analysis })
    }
}

impl<V: Value, O: Offset> SpmvPlan<V, O> {
    /// y = `alpha`·A·`x` + `beta`·y, ordered on the device's stream; launches are asynchronous. With `beta` zero, y
    /// is overwritten, whatever it held. With `alpha` zero the product is still computed: infinity and NaN in A or `x`
    /// propagate to y.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, a factor is not one element, any of them is on another
    /// device, or there is no memory for what a [`Factor`] on the device takes; then nothing is written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.matrix.device(), (alpha, beta), y, |alpha, beta, y| {
            Ok(self.choice.schedule.run(Product::new(&self.matrix, (alpha, x), (beta, y))?)?)
        })
    }

    /// What the plan chose, and what it costs. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmvPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let Shape { tile, tiles, lanes, figures, workspace_bytes } = self.choice.schedule.shape();
        let Choice { method, reason, .. } = &self.choice;
        let analysis_ms = end.elapsed_since(start)?;
        Ok(SpmvPlanInfo {
            method: *method,
            reason: reason.clone(),
            tile,
            tiles,
            lanes,
            block_size: self.options.block_size,
            figures,
            workspace_bytes,
            analysis_ms,
        })
    }

    /// Bytes of device memory that the plan holds beside the matrix.
    pub(super) fn workspace_bytes(&self) -> u64 {
        self.choice.schedule.shape().workspace_bytes
    }

    /// Bytes of device memory of the plan, the matrix's with them.
    pub(super) fn bytes(&self) -> u64 {
        self.matrix.bytes() + self.workspace_bytes()
    }
}

impl<V: Value, O: Offset> fmt::Debug for SpmvPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvPlan({:?}, {})", self.matrix, self.choice.method)
    }
}
