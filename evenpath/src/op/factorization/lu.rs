use std::fmt;

use evenpath_kernels::factorization::FactorizeLu;

use super::analysis::{FactorAnalysis, check_matrix, diagonal_factor};
use super::info::FactorizationPlanInfo;
use super::options::FactorizationOptions;
use crate::device::{DeviceError, DeviceSlice};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Scalar, cpu};

/// Plan of incomplete LU factorizations A ≈ LU without fill, ILU(0), of matrices with one pattern.
///
/// L and U are one matrix with the pattern of A: the entries below the diagonal are those of L, whose diagonal is 1, and the others are
/// those of U. [`plan_triangular_solve`](DeviceCsr::plan_triangular_solve) takes it as it is. Results are bitwise the same in every run, and
/// on all devices (Saad, *Iterative Methods for Sparse Linear Systems*, 2003, section 10.3.2).
///
/// ```
/// use evenpath::factorization::Ilu0Plan;
/// use evenpath::triangular::{Diagonal, Triangle, TriangularOptions};
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// let a = Csr::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 3.0)])?;
/// let a = device.upload(&a)?;
/// let plan = Ilu0Plan::new(&a)?; // once per pattern
/// let lu = plan.factorize(&a)?;
/// assert_eq!(lu.download()?.to_dense()?, [4.0, 2.0, 0.5, 2.0]);
///
/// // Solve LUx = b.
/// let lower = TriangularOptions::default().with_diagonal(Diagonal::Unit);
/// let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
/// let (lower, upper) = (lu.plan_triangular_solve(lower)?, lu.plan_triangular_solve(upper)?);
/// let mut x = device.upload(&[8.0, 8.0])?;
/// lower.solve_in_place(1.0, &mut x)?;
/// upper.solve_in_place(1.0, &mut x)?;
/// assert_eq!(x.download()?, [1.0, 2.0]);
///
/// a.set_values(&[2.0, 1.0, 1.0, 1.5])?;
/// plan.factorize_into(&a, &lu)?; // the plans of `lu` follow
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ilu0Plan<V: Scalar, O: Offset = u32> {
    analysis: FactorAnalysis<V, O>,
    options: FactorizationOptions,
}

impl<V: Scalar, O: Offset> Ilu0Plan<V, O> {
    /// Analyzes the pattern of an n × n matrix, whose values are not used. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the columns of a row do not increase, or a row has no entry on the diagonal; the error names the row.
    /// If there are more than 2³⁰ rows, this thread captures a graph, there is too little memory (for the values, and some 16 bytes per
    /// row), or the device was lost.
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
        Ok(Self { analysis: FactorAnalysis::new(a.pattern(), start)?, options })
    }

    /// Factorizes a matrix, and returns L and U as one. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not the plan's or a [copy](DeviceCsr::copy) of it, a pivot is zero (the error names the row), this thread
    /// captures a graph, there is too little memory, or the device was lost.
    pub fn factorize(&self, a: &DeviceCsr<V, O>) -> Result<DeviceCsr<V, O>, OpError> {
        FactorAnalysis::check_pattern(("A", a), self.analysis.pattern())?;
        self.analysis.device().refuse_in_graph("the host waits for the row of a pivot")?;
        let mut values = self.analysis.device().uninitialized(a.nnz())?;
        self.run(&a.values_now(), &mut values)?;
        self.analysis.check_pivots()?;
        Ok(DeviceCsr::from_valid(a.pattern().clone(), values))
    }

    /// Factorizes a matrix into factors that the plan made before. Plans and graphs of the factors then use the new ones.
    ///
    /// Runs in the order of the device's stream; the call does not wait. A pivot of zero is no error here: it makes factors infinite or NaN.
    /// [`check_pivots`](Self::check_pivots) finds it.
    ///
    /// # Errors
    ///
    /// If a matrix does not have the plan's pattern, or both have the same values; then nothing is written. If the device was lost.
    pub fn factorize_into(&self, a: &DeviceCsr<V, O>, factors: &DeviceCsr<V, O>) -> Result<(), OpError> {
        FactorAnalysis::check_pattern(("A", a), self.analysis.pattern())?;
        FactorAnalysis::check_pattern(("the matrix of the factors", factors), self.analysis.pattern())?;
        let (source, target) = (a.shared_values(), factors.shared_values());
        if std::ptr::eq(source, target) {
            return Err(OpError::SameValues);
        }
        target.write_from(source, |values, factors| self.run(values, factors))
    }

    fn run(&self, values: &DeviceSlice<V>, factors: &mut DeviceSlice<V>) -> Result<(), OpError> {
        let diagonal = diagonal_factor::<V>(self.options.shift);
        if let Some((rows, mut breakdown)) = self.analysis.on_cpu() {
            if let (Some(values), Some(factors)) = (values.host_slice(), factors.host_slice_mut()) {
                factors.copy_from_slice(values);
                *breakdown = cpu::factorize_lu(&rows, diagonal, factors);
            }
            return Ok(());
        }
        let launch = values.device().kernel().warps(self.analysis.pattern().rows)?;
        self.analysis.with_rows(factors, |rows| {
            let matrix = values.as_global();
            let kernel = FactorizeLu { rows, matrix, diagonal };
            // SAFETY: the rows are those of both matrices, which have a value for each entry. Launches with this state have one grid, and
            // come one after the other; buffers are freed in the stream's order.
            unsafe { launch.launch(kernel) }
        })?;
        Ok(())
    }

    /// Checks that the last factorization met no pivot of zero. Waits for the device.
    ///
    /// # Errors
    ///
    /// If it did; the error names the first row. If this thread captures a graph, or the device was lost.
    pub fn check_pivots(&self) -> Result<(), OpError> {
        self.analysis.check_pivots()
    }

    /// Returns the costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<FactorizationPlanInfo, DeviceError> {
        self.analysis.info(0)
    }
}

impl<V: Scalar, O: Offset> fmt::Debug for Ilu0Plan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.analysis.pattern().rows;
        write!(f, "Ilu0Plan({rows} rows, on {})", self.analysis.device())
    }
}
