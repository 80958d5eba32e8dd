use std::fmt;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::spmv_batch::{BATCH_AT_ONCE, BatchFixup, BatchTile};

use super::info::SpmvBatchPlanInfo;
use crate::cpu::{SpmvBatch, SpmvBatchOperands};
use crate::device::{DeviceError, DeviceSlice, DeviceVec, Launch};
use crate::format::DeviceCsr;
use crate::format::path_tiles::PathTiles;
use crate::operand::check::{check_countable, check_vector};
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::vector::update;
use crate::{Offset, Value};

/// Plan of yₖ = αAₖxₖ + βyₖ for a batch of matrices Aₖ that have one pattern and values of their own.
///
/// One run computes all products. On a GPU it is one launch or two, which read the pattern once for four matrices. Work is divided evenly,
/// whatever the lengths of rows. Large matrices, of ten million nonzeros, are multiplied faster one by one, with a plan for each. Results
/// are bitwise the same in every run, and on all GPUs, real and simulated.
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
    schedule: Schedule<V, O>,
}

/// The division of work.
enum Schedule<V: Value, O: Offset> {
    Cpu(SpmvBatch),
    Kernels(Box<Kernels<V, O>>),
}

/// Tiles and launches on a device with kernels.
struct Kernels<V: Value, O: Offset> {
    tiles: PathTiles,
    multiply: Launch<BatchTile<V, O>>,
    fixup: Launch<BatchFixup<V>>,
    /// For each matrix, a carry for each tile but the last: workspace of one run at a time.
    carries: Mutex<DeviceVec<V>>,
}

impl<V: Value, O: Offset> Kernels<V, O> {
    fn new(matrix: &DeviceCsr<V, O>, batch: usize) -> Result<Self, DeviceError> {
        let device = matrix.device();
        let (tiles, _) = PathTiles::find(matrix, device.kernel::<BatchTile<V, O>>())?;
        let blocks = (tiles.count as usize).saturating_mul(batch.div_ceil(BATCH_AT_ONCE));
        let multiply = device.kernel().blocks(blocks)?.room_for(u32::MAX);
        let count = carries_of(&tiles);
        let fixup = device.kernel::<BatchFixup<V>>();
        let blocks = count.div_ceil(fixup.info().block_size as usize).saturating_mul(batch);
        let fixup = fixup.blocks(blocks)?;
        let carries = Mutex::new(device.uninitialized(count.saturating_mul(batch))?);
        Ok(Self { tiles, multiply, fixup, carries })
    }
}

/// Number of carries of each matrix: nothing follows the last tile.
fn carries_of(tiles: &PathTiles) -> usize {
    (tiles.count as usize).saturating_sub(1)
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Prepares products of `batch` matrices with the pattern of this one for [`SpmvBatchPlan::run`]. Its values are not used. Rows need not
    /// be canonical: duplicates are summed. Does not wait for the device.
    ///
    /// # Errors
    ///
    /// If there are 2³² matrices or more, they are too large for one launch, this thread captures a graph and the device is not the CPU, there is
    /// too little memory (for each 640 rows and nonzeros, of `f32` 896, 4 bytes and a value for each matrix), or the device was lost.
    pub fn plan_spmv_batch(&self, batch: usize) -> Result<SpmvBatchPlan<V, O>, OpError> {
        check_countable("a batch", batch)?;
        let device = self.device();
        device.check_threads()?;
        let pattern = self.pattern();
        if let Some((row_offsets, column_indices)) = pattern.host_arrays() {
            let schedule = Schedule::Cpu(SpmvBatch::new(row_offsets, column_indices));
            return Ok(SpmvBatchPlan { matrix: self.clone(), batch, schedule });
        }
        device.refuse_in_graph("a plan of a batch divides the matrix once, before its runs")?;
        let schedule = Schedule::Kernels(Box::new(Kernels::new(self, batch)?));
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
        let pattern = self.matrix.pattern();
        let kernels = match &self.schedule {
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
        let Kernels { tiles, multiply, fixup, carries } = kernels;
        let mut carries = carries.lock().unwrap_or_else(PoisonError::into_inner);
        let update = update(alpha, beta, y);
        let kernel = BatchTile {
            pattern: pattern.view(),
            values: values.as_global(),
            x: x.as_global(),
            update,
            tile_rows: tiles.rows.as_global(),
            carries: carries.as_global_mut(),
            cols: self.matrix.ncols() as u32,
            batch: self.batch as u32,
            tiles: tiles.count,
        };
        // SAFETY: the views are of a valid matrix's pattern and its tiles, of values and vectors of all matrices, whose lengths were checked,
        // and of a carry for each matrix and tile but the last. All are on this device, and buffers are freed in the stream's order. The
        // lock keeps other runs from coming between the launches.
        unsafe { multiply.launch(kernel) }?;
        let count = carries_of(tiles);
        let kernel = BatchFixup {
            tile_rows: tiles.rows.as_global(),
            carries: carries.as_global(),
            y: update.y,
            count: count as u32,
            rows: self.matrix.nrows() as u32,
            blocks: count.div_ceil(fixup.info().block_size as usize) as u32,
            alpha,
        };
        // SAFETY: as above. A row with nonzeros or an end follows each tile but the last, so that it has an element of y.
        Ok(unsafe { fixup.launch(kernel) }?)
    }

    /// Returns the choices and costs of the plan.
    pub fn info(&self) -> SpmvBatchPlanInfo {
        let (tiles, workspace_bytes) = match &self.schedule {
            Schedule::Cpu(schedule) => (0, schedule.bytes() as u64),
            Schedule::Kernels(kernels) => {
                let Kernels { tiles, carries, .. } = &**kernels;
                let carries = carries.lock().unwrap_or_else(PoisonError::into_inner);
                (u64::from(tiles.count), tiles.bytes() + carries.bytes())
            }
        };
        SpmvBatchPlanInfo { batch: self.batch, tiles, workspace_bytes }
    }
}

impl<V: Value, O: Offset> fmt::Debug for SpmvBatchPlan<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvBatchPlan({} matrices with the pattern of {:?})", self.batch, self.matrix)
    }
}
