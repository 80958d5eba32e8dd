//! The plan for `C = αAB + βC`.

use std::fmt;

use super::combine::dense_with_numbers;
use super::info::SpmmPlanInfo;
use super::options::SpmmOptions;
use super::product::SpmmCall;
use super::schedule::SpmmSchedule;
use crate::device::{DeviceError, Event};
use crate::format::dense::check_dense;
use crate::format::{DeviceCsr, DeviceDense, Layout};
use crate::operand::{Factor, OpError};
use crate::{Compute, Multiplies, Offset, Storage, cpu};

/// Plan of `C = αAB + βC` for one sparse matrix A, analyzed once and run as often as needed, with dense B and
/// C of any number of columns.
///
/// The result is bitwise the same in every run; [`SpmmOptions::multiprocessors`] makes it so on different
/// GPUs. The matrix's values may change ([`DeviceCsr::set_values`]); its pattern cannot.
///
/// `S` is the type of A, and `T` that of B and C: the same, or with [`DeviceCsr::plan_spmm_mixed`] a wider one that values of `S`
/// [multiply](Multiplies). Products are computed and summed in [`Compute<T>`](Compute): for a B and a C of 16 bits in `f32`, and each
/// element of C is rounded once.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::{Csr, Device, DeviceDense, Layout};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?;
/// let b = device.upload(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0])?;
/// let b = DeviceDense::try_new(b, 3, 2, Layout::RowMajor)?;
/// let mut c = device.zeros_dense(2, 2, Layout::RowMajor)?;
/// let plan = a.plan_spmm(SpmmOptions::default().with_columns(2))?;
/// plan.run(1.0, &b, 0.0, &mut c)?;
/// assert_eq!(c.as_vec().download()?, [201.0, 402.0, 30.0, 60.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmmPlan<S: Multiplies<T>, O: Offset = u32, T: Storage = S> {
    matrix: DeviceCsr<S, O>,
    options: SpmmOptions,
    schedule: SpmmSchedule<T>,
    analysis: (Event, Event),
}

impl<S: Storage, O: Offset> DeviceCsr<S, O> {
    /// Analyzes the matrix for [`SpmmPlan::run`], with B and C of its type. It need not be canonical: duplicates are summed, in order.
    /// Waits for the analysis, which determines the size of the workspace.
    ///
    /// # Errors
    ///
    /// If there is too little memory for the workspace (12 bytes and `columns` sums, twice as long as an
    /// element, per piece of a long row, which mostly has 128 nonzeros or more, and B once more if it is
    /// column-major), or the device was lost.
    pub fn plan_spmm(&self, options: SpmmOptions) -> Result<SpmmPlan<S, O>, OpError> {
        SpmmPlan::analyze(self, options)
    }

    /// Analyzes the matrix like [`plan_spmm`](Self::plan_spmm), for B and C of a type that its values [multiply](Multiplies): `f32` for values
    /// of 16 bits, `f64` for those of `f32`. Products are computed and summed in that type.
    ///
    /// ```
    /// use evenpath::spmm::SpmmOptions;
    /// use evenpath::{Csr, Device, DeviceDense, Layout, bf16};
    ///
    /// // A in bf16, B and C in f32.
    /// let a: Csr<bf16> = Csr::<f32>::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?.into_values();
    /// let device = Device::best()?;
    /// let b = DeviceDense::try_new(device.upload(&[2.0_f32, 4.0])?, 2, 1, Layout::RowMajor)?;
    /// let mut c = device.zeros_dense(1, 1, Layout::RowMajor)?;
    /// let plan = device.upload(&a)?.plan_spmm_mixed(SpmmOptions::default().with_columns(1))?;
    /// plan.run(1.0, &b, 0.0, &mut c)?;
    /// assert_eq!(c.download()?, [4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmm`](Self::plan_spmm).
    pub fn plan_spmm_mixed<T: Storage>(&self, options: SpmmOptions) -> Result<SpmmPlan<S, O, T>, OpError>
    where
        S: Multiplies<T>,
    {
        SpmmPlan::analyze(self, options)
    }
}

impl<S: Multiplies<T>, O: Offset, T: Storage> SpmmPlan<S, O, T> {
    fn analyze(matrix: &DeviceCsr<S, O>, options: SpmmOptions) -> Result<Self, OpError> {
        let start = matrix.device().record()?;
        let schedule = SpmmSchedule::analyze(matrix, options)?;
        let analysis = (start, matrix.device().record()?);
        Ok(Self { matrix: matrix.clone(), options, schedule, analysis })
    }

    /// Computes C = `alpha`·A·B + `beta`·C, in the order of the device's stream; the call does not wait. B
    /// and C may have different layouts. If `beta` is zero, C is overwritten without being read. If `alpha`
    /// is zero, the product is still computed: infinity and NaN in A or B propagate to C.
    ///
    /// # Errors
    ///
    /// If B does not have one row per column of A, or C not the rows of A and the columns of B, or if a
    /// factor is not one element, or any of them is on another device; if there is too little memory for the
    /// workspace of a layout that the plan was not made for. Then nothing is written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, Compute<T>>>,
        b: &DeviceDense<T>,
        beta: impl Into<Factor<'f, Compute<T>>>,
        c: &mut DeviceDense<T>,
    ) -> Result<(), OpError> {
        let device = self.matrix.device();
        dense_with_numbers(device, (alpha, beta), c, |alpha, beta, c| self.multiply(alpha, b, beta, c))
    }

    fn multiply(
        &self,
        alpha: Compute<T>,
        b: &DeviceDense<T>,
        beta: Compute<T>,
        c: &mut DeviceDense<T>,
    ) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_dense(matrix.device(), ("B", b), (matrix.ncols(), b.ncols()))?;
        check_dense(matrix.device(), ("C", c), (matrix.nrows(), b.ncols()))?;
        if c.nrows() == 0 || c.ncols() == 0 {
            return Ok(());
        }
        let product = SpmmCall { matrix, alpha, b, beta, c };
        match &self.schedule {
            SpmmSchedule::Cpu => run_on_cpu(product),
            SpmmSchedule::Kernels(kernels) => kernels.run(product)?,
        }
        Ok(())
    }

    /// Returns the choices and costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmmPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let SpmmOptions { columns, layout, .. } = self.options;
        Ok(SpmmPlanInfo { columns, layout, analysis_ms, ..self.schedule.info() })
    }
}

fn run_on_cpu<S: Multiplies<T>, O: Offset, T: Storage>(
    SpmmCall { matrix, alpha, b, beta, c }: SpmmCall<'_, S, T, O>,
) {
    let values = matrix.values_now();
    let view = matrix.pattern().host_view(&values);
    let (b_strides, c_layout, leading_dimension) = (b.strides(), c.layout(), c.leading_dimension());
    let columns = c.ncols();
    let (b, c) = (b.as_vec().host_slice(), c.as_mut_slice().host_slice_mut());
    if let (Some(view), Some(b), Some(c)) = (view, b, c) {
        let b = cpu::Dense { values: b, strides: b_strides };
        let by_columns = c_layout == Layout::ColumnMajor;
        cpu::spmm(view, alpha, b, beta, cpu::DenseMut { values: c, columns, by_columns, leading_dimension });
    }
}

impl<S: Multiplies<T>, O: Offset, T: Storage> fmt::Debug for SpmmPlan<S, O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmmPlan({:?}, B and C of {})", self.matrix, T::NAME)
    }
}
