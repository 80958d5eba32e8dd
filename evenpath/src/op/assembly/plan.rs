use std::fmt;
use std::sync::Arc;

use super::correction::Correction;
use super::fixed::Fixed;
use super::info::AssemblyPlanInfo;
use super::options::AssemblyOptions;
use super::pattern::EntryRuns;
use super::triplets::Triplets;
use crate::device::{Device, DeviceError, DeviceSlice, Event};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::operand::check::check_vector;
use crate::{Offset, Value};

/// A CSR matrix that is assembled from triplets, as often as their values change.
///
/// The plan finds the pattern once, by a sort. The pattern is canonical: the columns of each row increase, and triplets of the same
/// row and column are one entry. [`assemble`](Self::assemble) then adds up the values of each entry in the order of the triplets, in
/// one pass over them. Results are bitwise the same in every run and on every device, and those of
/// [`Coo::to_csr`](crate::Coo::to_csr).
///
/// ```
/// use evenpath::Device;
/// use evenpath::assembly::AssemblyPlan;
///
/// // Two elements of a bar: nodes 0 and 1, and nodes 1 and 2.
/// let device = Device::best()?;
/// let element_nodes = device.upload(&[0_u32, 1, 1, 2])?;
/// let plan: AssemblyPlan = AssemblyPlan::from_elements(3, 2, &element_nodes)?;
/// let stiffness = device.upload(&[1.0, -1.0, -1.0, 1.0, 2.0, -2.0, -2.0, 2.0])?;
/// let a = plan.assemble(&stiffness)?;
/// assert_eq!(a.download()?.to_dense()?, [1.0, -1.0, 0.0, -1.0, 3.0, -2.0, 0.0, -2.0, 2.0]);
///
/// let stiffer = device.upload(&[5.0, -5.0, -5.0, 5.0, 2.0, -2.0, -2.0, 2.0])?;
/// plan.assemble_into(&stiffer, &a)?; // also for the plans of `a`
/// assert_eq!(a.download()?.get(1, 1), Some(7.0));
/// # Ok::<(), evenpath::Error>(())
/// ```
///
/// With [fixed unknowns](AssemblyOptions::with_fixed), rows and columns of a Dirichlet boundary are eliminated, so that a symmetric
/// matrix stays symmetric, and [`correct_rhs`](Self::correct_rhs) takes their values to the right-hand side.
///
/// On a GPU the sum has one thread per entry. An entry of many thousands of triplets takes long, because they are added in their order.
pub struct AssemblyPlan<O: Offset = u32> {
    pattern: Arc<DevicePattern<O>>,
    runs: EntryRuns,
    /// If an unknown is fixed.
    correction: Option<Correction>,
    triplets: usize,
    analysis: (Event, Event),
}

impl<O: Offset> AssemblyPlan<O> {
    /// Finds the pattern of a `rows` × `cols` matrix from the row and column index of each triplet, which count from 0. The plan does
    /// not keep the indices, but 4 bytes for each triplet and each entry.
    ///
    /// Sorts the triplets by the bits that their indices have, and waits for the device. That takes about 40 bytes of temporary
    /// memory per triplet.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath::assembly::AssemblyPlan;
    ///
    /// let device = Device::best()?;
    /// let (rows, columns) = (device.upload(&[1_u32, 0, 1])?, device.upload(&[2_u32, 0, 2])?);
    /// let plan: AssemblyPlan = AssemblyPlan::new(2, 3, &rows, &columns)?;
    /// let a = plan.assemble(&device.upload(&[1.0, 2.0, 4.0])?)?;
    /// assert_eq!(a.download()?.to_dense()?, [2.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many row as column indices, they are on two devices, or one is outside the matrix; the error names the first
    /// such triplet. If there are 2³² triplets and fixed unknowns or more, this thread captures a graph, there is too little memory, or
    /// the device was lost.
    pub fn new(
        rows: usize,
        cols: usize,
        triplet_rows: &DeviceSlice<u32>,
        triplet_cols: &DeviceSlice<u32>,
    ) -> Result<Self, OpError> {
        Self::new_with(rows, cols, triplet_rows, triplet_cols, AssemblyOptions::default())
    }

    /// Finds the pattern like [`new`](Self::new), with options.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new). If there are fixed unknowns and the matrix is not square, or one of them is not below the
    /// number of rows, or they are on another device.
    pub fn new_with(
        rows: usize,
        cols: usize,
        triplet_rows: &DeviceSlice<u32>,
        triplet_cols: &DeviceSlice<u32>,
        options: AssemblyOptions<'_>,
    ) -> Result<Self, OpError> {
        Self::of(Triplets::new((rows, cols), triplet_rows, triplet_cols)?, options)
    }

    /// Finds the pattern of a `nodes` × `nodes` matrix from finite elements of `degrees` nodes each: `element_nodes` has the nodes of
    /// the first element, then those of the second, and so on. A node is an unknown of the matrix; where each point of the mesh has
    /// several, list all of them.
    ///
    /// The values of an element are a dense `degrees` × `degrees` matrix, row by row, whose entry in row i and column j is added to that
    /// of the element's nodes i and j. [`assemble`](Self::assemble) takes all of them, one after the other.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), where the triplets are the entries of all element matrices. If the number of nodes is not a
    /// multiple of `degrees`.
    pub fn from_elements(
        nodes: usize,
        degrees: usize,
        element_nodes: &DeviceSlice<u32>,
    ) -> Result<Self, OpError> {
        Self::from_elements_with(nodes, degrees, element_nodes, AssemblyOptions::default())
    }

    /// Finds the pattern like [`from_elements`](Self::from_elements), with options.
    ///
    /// # Errors
    ///
    /// The same as for [`from_elements`](Self::from_elements) and, for fixed unknowns, [`new_with`](Self::new_with).
    pub fn from_elements_with(
        nodes: usize,
        degrees: usize,
        element_nodes: &DeviceSlice<u32>,
        options: AssemblyOptions<'_>,
    ) -> Result<Self, OpError> {
        Self::of(Triplets::of_elements(nodes, degrees, element_nodes)?, options)
    }

    fn of(triplets: Triplets<'_>, options: AssemblyOptions<'_>) -> Result<Self, OpError> {
        let device = triplets.device();
        device.refuse_in_graph("a plan for assembly waits for the size of its matrix")?;
        let start = device.record()?;
        let fixed = Fixed::new(device, options.fixed, triplets.shape)?;
        let (pattern, runs) = EntryRuns::find(&triplets, &fixed)?;
        let correction = Correction::find(&triplets, &fixed)?;
        let analysis = (start, device.record()?);
        Ok(Self { pattern: Arc::new(pattern), runs, correction, triplets: triplets.len, analysis })
    }

    /// Makes a matrix of the `values`, one per triplet. Matrices of a plan share its pattern. Runs in the order of the device's
    /// stream; the call does not wait.
    ///
    /// # Errors
    ///
    /// If there are not as many values as triplets, they are on another device, there is too little memory, or the device was lost.
    pub fn assemble<V: Value>(&self, values: &DeviceSlice<V>) -> Result<DeviceCsr<V, O>, OpError> {
        self.check(values)?;
        let mut sums = self.device().uninitialized(self.nnz())?;
        self.runs.sum(values, &mut sums)?;
        Ok(DeviceCsr::from_valid(Arc::clone(&self.pattern), sums))
    }

    /// Replaces the values of a `matrix` that this plan made by those of [`assemble`](Self::assemble), in place. Plans for the matrix
    /// and captured graphs then use the new values, as after [`set_values_from`](DeviceCsr::set_values_from). In a captured graph, each
    /// launch does so.
    ///
    /// # Errors
    ///
    /// If the matrix was not made by this plan, there are not as many values as triplets, they are on another device, or there is too
    /// little memory; then the values stay. If the device was lost.
    pub fn assemble_into<V: Value>(
        &self,
        values: &DeviceSlice<V>,
        matrix: &DeviceCsr<V, O>,
    ) -> Result<(), OpError> {
        self.check(values)?;
        if !Arc::ptr_eq(matrix.pattern(), &self.pattern) {
            return Err(OpError::NotOfPlan);
        }
        matrix.shared_values().write(|sums| self.runs.sum(values, sums))
    }

    /// Corrects the right-hand side b of Ax = b for fixed unknowns: b ← b − A·`unknowns` in free rows, where A has the `values` of the
    /// triplets and only fixed columns count, and b ← `unknowns` in the rows of fixed unknowns. `unknowns` and `rhs` have one element
    /// per row; the `unknowns` that are not fixed are not read. Without fixed unknowns nothing changes.
    ///
    /// The solution of the assembled matrix with this right-hand side then has the given values at the fixed unknowns, and is that of
    /// the original equations elsewhere. Terms are subtracted one by one in the order of the triplets, so results are bitwise
    /// the same on every device. Runs in the order of the device's stream; the call does not wait.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
    ///
    /// // A bar of two elements, of which both ends are fixed, at 1 and at 4.
    /// let device = Device::best()?;
    /// let (element_nodes, ends) = (device.upload(&[0_u32, 1, 1, 2])?, device.upload(&[0_u32, 2])?);
    /// let options = AssemblyOptions::default().with_fixed(&ends);
    /// let plan: AssemblyPlan = AssemblyPlan::from_elements_with(3, 2, &element_nodes, options)?;
    /// let values = device.upload(&[1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])?;
    /// let a = plan.assemble(&values)?;
    /// assert_eq!(a.download()?.to_dense()?, [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0]);
    ///
    /// let (given, mut rhs) = (device.upload(&[1.0, 0.0, 4.0])?, device.zeros(3)?);
    /// plan.correct_rhs(&values, &given, &mut rhs)?;
    /// assert_eq!(rhs.download()?, [1.0, 5.0, 4.0]); // the solution is 1, 2.5, 4
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many values as triplets, a vector does not have one element per row, or one of them is on another device;
    /// then nothing is written. If the device was lost.
    pub fn correct_rhs<V: Value>(
        &self,
        values: &DeviceSlice<V>,
        unknowns: &DeviceSlice<V>,
        rhs: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        self.check(values)?;
        check_vector(self.device(), ("unknowns", unknowns), self.pattern.rows)?;
        check_vector(self.device(), ("the right-hand side", rhs), self.pattern.rows)?;
        if let Some(correction) = &self.correction {
            correction.run(values, unknowns, rhs)?;
        }
        Ok(())
    }

    /// Number of rows and number of columns of the matrix.
    pub fn shape(&self) -> (usize, usize) {
        (self.pattern.rows, self.pattern.cols)
    }

    /// Number of entries of the matrix.
    pub fn nnz(&self) -> usize {
        self.pattern.column_indices.len()
    }

    /// The device that stores it.
    pub fn device(&self) -> &Device {
        self.pattern.row_offsets.device()
    }

    /// Returns the sizes and the costs of the plan. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<AssemblyPlanInfo, DeviceError> {
        let (start, end) = &self.analysis;
        Ok(AssemblyPlanInfo {
            triplets: self.triplets,
            nnz: self.nnz(),
            workspace_bytes: self.runs.bytes() + self.correction.as_ref().map_or(0, Correction::bytes),
            pattern_bytes: self.pattern.row_offsets.bytes() + self.pattern.column_indices.bytes(),
            analysis_ms: end.elapsed_since(start)?,
        })
    }

    fn check<V: Value>(&self, values: &DeviceSlice<V>) -> Result<(), OpError> {
        check_vector(self.device(), ("values of triplets", values), self.triplets)
    }
}

impl<O: Offset> fmt::Debug for AssemblyPlan<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((rows, cols), nnz, triplets) = (self.shape(), self.nnz(), self.triplets);
        write!(
            f,
            "AssemblyPlan({rows} x {cols}, {nnz} nonzeros of {triplets} triplets, on {})",
            self.device()
        )
    }
}
