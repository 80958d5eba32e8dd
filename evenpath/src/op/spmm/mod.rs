//! Sparse matrix times dense matrix.

mod combine;
mod info;
mod kernels;
mod long_rows;
mod shape;

pub(super) use combine::dense_with_numbers;
pub use info::SpmmPlanInfo;

use std::fmt;

use self::kernels::Kernels;
use crate::device::{DeviceError, DeviceKind, Event};
use crate::format::dense::check_dense;
use crate::format::{DeviceCsr, DeviceDense, Layout};
use crate::operand::{Factor, OpError};
use crate::{Compute, Offset, Storage, bf16, cpu, f16};

/// What a sparse matrix of values `S` can be multiplied with: `S` itself, and `f32` for the 16-bit types. Sealed.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::{Csr, Device, DeviceDense, Layout, bf16};
///
/// // A in bf16, B and C in f32.
/// let a: Csr<bf16> = Csr::<f32>::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?.into_values();
/// let device = Device::best()?;
/// let b = DeviceDense::try_new(device.upload(&[2.0_f32, 4.0])?, 2, 1, Layout::RowMajor)?;
/// let mut c = device.zeros_dense::<f32>(1, 1, Layout::RowMajor)?;
/// device.upload(&a)?.plan_spmm(SpmmOptions::default().with_columns(1))?.run(1.0, &b, 0.0, &mut c)?;
/// assert_eq!(c.as_vec().download()?, [4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SpmmOperand<S: Storage>: Storage<Computed = Compute<S>> {}

impl<V: crate::Value> SpmmOperand<V> for V {}
impl SpmmOperand<f16> for f16 {}
impl SpmmOperand<f16> for f32 {}
impl SpmmOperand<bf16> for bf16 {}
impl SpmmOperand<bf16> for f32 {}

/// How [`DeviceCsr::plan_spmm`] plans.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::Layout;
///
/// let options = SpmmOptions::default().with_columns(16).with_layout(Layout::ColumnMajor); // of B and C
/// assert_eq!((options.columns, options.layout), (16, Layout::ColumnMajor));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpmmOptions {
    /// Columns of B that the plan has a workspace for; 32 by default. Wider products are done in passes of so many columns.
    pub columns: usize,
    /// The layout of B that the plan has a workspace for. One by columns is copied to one by rows first, unless few elements of
    /// it are read; if the plan does not know beforehand, the memory is allocated in the first run.
    pub layout: Layout,
    /// Multiprocessors that the work is divided for, which decides in which order sums are added; by default those of the
    /// device ([`SpmmPlanInfo::multiprocessors`]). With the same number given, GPUs, real and simulated, agree to the last bit.
    pub multiprocessors: Option<u32>,
}

impl SpmmOptions {
    /// The same for products of so many columns.
    #[must_use]
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }

    /// The same for work that is divided for so many multiprocessors.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: impl Into<Option<u32>>) -> Self {
        Self { multiprocessors: multiprocessors.into(), ..self }
    }

    /// The same with another layout of B.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }
}

impl Default for SpmmOptions {
    fn default() -> Self {
        Self { columns: 32, layout: Layout::RowMajor, multiprocessors: None }
    }
}

/// `C = αAB + βC` for one sparse matrix A, analyzed once and run as often as needed, with dense B and C of any number of
/// columns.
///
/// The result is bitwise the same from run to run; [`SpmmOptions::multiprocessors`] says what that takes on different GPUs. The
/// matrix's values may change ([`DeviceCsr::set_values`]); its pattern cannot. Values of 16 bits are multiplied and summed in `f32`; each element of C is rounded once at the end.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::{Csr, Device, DeviceDense, Layout};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
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
pub struct SpmmPlan<S: Storage, T: SpmmOperand<S>, O: Offset = u32> {
    matrix: DeviceCsr<S, O>,
    options: SpmmOptions,
    schedule: Schedule<T>,
    analysis: (Event, Event),
}

/// How a device does it.
enum Schedule<T: Storage> {
    Cpu,
    Kernels(Box<Kernels<T>>),
}

/// The work of a run: `C = αAB + βC`, of operands that fit together and are on one device.
struct Product<'a, S: Storage, T: Storage, O: Offset> {
    matrix: &'a DeviceCsr<S, O>,
    alpha: Compute<S>,
    b: &'a DeviceDense<T>,
    beta: Compute<S>,
    c: &'a mut DeviceDense<T>,
}

impl<S: Storage, O: Offset> DeviceCsr<S, O> {
    /// Analyzes the matrix for [`SpmmPlan::run`]. It need not be canonical: duplicates are summed, in order. Waits for
    /// the analysis, which says how much workspace the matrix needs.
    ///
    /// # Errors
    ///
    /// If there is no memory for the workspace (12 bytes and `columns` sums, twice as long as an element, a piece of a long row,
    /// which mostly has 128 nonzeros or more, and B once more if it is stored by columns), or the device was lost.
    pub fn plan_spmm<T: SpmmOperand<S>>(&self, options: SpmmOptions) -> Result<SpmmPlan<S, T, O>, OpError> {
        let start = self.device().record()?;
        let schedule = match self.device().kind() {
            DeviceKind::Cpu => Schedule::Cpu,
            DeviceKind::Cuda(_) | DeviceKind::Simulated => {
                Schedule::Kernels(Box::new(Kernels::analyze(self, options)?))
            }
        };
        let analysis = (start, self.device().record()?);
        Ok(SpmmPlan { matrix: self.clone(), options, schedule, analysis })
    }
}

impl<S: Storage, T: SpmmOperand<S>, O: Offset> SpmmPlan<S, T, O> {
    /// C = `alpha`·A·B + `beta`·C, ordered on the device's stream; the call does not wait for it. B and C are in any
    /// layout, each in its own. With `beta` zero, C is overwritten, whatever it held. With `alpha` zero the product is
    /// computed all the same: infinity and NaN in A or B propagate to C.
    ///
    /// # Errors
    ///
    /// If B does not have a row for each column of A, or C not the rows of A and the columns of B, or if a factor is not
    /// one element, or any of them is on another device; if there is no memory for the workspace that a layout needs
    /// which the plan was not made for. Then nothing is written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, Compute<S>>>,
        b: &DeviceDense<T>,
        beta: impl Into<Factor<'f, Compute<S>>>,
        c: &mut DeviceDense<T>,
    ) -> Result<(), OpError> {
        let device = self.matrix.device();
        dense_with_numbers(device, (alpha, beta), c, |alpha, beta, c| self.multiply(alpha, b, beta, c))
    }

    fn multiply(
        &self,
        alpha: Compute<S>,
        b: &DeviceDense<T>,
        beta: Compute<S>,
        c: &mut DeviceDense<T>,
    ) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_dense(matrix.device(), ("B", b), (matrix.cols(), b.cols()))?;
        check_dense(matrix.device(), ("C", c), (matrix.rows(), b.cols()))?;
        if c.rows() == 0 || c.cols() == 0 {
            return Ok(());
        }
        let product = Product { matrix, alpha, b, beta, c };
        match &self.schedule {
            Schedule::Cpu => run_on_cpu(product),
            Schedule::Kernels(kernels) => kernels.run(product)?,
        }
        Ok(())
    }

    /// What the plan chose, and what it costs. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<SpmmPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let SpmmOptions { columns, layout, .. } = self.options;
        let info = match &self.schedule {
            Schedule::Cpu => SpmmPlanInfo::default(),
            Schedule::Kernels(kernels) => kernels.info(),
        };
        Ok(SpmmPlanInfo { columns, layout, analysis_ms, ..info })
    }
}

fn run_on_cpu<S: Storage, T: SpmmOperand<S>, O: Offset>(
    Product { matrix, alpha, b, beta, c }: Product<'_, S, T, O>,
) {
    let values = matrix.values();
    let view = matrix.pattern().host_view(&values);
    let (b_strides, c_layout, leading_dimension) = (b.strides(), c.layout(), c.leading_dimension());
    let columns = c.cols();
    let (b, c) = (b.as_vec().host_slice(), c.as_mut_slice().host_slice_mut());
    if let (Some(view), Some(b), Some(c)) = (view, b, c) {
        let b = cpu::Dense { values: b, strides: b_strides };
        let by_columns = c_layout == Layout::ColumnMajor;
        cpu::spmm(view, alpha, b, beta, cpu::DenseMut { values: c, columns, by_columns, leading_dimension });
    }
}

impl<S: Storage, T: SpmmOperand<S>, O: Offset> fmt::Debug for SpmmPlan<S, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmmPlan({:?}, B and C of {})", self.matrix, T::NAME)
    }
}
