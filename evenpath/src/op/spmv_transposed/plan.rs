//! The plan for y = αAᵀx + βy.

use std::fmt;

use super::info::SpmvTransposedPlanInfo;
use super::method::SpmvTransposedMethod;
use super::options::SpmvTransposedOptions;
use super::schedule::{HeldBytes, SpmvTransposedSchedule};
use super::{copied, cpu, ordered, unordered};
use crate::device::{DeviceError, DeviceKind, DeviceSlice, Event};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::operand::{Factor, OpError};
use crate::scalar::ForKind;
use crate::sequence::combine::with_numbers;
use crate::{Offset, Scalar, Storage, Value};

/// Plan of y = αAᵀx + βy for one matrix, analyzed once and run as often as needed.
///
/// The result is bitwise the same in every run, except with [`Unordered`](SpmvTransposedMethod::Unordered);
/// [`SpmvTransposedPlanInfo::options`] repeat it on another GPU. The matrix's values may change
/// ([`DeviceCsr::set_values`]); its pattern cannot.
///
/// ```
/// use evenpath::spmv::SpmvTransposedOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 2, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let x = device.upload(&[1.0, 10.0])?;
/// let mut y = device.zeros(3)?;
/// let plan = a.plan_spmv_transposed(SpmvTransposedOptions::default())?;
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [1.0, 0.0, 32.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmvTransposedPlan<V: Scalar, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    method: SpmvTransposedMethod,
    schedule: Box<dyn SpmvTransposedSchedule<V, O>>,
    analysis: (Event, Event),
}

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Prepares y = α·Aᵀ·x + β·y for [`SpmvTransposedPlan::run`]. A has m rows and n columns, `x` has m
    /// elements, `y` has n. The matrix need not be canonical: duplicates are summed. On a GPU, complex values have the method
    /// [`Copied`](SpmvTransposedMethod::Copied) alone; for y = α·Aᴴ·x + β·y plan SpMV with the
    /// [conjugate transpose](Self::conjugate_transpose).
    ///
    /// ```
    /// use evenpath::spmv::SpmvTransposedOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::cpu();
    /// let a = device.upload(&Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 2, 3.0)])?)?;
    /// let (x, mut y) = (device.upload(&[1.0, 10.0])?, device.upload(&[1.0, 1.0, 1.0])?);
    /// let plan = a.plan_spmv_transposed(SpmvTransposedOptions::default())?;
    /// plan.run(2.0, &x, 1.0, &mut y)?;
    /// assert_eq!(y.download()?, [3.0, 1.0, 65.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory for the plan, the matrix is too large for one launch or, unless the
    /// method is [`Unordered`](SpmvTransposedMethod::Unordered), has 2³² nonzeros or more, or the device was
    /// lost. With [`Copied`](SpmvTransposedMethod::Copied), also the errors of
    /// [`plan_spmv`](Self::plan_spmv). For complex values on a GPU, if the method is another.
    pub fn plan_spmv_transposed(
        &self,
        options: SpmvTransposedOptions,
    ) -> Result<SpmvTransposedPlan<V, O>, OpError> {
        let SpmvTransposedOptions { method, spmv } = options;
        let start = self.device().record()?;
        let schedule: Box<dyn SpmvTransposedSchedule<V, O>> = if self.device().kind() == DeviceKind::Cpu {
            Box::new(cpu::CpuSpmvTransposed::new(self))
        } else {
            match method {
                SpmvTransposedMethod::Copied => Box::new(copied::Copied::new(self, spmv)?),
                _ => V::by_kind(WithoutCopy { matrix: self, method })?,
            }
        };
        let analysis = (start, self.device().record()?);
        Ok(SpmvTransposedPlan { matrix: self.clone(), method, schedule, analysis })
    }
}

/// A matrix that is not to be transposed.
struct WithoutCopy<'a, V: Storage, O: Offset> {
    matrix: &'a DeviceCsr<V, O>,
    method: SpmvTransposedMethod,
}

impl<V: Scalar, O: Offset> ForKind<V> for WithoutCopy<'_, V, O> {
    type Output = Result<Box<dyn SpmvTransposedSchedule<V, O>>, OpError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        Ok(match self.method {
            SpmvTransposedMethod::Unordered => Box::new(unordered::Unordered::new(self.matrix)?),
            _ => Box::new(ordered::Ordered::new(self.matrix)?),
        })
    }

    fn complex(self) -> Self::Output {
        let (method, usable) = (self.method.name(), SpmvTransposedMethod::Copied.name());
        Err(OpError::TransposedMethodOfType { method, value: V::NAME, usable })
    }

    fn half(self) -> Self::Output {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}

impl<V: Scalar, O: Offset> SpmvTransposedPlan<V, O> {
    /// Computes y = `alpha`·Aᵀ·`x` + `beta`·y. A has m rows and n columns, `x` has m elements, `y` has n.
    ///
    /// Runs in the order of the device's stream; the call does not wait. If `beta` is zero, y is overwritten
    /// without being read. If `alpha` is zero, the product is still computed: infinity and NaN in A or `x`
    /// propagate to y. `alpha` may multiply the elements of x, not their sums.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per row, or `y` one per column, a factor is not one element, any of
    /// them is on another device, or there is too little memory for a run; then nothing is written. If the
    /// device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.matrix.device(), (alpha, beta), y, |alpha, beta, y| {
            self.schedule.run(SpmvCall::transposed(&self.matrix, (alpha, x), (beta, y))?)
        })
    }

    /// Returns the method and costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmvTransposedPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let HeldBytes { held, run } = self.schedule.bytes();
        let analysis_ms = end.elapsed_since(start)?;
        Ok(SpmvTransposedPlanInfo {
            method: self.method,
            workspace_bytes: held,
            run_bytes: run,
            analysis_ms,
            copy: self.schedule.copy()?,
        })
    }
}

impl<V: Scalar, O: Offset> fmt::Debug for SpmvTransposedPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvTransposedPlan({:?}, {})", self.matrix, self.method)
    }
}
