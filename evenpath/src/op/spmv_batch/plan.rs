use std::fmt;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv_batch::{BATCH_AT_ONCE, BatchRows};

use super::info::SpmvBatchPlanInfo;
use crate::cpu::{SpmvBatch, SpmvBatchOperands};
use crate::device::{DeviceSlice, DeviceVec};
use crate::format::DeviceCsr;
use crate::format::row_pieces::RowPieces;
use crate::operand::check::{check_countable, check_vector};
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{Offset, Value};

/// Plan of yₖ = αAₖxₖ + βyₖ for a batch of matrices Aₖ that have one pattern and values of their own.
///
/// One run computes all products. On a GPU it is one launch or two, which reads the pattern once for several matrices: for small
/// matrices. Large ones, of ten million nonzeros, are multiplied faster one by one, with a plan for each. Results are bitwise the same in every run, and on
/// all GPUs, real and simulated.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// // The pattern of [1 . 2]
/// //                [. 3 .]
/// let pattern = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
/// let plan = device.upload(&pattern)?.plan_spmv_batch(2)?;
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
    schedule: Schedule<V>,
}

/// The division of work.
enum Schedule<V: Value> {
    Cpu(SpmvBatch),
    Kernels(Box<Kernels<V>>),
}

/// Rows and pieces on a device with kernels.
struct Kernels<V: Value> {
    lanes: u32,
    pieces: RowPieces,
    /// A sum for each piece and matrix: workspace of one run at a time.
    sums: Mutex<DeviceVec<V>>,
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Prepares products of `batch` matrices with the pattern of this one for [`SpmvBatchPlan::run`]. Its values are not used. Rows need not
    /// be canonical: duplicates are summed. Copies the row offsets to the host, for which it waits.
    ///
    /// # Errors
    ///
    /// If there are 2³² matrices or more, this thread captures a graph, there is too little memory (a value for each matrix and piece of a
    /// long row, which has 64 nonzeros or more), or the device was lost.
    pub fn plan_spmv_batch(&self, batch: usize) -> Result<SpmvBatchPlan<V, O>, OpError> {
        check_countable("a batch", batch)?;
        let device = self.device();
        device.check_threads()?;
        let pattern = self.pattern();
        if let Some((row_offsets, column_indices)) = pattern.host_arrays() {
            let schedule = Schedule::Cpu(SpmvBatch::new(row_offsets, column_indices));
            return Ok(SpmvBatchPlan { matrix: self.clone(), batch, schedule });
        }
        let pieces = RowPieces::cut(device, &pattern.row_offsets.download()?)?;
        let sums = Mutex::new(device.uninitialized(pieces.count() * batch)?);
        let kernels = Kernels { lanes: lanes(self.nrows(), self.nnz()), pieces, sums };
        Ok(SpmvBatchPlan { matrix: self.clone(), batch, schedule: Schedule::Kernels(Box::new(kernels)) })
    }
}

/// Minimum number of nonzeros of a row, in the mean, for each lane.
const NONZEROS_PER_LANE: usize = 2;

/// Number of lanes for a row.
fn lanes(rows: usize, nonzeros: usize) -> u32 {
    let mean = nonzeros / rows.max(1);
    (mean / NONZEROS_PER_LANE).clamp(1, 32).next_power_of_two() as u32
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
    /// If an operand has the wrong length or is on another device, or a factor is not one element; then nothing is written. If the rows
    /// of all matrices are too many for one launch, or the device was lost.
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
        let pattern = self.matrix.pattern();
        let Kernels { lanes, pieces, sums } = match &self.schedule {
            Schedule::Cpu(schedule) => {
                let vectors = (values.host_slice(), x.host_slice(), y.host_slice_mut());
                if let (Some((row_offsets, column_indices)), (Some(values), Some(x), Some(y))) =
                    (pattern.host_arrays(), vectors)
                {
                    let shape = self.matrix.shape();
                    let operands = SpmvBatchOperands { shape, row_offsets, column_indices, values, x };
                    schedule.multiply(&operands, alpha, beta, y);
                }
                return Ok(());
            }
            Schedule::Kernels(kernels) => &**kernels,
        };
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        let groups =
            (pieces.count() + self.matrix.nrows()).saturating_mul(self.batch.div_ceil(BATCH_AT_ONCE));
        let launch = self.matrix.device().kernel().threads(groups.saturating_mul(*lanes as usize))?;
        let update = update(alpha, beta, y);
        let kernel = BatchRows {
            pattern: pattern.view(),
            values: values.as_global(),
            x: x.as_global(),
            update,
            pieces: pieces.view(&mut sums),
            cols: self.matrix.ncols() as u32,
            batch: self.batch as u32,
            lanes: *lanes,
        };
        let strides = (1, self.matrix.nrows());
        // SAFETY: the views are of a valid matrix's pattern, of values and vectors of all matrices, whose lengths were checked, and of a sum
        // for each piece and matrix. All are on this device, and buffers are freed in the stream's order. The lock keeps other
        // runs from coming between the launches.
        unsafe {
            launch.launch(kernel)?;
            pieces.add_columns(&sums, (1, self.matrix.nrows()), update, (self.batch, strides))?;
        }
        Ok(())
    }

    /// Returns the choices and costs of the plan.
    pub fn info(&self) -> SpmvBatchPlanInfo {
        let (lanes, pieces, workspace_bytes) = match &self.schedule {
            Schedule::Cpu(schedule) => (0, 0, schedule.bytes() as u64),
            Schedule::Kernels(kernels) => {
                let Kernels { lanes, pieces, sums } = &**kernels;
                let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                (*lanes, pieces.count() as u64, pieces.bytes() + sums.bytes())
            }
        };
        SpmvBatchPlanInfo { batch: self.batch, lanes, pieces, workspace_bytes }
    }
}

impl<V: Value, O: Offset> fmt::Debug for SpmvBatchPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvBatchPlan({} matrices with the pattern of {:?})", self.batch, self.matrix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_have_nonzeros() {
        let of_mean = |mean: usize| lanes(100, 100 * mean);
        assert_eq!([0, 1, 3, 4, 6, 8, 27, 64, 1000].map(of_mean), [1, 1, 1, 2, 4, 4, 16, 32, 32]);
        assert_eq!(lanes(0, 0), 1);
    }
}
