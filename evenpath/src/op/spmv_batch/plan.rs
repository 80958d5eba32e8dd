use std::fmt;

use super::info::SpmvBatchPlanInfo;
use super::one_by_one;
use super::options::{SpmvBatchMethod, SpmvBatchOptions};
use super::tiles::Tiles;
use crate::cpu::{SpmvBatch, SpmvBatchOperands};
use crate::device::DeviceSlice;
use crate::format::DeviceCsr;
use crate::op::spmv::{SpmvOptions, SpmvPlan};
use crate::operand::check::{check_countable, check_vector};
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::{Offset, Value};

/// Plan of yₖ = αAₖxₖ + βyₖ for a batch of matrices Aₖ that have one pattern and values of their own.
///
/// One run computes all products, by one of the [methods](SpmvBatchMethod): small matrices together, large ones one by one. Results are
/// bitwise the same in every run.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// // The pattern of [1 . 2]
/// //                [. 3 .]
/// let pattern = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let plan = device.upload(&pattern)?.plan_spmv_batch(2, Default::default())?;
/// let values = device.upload(&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0])?; // of A₀, then of A₁
/// let x = device.upload(&[1.0, 1.0, 1.0, 1.0, 2.0, 3.0])?;
/// let mut y = device.zeros(4)?;
/// plan.run(1.0, &values, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [3.0, 3.0, 70.0, 60.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SpmvBatchPlan<V: Value, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    batch: usize,
    schedule: Schedule<V, O>,
}

/// How the products are done.
enum Schedule<V: Value, O: Offset> {
    Cpu(SpmvBatch),
    Together(Box<Tiles<V, O>>),
    OneByOne(SpmvPlan<V, O>),
}

/// Minimum nonzeros of a pattern whose matrices are multiplied one by one: the launches take a small part of the time.
const LARGE: usize = 1 << 22;

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Prepares products of `batch` matrices with the pattern of this one for [`SpmvBatchPlan::run`]. Its values are not used. Rows need not
    /// be canonical: duplicates are summed. Does not wait for the device.
    ///
    /// # Errors
    ///
    /// If there are 2³² matrices or more, they are too large for one launch, this thread captures a graph and the device is not the CPU, there is
    /// too little memory (for each 640 rows and nonzeros, of `f32` 896, 4 bytes and a value for each matrix), or the device was lost.
    pub fn plan_spmv_batch(
        &self,
        batch: usize,
        options: SpmvBatchOptions,
    ) -> Result<SpmvBatchPlan<V, O>, OpError> {
        check_countable("a batch", batch)?;
        let device = self.device();
        device.check_threads()?;
        let pattern = self.pattern();
        if let Some((row_offsets, column_indices)) = pattern.host_arrays() {
            let schedule = Schedule::Cpu(SpmvBatch::new(row_offsets, column_indices));
            return Ok(SpmvBatchPlan { matrix: self.clone(), batch, schedule });
        }
        device.refuse_in_graph("a plan of a batch divides the matrix once, before its runs")?;
        // One by one, values that are not aligned would be copied.
        let is_aligned = (self.nnz() * size_of::<V>()).is_multiple_of(16);
        let schedule = match options.method {
            SpmvBatchMethod::Together => Schedule::Together(Box::new(Tiles::new(self, batch)?)),
            SpmvBatchMethod::Auto if self.nnz() < LARGE || !is_aligned => {
                Schedule::Together(Box::new(Tiles::new(self, batch)?))
            }
            SpmvBatchMethod::Auto | SpmvBatchMethod::OneByOne => {
                Schedule::OneByOne(self.plan_spmv(SpmvOptions::default())?)
            }
        };
        Ok(SpmvBatchPlan { matrix: self.clone(), batch, schedule })
    }
}

impl<V: Value, O: Offset> SpmvBatchPlan<V, O> {
    /// Computes yₖ = `alpha`·Aₖ·xₖ + `beta`·yₖ for each matrix of the batch. For matrices of m rows, n columns and z nonzeros, `values` has z
    /// elements for each, in the order of the pattern's nonzeros; `x` has n for each, and `y` has m: matrix after matrix.
    ///
    /// Runs in the order of the device's stream; the call does not wait. If `beta` is zero, y is overwritten without being read. If `alpha`
    /// is zero, the products are still computed: infinity and NaN in `values` or `x` propagate to y.
    ///
    /// # Errors
    ///
    /// If an operand has the wrong length or is on another device, or a factor is not one element; then nothing is written. If the device
    /// was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        values: &DeviceSlice<V>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        let device = self.matrix.device();
        with_numbers(device, (alpha, beta), y, |alpha, beta, y| {
            let needed = |of_each: usize| of_each.saturating_mul(self.batch);
            check_vector(device, ("values", values), needed(self.matrix.nnz()))?;
            check_vector(device, ("x", x), needed(self.matrix.ncols()))?;
            check_vector(device, ("y", y), needed(self.matrix.nrows()))?;
            self.multiply((alpha, values, x), (beta, y))
        })
    }

    fn multiply(
        &self,
        (alpha, values, x): (V, &DeviceSlice<V>, &DeviceSlice<V>),
        (beta, y): (V, &mut DeviceSlice<V>),
    ) -> Result<(), OpError> {
        match &self.schedule {
            Schedule::Cpu(schedule) => {
                let vectors = (values.host_slice(), x.host_slice(), y.host_slice_mut());
                if let (Some((row_offsets, column_indices)), (Some(values), Some(x), Some(y))) =
                    (self.matrix.pattern().host_arrays(), vectors)
                {
                    let shape = self.matrix.shape();
                    let operands = SpmvBatchOperands { shape, row_offsets, column_indices, values, x };
                    schedule.multiply(&operands, alpha, beta, y);
                }
                Ok(())
            }
            Schedule::Together(tiles) => Ok(tiles.multiply(&self.matrix, (alpha, values, x), (beta, y))?),
            Schedule::OneByOne(plan) => {
                let lens = [self.matrix.nrows(), self.matrix.ncols(), self.matrix.nnz()];
                one_by_one::multiply(plan, (self.batch, lens), (alpha, values, x), (beta, y))
            }
        }
    }

    /// Returns the choices and costs of the plan.
    pub fn info(&self) -> SpmvBatchPlanInfo {
        let (tiles, workspace_bytes) = match &self.schedule {
            Schedule::Cpu(schedule) => (0, schedule.bytes() as u64),
            Schedule::Together(tiles) => (tiles.count(), tiles.bytes()),
            Schedule::OneByOne(plan) => (0, plan.workspace_bytes()),
        };
        let one_by_one = match &self.schedule {
            Schedule::OneByOne(plan) => Some(plan.method()),
            Schedule::Cpu(_) | Schedule::Together(_) => None,
        };
        SpmvBatchPlanInfo { batch: self.batch, tiles, one_by_one, workspace_bytes }
    }
}

impl<V: Value, O: Offset> fmt::Debug for SpmvBatchPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvBatchPlan({} matrices with the pattern of {:?})", self.batch, self.matrix)
    }
}
