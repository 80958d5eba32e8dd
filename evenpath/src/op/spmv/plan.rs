//! The plan for y = αAx + βy.

use std::fmt;

use evenpath_simt::{Aligned16, Global};

use super::features::Copies;
use super::info::SpmvPlanInfo;
use super::method::SpmvMethod;
#[cfg(feature = "lab")]
use super::methods;
use super::options::SpmvOptions;
use super::schedule::{Choice, ScheduleShape};
use super::{build, by_type};
use crate::device::{DeviceError, DeviceSlice, Event};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::{Compute, Multiplies, Offset, Storage, Value};

/// y = αAx + βy for one matrix, analyzed once and run as often as needed.
///
/// The result is bitwise the same from run to run, and from plan to plan with the same options on the same device;
/// [`SpmvOptions`] describes what that takes across devices. The matrix's values may change ([`DeviceCsr::set_values`]); its
/// pattern cannot.
///
/// `S` is the type of A, and `T` that of x and y: the same, or with [`DeviceCsr::plan_spmv_mixed`] a wider one that values of `S`
/// [multiply](Multiplies). Products are computed and summed in [`Compute<T>`](Compute): for vectors of 16 bits in `f32`, and each
/// element of y is rounded once.
///
/// ```
/// use evenpath::spmv::SpmvOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let x = device.upload(&[1.0, 10.0, 100.0])?;
/// let mut y = device.zeros(2)?;
/// let plan = a.plan_spmv(SpmvOptions::default())?;
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [201.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmvPlan<S: Multiplies<T>, O: Offset = u32, T: Storage = S> {
    pub(super) matrix: DeviceCsr<S, O>,
    pub(super) choice: Choice<S, O, T>,
    pub(super) may_copy: bool,
    analysis: (Event, Event),
}

impl<S: Storage, O: Offset> DeviceCsr<S, O> {
    /// Analyzes the matrix for [`SpmvPlan::run`], with x and y of its type. The matrix need not be canonical: duplicates are summed,
    /// in order. For 16-bit values there is one method, [`OneColumn`](crate::spmv::SpmvMethod::OneColumn).
    ///
    /// # Errors
    ///
    /// If the device or the type of the values does not have the method that is asked for ([`SpmvMethod::runs_on`](crate::spmv::SpmvMethod::runs_on)), or the method does not take the
    /// lanes per row or threads per block that are asked for. If there is no memory for the workspace (some 4 bytes plus a
    /// value for each tile of about a thousand nonzeros; for `flat`, and rows that are empty, an offset and 4 bytes per row
    /// besides), the matrix is too large for one launch, or the device was lost.
    pub fn plan_spmv(&self, options: SpmvOptions) -> Result<SpmvPlan<S, O>, OpError> {
        SpmvPlan::analyze(self.clone(), options, by_type::build)
    }

    /// Analyzes the matrix like [`plan_spmv`](Self::plan_spmv), for x and y of a type that its values [multiply](Multiplies): `f32`
    /// for values of 16 bits, `f64` for those of `f32`. Products are computed and summed in that type.
    ///
    /// For values of `f32` and vectors of `f64` there is one method, [`MergePath`](crate::spmv::SpmvMethod::MergePath), and on the CPU
    /// [`RowParallel`](crate::spmv::SpmvMethod::RowParallel) too. [`spmv_mixed`](Self::spmv_mixed) needs no plan.
    ///
    /// ```
    /// use evenpath::spmv::SpmvOptions;
    /// use evenpath::{Csr, Device, f16};
    ///
    /// // A in f16, x and y in f32.
    /// let a: Csr<f16> = Csr::<f32>::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?.into_values();
    /// let device = Device::best()?;
    /// let (x, mut y) = (device.upload(&[2.0_f32, 4.0])?, device.zeros(1)?);
    /// device.upload(&a)?.plan_spmv_mixed(SpmvOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](Self::plan_spmv).
    pub fn plan_spmv_mixed<T: Storage>(&self, options: SpmvOptions) -> Result<SpmvPlan<S, O, T>, OpError>
    where
        S: Multiplies<T>,
    {
        SpmvPlan::analyze(self.clone(), options, by_type::build)
    }
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// The plan by [`SpmvMethod::Vector`] with blocks of `block_size` threads.
    #[cfg(feature = "lab")]
    pub(crate) fn plan_lanes(&self, lanes: u32, block_size: u32) -> Result<SpmvPlan<V, O>, OpError> {
        let method = SpmvMethod::Vector { lanes: Some(lanes) };
        SpmvPlan::analyze(self.clone(), SpmvOptions::default().with_method(method), |matrix, _| {
            build::check_device(matrix.device(), method)?;
            Ok(Choice::new(method, "asked for".into(), methods::lanes_in_blocks(matrix, lanes, block_size)?))
        })
    }

    /// The plan by [`SpmvMethod::Light`] with a block of `block_size` threads for as many rows.
    #[cfg(feature = "lab")]
    pub(crate) fn plan_light(&self, block_size: u32) -> Result<SpmvPlan<V, O>, OpError> {
        let method = SpmvMethod::Light { lanes: None, block_size: Some(block_size) };
        SpmvPlan::analyze(self.clone(), SpmvOptions::default().with_method(method), |matrix, _| {
            build::check_device(matrix.device(), method)?;
            Ok(Choice::new(method, "asked for".into(), methods::light_by_rows(matrix, block_size)?))
        })
    }

    /// The plan of a matrix that is only multiplied: its own choice has narrow or hot columns where these may be faster, and arrays
    /// that the plan does not read are freed.
    pub(in crate::op) fn into_plan(self, options: SpmvOptions) -> Result<SpmvPlan<V, O>, OpError> {
        let mut plan = SpmvPlan::analyze(self, options, |matrix, options| {
            build::build_with(matrix, options, Copies::Columns)
        })?;
        if !plan.choice.schedule.reads_columns() {
            plan.matrix = plan.matrix.without_columns()?;
        }
        Ok(plan)
    }
}

impl<S: Multiplies<T>, O: Offset, T: Storage> SpmvPlan<S, O, T> {
    /// The plan with the choice that `build` makes.
    fn analyze(
        matrix: DeviceCsr<S, O>,
        options: SpmvOptions,
        build: impl FnOnce(&DeviceCsr<S, O>, SpmvOptions) -> Result<Choice<S, O, T>, OpError>,
    ) -> Result<Self, OpError> {
        let start = matrix.device().record()?;
        let choice = build(&matrix, options)?;
        let analysis = (start, matrix.device().record()?);
        Ok(Self { matrix, choice, may_copy: options.may_copy, analysis })
    }

    /// y = `alpha`·A·`x` + `beta`·y, ordered on the device's stream; launches are asynchronous. With `beta` zero, y
    /// is overwritten, whatever it held. With `alpha` zero the product is still computed: infinity and NaN in A or `x`
    /// propagate to y. With a [`Factor`] on the device, the product is rounded to the type of y before it is added.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, a factor is not one element, any of them is on another
    /// device, or there is no memory for what a [`Factor`] on the device takes; then nothing is written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, Compute<T>>>,
        x: &DeviceSlice<T>,
        beta: impl Into<Factor<'f, Compute<T>>>,
        y: &mut DeviceSlice<T>,
    ) -> Result<(), OpError> {
        with_numbers(self.matrix.device(), (alpha, beta), y, |alpha, beta, y| {
            Ok(self.choice.schedule.run(SpmvCall::new(&self.matrix, (alpha, x), (beta, y))?)?)
        })
    }

    /// [`run`](Self::run) with `values`, one per nonzero, in place of the matrix's own. The plan has no copy of these.
    pub(in crate::op) fn run_with_values(
        &self,
        values: Global<S, Aligned16>,
        (alpha, x): (Compute<T>, &DeviceSlice<T>),
        (beta, y): (Compute<T>, &mut DeviceSlice<T>),
    ) -> Result<(), OpError> {
        let call = SpmvCall::new(&self.matrix, (alpha, x), (beta, y))?;
        Ok(self.choice.schedule.run(call.with_values(values))?)
    }

    /// Method that runs use.
    pub(in crate::op) fn method(&self) -> SpmvMethod {
        self.choice.method
    }

    /// Returns the choices and costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmvPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let ScheduleShape { tile, tiles, details, workspace_bytes } = self.choice.schedule.shape();
        let Choice { method, reason, .. } = &self.choice;
        let analysis_ms = end.elapsed_since(start)?;
        Ok(SpmvPlanInfo {
            method: *method,
            reason: reason.clone(),
            tile,
            tiles,
            details,
            workspace_bytes,
            analysis_ms,
        })
    }

    /// Bytes of device memory that the plan holds beside the matrix.
    pub(in crate::op) fn workspace_bytes(&self) -> u64 {
        self.choice.schedule.shape().workspace_bytes
    }

    /// Bytes of device memory of the plan, the matrix's with them.
    pub(in crate::op) fn bytes(&self) -> u64 {
        self.matrix.bytes() + self.workspace_bytes()
    }
}

impl<S: Multiplies<T>, O: Offset, T: Storage> fmt::Debug for SpmvPlan<S, O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvPlan({:?}, {})", self.matrix, self.choice.method)
    }
}
