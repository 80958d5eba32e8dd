use std::fmt;
use std::sync::Arc;

use evenpath_kernels::factorization::FactorizeCholesky;

use super::analysis::{FactorAnalysis, check_matrix, diagonal_factor};
use super::info::FactorizationPlanInfo;
use super::options::FactorizationOptions;
use crate::device::{DeviceError, DeviceSlice};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Offset, Scalar, cpu};

/// Plan of incomplete Cholesky factorizations A ≈ L·Lᵀ without fill, IC(0), of symmetric matrices with one pattern; of Hermitian ones
/// A ≈ L·Lᴴ.
///
/// L has the pattern of the lower triangle of A; entries above the diagonal are ignored, and imaginary parts on it. Results are bitwise the same in every run, and on
/// all devices (Meijerink, van der Vorst, *An Iterative Solution Method for Linear Systems of Which the Coefficient Matrix Is a Symmetric
/// M-Matrix*, 1977).
///
/// ```
/// use evenpath::factorization::Ic0Plan;
/// use evenpath::triangular::TriangularOptions;
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// let a = Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 5.0)])?;
/// let a = device.upload(&a)?;
/// let plan = Ic0Plan::new(&a)?; // once per pattern
/// let l = plan.factorize(&a)?;
/// assert_eq!(l.download()?.to_dense()?, [2.0, 0.0, 1.0, 2.0]);
///
/// // Solve L·Lᵀx = b.
/// let lower = l.plan_triangular_solve(TriangularOptions::default())?;
/// let transposed = l.plan_triangular_solve(TriangularOptions::default().with_transposed(true))?;
/// let mut x = device.upload(&[8.0, 12.0])?;
/// lower.solve_in_place(1.0, &mut x)?;
/// transposed.solve_in_place(1.0, &mut x)?;
/// assert_eq!(x.download()?, [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ic0Plan<V: Scalar, O: Offset = u32> {
    /// The pattern of A.
    pattern: Arc<DevicePattern<O>>,
    /// The rows of L.
    analysis: FactorAnalysis<V, O>,
    options: FactorizationOptions,
}

impl<V: Scalar, O: Offset> Ic0Plan<V, O> {
    /// Analyzes the lower triangle of the pattern of an n × n matrix, whose values are not used. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the columns of a row do not increase, or a row has no entry on the diagonal; the error names the row.
    /// If there are more than 2³⁰ rows, this thread captures a graph, there is too little memory (for the triangle, with values, and some
    /// 20 bytes per row), or the device was lost.
    pub fn new(a: &DeviceCsr<V, O>) -> Result<Self, OpError> {
        Self::new_with(a, FactorizationOptions::default())
    }

    /// [`new`](Self::new) with options.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if the shift is negative or not a number.
    pub fn new_with(a: &DeviceCsr<V, O>, options: FactorizationOptions) -> Result<Self, OpError> {
        options.check()?;
        let start = a.device().record()?;
        check_matrix(a)?;
        let (pattern, _) = a.tril(0)?.into_shared();
        let analysis = FactorAnalysis::new(&pattern, start)?;
        Ok(Self { pattern: Arc::clone(a.pattern()), analysis, options })
    }

    /// Factorizes a matrix, and returns L. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not the plan's or a [copy](DeviceCsr::copy) of it, a pivot is not positive (the error names the row), this
    /// thread captures a graph, there is too little memory, or the device was lost.
    pub fn factorize(&self, a: &DeviceCsr<V, O>) -> Result<DeviceCsr<V, O>, OpError> {
        FactorAnalysis::check_pattern(("A", a), &self.pattern)?;
        let pattern = self.analysis.pattern();
        self.analysis.device().refuse_in_graph("the host waits for the row of a pivot")?;
        let mut values = self.analysis.device().uninitialized(pattern.column_indices.len())?;
        self.run(a, &mut values)?;
        self.analysis.check_pivots()?;
        Ok(DeviceCsr::from_valid(Arc::clone(pattern), values))
    }

    /// Factorizes a matrix into a factor that the plan made before. Plans and graphs of the factor then use the new one.
    ///
    /// Runs in the order of the device's stream; the call does not wait. A pivot that is not positive is no error here: it makes entries of L
    /// infinite or NaN. [`check_pivots`](Self::check_pivots) finds it.
    ///
    /// # Errors
    ///
    /// If the matrix does not have the plan's pattern, or the factor is not of this plan; then nothing is written. If the device was lost.
    pub fn factorize_into(&self, a: &DeviceCsr<V, O>, factor: &DeviceCsr<V, O>) -> Result<(), OpError> {
        FactorAnalysis::check_pattern(("A", a), &self.pattern)?;
        FactorAnalysis::check_pattern(("the factor", factor), self.analysis.pattern())?;
        factor.shared_values().write(|values| self.run(a, values))
    }

    fn run(&self, a: &DeviceCsr<V, O>, factor: &mut DeviceSlice<V>) -> Result<(), OpError> {
        let diagonal = diagonal_factor::<V>(self.options.shift);
        let values = a.values_now();
        if let Some((rows, mut breakdown)) = self.analysis.on_cpu() {
            if let (Some(view), Some(factor)) = (self.pattern.host_view(&values), factor.host_slice_mut()) {
                rows.copy_lower(view, factor);
                *breakdown = cpu::factorize_cholesky(&rows, diagonal, factor);
            }
            return Ok(());
        }
        let launch = a.device().kernel().warps(a.nrows())?;
        self.analysis.with_rows(factor, |rows| {
            let kernel = FactorizeCholesky {
                rows,
                matrix: values.as_global(),
                // The lower triangle of a row begins with the row.
                begins: self.pattern.row_offsets.as_global(),
                diagonal,
            };
            // SAFETY: the rows are those of the triangle of the matrix, which have a value for each entry. Launches with this state have
            // one grid, and come one after the other; buffers are freed in the stream's order.
            unsafe { launch.launch(kernel) }
        })?;
        Ok(())
    }

    /// Checks that the last factorization met only positive pivots. Waits for the device.
    ///
    /// # Errors
    ///
    /// If it did not; the error names the first row. If this thread captures a graph, or the device was lost.
    pub fn check_pivots(&self) -> Result<(), OpError> {
        self.analysis.check_pivots()
    }

    /// Returns the costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<FactorizationPlanInfo, DeviceError> {
        let DevicePattern { row_offsets, column_indices, .. } = &**self.analysis.pattern();
        self.analysis.info(row_offsets.bytes() + column_indices.bytes())
    }
}

impl<V: Scalar, O: Offset> fmt::Debug for Ic0Plan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ic0Plan({} rows, on {})", self.pattern.rows, self.analysis.device())
    }
}
