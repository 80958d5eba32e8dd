use std::fmt;
use std::sync::Arc;

use super::entries::MAX_ROWS;
use super::info::TriangularPlanInfo;
use super::kernels::{Kernels, RightHandSide};
use super::lanes::lanes;
use super::options::TriangularOptions;
use crate::cpu::{self, Triangle};
use crate::device::{DeviceError, DeviceSlice, Event};
use crate::format::canonical::check_canonical;
use crate::format::dense::check_dense;
use crate::format::transposed_copy::TransposedCopy;
use crate::format::{DeviceCsr, DeviceDense};
use crate::operand::check::{check_countable, check_shape, check_vector};
use crate::operand::{Factor, OpError};
use crate::{Offset, Scalar};

/// Plan of solutions of op(T)·x = αb for a triangle T of one matrix, where op(T) is T, Tᵀ or Tᴴ: analyzed once, and solved as often as
/// needed.
///
/// The matrix's values may change ([`DeviceCsr::set_values`]): the next solve uses them, without a new analysis. Results are bitwise
/// the same in every run, with every method, and on all devices. Terms of a row are summed in as many partial sums as
/// [`TriangularPlanInfo::lanes`], which the numbers of rows and entries determine, each in the order of the columns towards the
/// diagonal. Rows of more than 64 entries a lane, or 512, are summed in pieces of half as many.
///
/// ```
/// use evenpath::triangular::{Triangle, TriangularOptions};
/// use evenpath::{Csr, Device};
///
/// // [2 . .]
/// // [1 4 .]    entries above the diagonal are ignored
/// // [. 2 4]
/// let a = Csr::from_triplets(3, 3, [(0, 0, 2.0), (0, 2, 9.0), (1, 0, 1.0), (1, 1, 4.0), (2, 1, 2.0), (2, 2, 4.0)])?;
/// let device = Device::best()?;
/// let a = device.upload(&a)?;
/// let lower = a.plan_triangular_solve(TriangularOptions::default())?;
/// let b = device.upload(&[2.0, 9.0, 12.0])?;
/// let mut x = device.zeros(3)?;
/// lower.solve(1.0, &b, &mut x)?;
/// assert_eq!(x.download()?, [1.0, 2.0, 2.0]);
///
/// let transposed = a.plan_triangular_solve(TriangularOptions::default().with_transposed(true))?;
/// transposed.solve_in_place(1.0, &mut x)?; // Tᵀ times the new x is the old one
/// assert_eq!(x.download()?, [0.375, 0.25, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TriangularPlan<V: Scalar, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    /// For systems with the transpose.
    transpose: Option<Arc<TransposedCopy<V, O>>>,
    options: TriangularOptions,
    schedule: Schedule<V, O>,
    analysis: (Event, Event),
}

/// The division of work.
enum Schedule<V: Scalar, O: Offset> {
    Cpu(Triangle<O>),
    Kernels(Box<Kernels<V, O>>),
}

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
    /// Analyzes a triangle T of this n × n matrix, for solutions of T·x = αb, Tᵀ·x = αb or Tᴴ·x = αb by [`TriangularPlan::solve`]. Entries outside the
    /// triangle are ignored.
    ///
    /// On a GPU the analysis finds the level of each row, sorts rows by level, and waits for the device. The plan holds three numbers
    /// for each row and, with [`Tickets`](super::TriangularMethod::Tickets), two elements; for the transpose also a copy of the
    /// matrix, and 4 bytes for each of its nonzeros.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the columns of a row do not increase, or a row has no entry on the diagonal, unless it is
    /// [`Unit`](super::Diagonal::Unit); the error names the row. If there are more than 2³⁰ rows or, for the transpose, 2³² nonzeros
    /// or more, this thread captures a graph, there is too little memory, or the device was lost.
    pub fn plan_triangular_solve(&self, options: TriangularOptions) -> Result<TriangularPlan<V, O>, OpError> {
        self.device().check_threads()?;
        let start = self.device().record()?;
        let rows = self.nrows();
        check_shape("A", self.shape(), (rows, rows))?;
        if rows > MAX_ROWS {
            return Err(OpError::TooLong { what: "a triangular system", len: rows, limit: MAX_ROWS });
        }
        check_canonical("A", self.pattern())?;
        let transpose = match (options.transposed, options.conjugated) {
            (false, _) => None,
            (true, false) => Some(TransposedCopy::new(self)?),
            (true, true) => Some(TransposedCopy::conjugated(self)?),
        };
        let matrix = transpose.as_ref().map_or(self, |copy| copy.matrix());
        let triangle = (options.is_upper(), options.is_unit());
        let schedule = match matrix.pattern().host_arrays() {
            Some(arrays) => {
                let missing = |row| OpError::MissingDiagonal { operand: "A", row };
                Schedule::Cpu(Triangle::find(arrays, triangle, lanes).map_err(missing)?)
            }
            None => Schedule::Kernels(Box::new(Kernels::new(matrix, triangle, options.method)?)),
        };
        let analysis = (start, self.device().record()?);
        Ok(TriangularPlan { matrix: self.clone(), transpose, options, schedule, analysis })
    }
}

impl<V: Scalar, O: Offset> TriangularPlan<V, O> {
    /// Solves op(T)·x = `alpha`·b: b and x have n elements, for an n × n matrix.
    ///
    /// Runs in the order of the device's stream; the call does not wait. Zeros on the diagonal are no error: they make elements
    /// infinite or NaN. [`check_pivots`](Self::check_pivots) finds them.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length or is on another device, or the factor is not one element; then nothing is written. If the
    /// device was lost.
    pub fn solve<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        b: &DeviceSlice<V>,
        x: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let needed = self.matrix.nrows();
        check_vector(self.matrix.device(), ("b", b), needed)?;
        check_vector(self.matrix.device(), ("x", x), needed)?;
        self.solve_checked(alpha.into(), Some(b), x)
    }

    /// Solves op(T)·x = `alpha`·b in place: x has n elements, those of b before and of the solution after. Otherwise like
    /// [`solve`](Self::solve).
    ///
    /// # Errors
    ///
    /// The same as for [`solve`](Self::solve).
    pub fn solve_in_place<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        check_vector(self.matrix.device(), ("x", x), self.matrix.nrows())?;
        self.solve_checked(alpha.into(), None, x)
    }

    fn solve_checked(
        &self,
        alpha: Factor<'_, V>,
        b: RightHandSide<'_, V>,
        x: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let alpha = alpha.check(self.matrix.device(), "alpha")?;
        let matrix = self.current()?;
        let triangle = match &self.schedule {
            Schedule::Kernels(kernels) => return kernels.solve(matrix, alpha, b, x),
            Schedule::Cpu(triangle) => triangle,
        };
        let values = matrix.values_now();
        let view = matrix.pattern().host_view(&values);
        if let (Some(view), Some(alpha), Some(x)) = (view, alpha.known(), x.host_slice_mut()) {
            if let Some(b) = b.and_then(DeviceSlice::host_slice) {
                x.copy_from_slice(b);
            }
            cpu::solve_triangle(triangle, (view.column_indices(), view.values()), alpha, x);
        }
        Ok(())
    }

    /// Solves op(T)·X = `alpha`·B for several right-hand sides: B and X are n × k, and may have different layouts. Each column of X has the bits that
    /// [`solve`](Self::solve) gives.
    ///
    /// Runs in the order of the device's stream; the call does not wait. On a GPU it is one launch, which reads the matrix once for four
    /// right-hand sides (two complex ones), and takes temporary memory for two elements for each row and right-hand side.
    ///
    /// # Errors
    ///
    /// If B or X does not have n rows, X does not have as many columns as B, one of them is on another device, or the factor is not one element; if
    /// there is too little memory, or too many rows and right-hand sides for one launch. Then nothing is written. If the device was lost.
    pub fn solve_many<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        b: &DeviceDense<V>,
        x: &mut DeviceDense<V>,
    ) -> Result<(), OpError> {
        let device = self.matrix.device();
        let needed = (self.matrix.nrows(), b.ncols());
        check_dense(device, ("B", b), needed)?;
        check_dense(device, ("X", x), needed)?;
        check_countable("a list of right-hand sides", b.ncols())?;
        let alpha = alpha.into().check(device, "alpha")?;
        if needed.0 == 0 || needed.1 == 0 {
            return Ok(());
        }
        let matrix = self.current()?;
        let triangle = match &self.schedule {
            Schedule::Kernels(kernels) => return kernels.solve_many(matrix, alpha, b, x),
            Schedule::Cpu(triangle) => triangle,
        };
        let values = matrix.values_now();
        let (Some(view), Some(alpha)) = (matrix.pattern().host_view(&values), alpha.known()) else {
            return Ok(());
        };
        let ((b_row, b_column), (x_row, x_column)) = (b.strides(), x.strides());
        if let (Some(b), Some(x)) = (b.as_vec().host_slice(), x.as_mut_slice().host_slice_mut()) {
            for column in 0..needed.1 {
                let mut own: Vec<V> = (0..needed.0).map(|row| b[row * b_row + column * b_column]).collect();
                cpu::solve_triangle(triangle, (view.column_indices(), view.values()), alpha, &mut own);
                for (row, element) in own.into_iter().enumerate() {
                    x[row * x_row + column * x_column] = element;
                }
            }
        }
        Ok(())
    }

    /// Checks that no entry of the current values on the diagonal is zero; a unit diagonal is none. Waits for the device.
    ///
    /// ```
    /// use evenpath::error::OpError;
    /// use evenpath::triangular::TriangularOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Device::best()?.upload(&Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 1, 0.0)])?)?;
    /// let plan = a.plan_triangular_solve(TriangularOptions::default())?;
    /// assert!(matches!(plan.check_pivots(), Err(OpError::ZeroPivot { row: 1, .. })));
    /// a.set_values(&[1.0, 2.0])?;
    /// plan.check_pivots()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If one is zero; the error names the first row. If this thread captures a graph, there is too little memory, or the device was
    /// lost.
    pub fn check_pivots(&self) -> Result<(), OpError> {
        self.matrix.device().refuse_in_graph("the host waits for the row of a pivot")?;
        if self.options.is_unit() {
            return Ok(());
        }
        let matrix = self.current()?;
        let row = match &self.schedule {
            Schedule::Kernels(kernels) => kernels.zero_pivot(matrix)?,
            Schedule::Cpu(triangle) => {
                matrix.values_now().host_slice().and_then(|values| triangle.zero_pivot(values))
            }
        };
        row.map_or(Ok(()), |row| Err(OpError::ZeroPivot { operand: "A", row }))
    }

    /// Returns the choices and costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<TriangularPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        let analysis_ms = end.elapsed_since(start)?;
        let copied = self.transpose.as_ref().map_or(0, |copy| copy.bytes());
        Ok(match &self.schedule {
            Schedule::Cpu(triangle) => TriangularPlanInfo {
                method: self.options.method,
                levels: triangle.levels,
                launches: 0,
                lanes: triangle.lanes as u32,
                pieces: 0,
                workspace_bytes: copied + triangle.bytes() as u64,
                analysis_ms,
            },
            Schedule::Kernels(kernels) => TriangularPlanInfo {
                method: kernels.method(),
                levels: kernels.analysis().levels,
                launches: kernels.launches(),
                lanes: kernels.analysis().lanes,
                pieces: kernels.analysis().pieces,
                workspace_bytes: copied + kernels.bytes(),
                analysis_ms,
            },
        })
    }

    /// The matrix that is analyzed, with the current values.
    fn current(&self) -> Result<&DeviceCsr<V, O>, OpError> {
        match &self.transpose {
            Some(copy) => copy.current(&self.matrix),
            None => Ok(&self.matrix),
        }
    }
}

impl<V: Scalar, O: Offset> fmt::Debug for TriangularPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TriangularOptions { triangle, diagonal, transposed, conjugated, .. } = self.options;
        let transposed = match (transposed, conjugated) {
            (false, _) => "",
            (true, false) => ", transposed",
            (true, true) => ", conjugate transposed",
        };
        write!(f, "TriangularPlan({triangle} triangle of {:?}, {diagonal} diagonal{transposed})", self.matrix)
    }
}
