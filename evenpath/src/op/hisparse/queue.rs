//! Products with the queue scheduler.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::hisparse::queue::{
    self, AddProducts, HiSparseQueuedSpmv, PLACE_WORDS, QUEUES, STATE_WORDS, Tree,
};

use super::HiSparseQueuedOptions;
use super::device::{Content, DeviceHiSparse, Nodes};
use crate::Value;
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::matrix::hisparse;
use crate::op::operands::check_product;
use crate::op::{OpError, vector};

/// The minimum and maximum capacity of a queue, unless the options set one.
const CAPACITY: (usize, usize) = (1 << 10, 1 << 20);
/// Units of the pool per slot of a queue. A leaf that passes through a queue has at least 48.
const UNITS_A_PLACE: usize = 64;
/// Nonzeros that occupy one block.
const BLOCK_NONZEROS: usize = 1 << 10;

/// A plan for y = αAx + βy with the queue scheduler: the tree is traversed in every run, without analysis (Derler 2016,
/// chapters 4 and 5). The plan holds the queues.
///
/// On GPUs, products are added to y by atomic operations in no particular order, so rounding differs from run to run. On
/// the CPU it is the same as [`HiSparse::spmv`](crate::HiSparse::spmv).
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseQueuedOptions};
/// use evenpath::{Csr, Device, HiSparse};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(HiSparseOptions::default())?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?.transpose();
/// let x = device.upload(&[1.0, 10.0])?;
/// let mut y = device.zeros(300)?;
/// a.plan_spmv_queued(HiSparseQueuedOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(299)?, 32.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HiSparseQueuedPlan<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    /// `None` on the CPU, and if there is nothing to traverse.
    queues: Option<Queues<V>>,
}

/// The choices and costs of a plan with the queue scheduler.
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseQueuedOptions};
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// println!("{}", tree.plan_spmv_queued(HiSparseQueuedOptions::default())?.info()?);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseQueuedPlanInfo {
    /// The capacity of each queue, in nodes.
    pub capacity: u32,
    /// The number of blocks in the grid.
    pub blocks: u32,
    /// Bytes of device memory that the queues take.
    pub workspace_bytes: u64,
}

impl HiSparseQueuedPlanInfo {
    /// The options that repeat the choices of the plan. Sums remain unordered.
    pub fn options(&self) -> HiSparseQueuedOptions {
        let given = |value: u32| (value > 0).then_some(value);
        HiSparseQueuedOptions { capacity: given(self.capacity), blocks: given(self.blocks) }
    }
}

impl fmt::Display for HiSparseQueuedPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, blocks, workspace_bytes } = self;
        write!(f, "queues of {capacity} nodes, {blocks} blocks, {workspace_bytes} bytes of workspace")
    }
}

/// Queues in a device's memory.
struct Queues<V: Value> {
    launch: Launch<HiSparseQueuedSpmv<V>>,
    capacity: u32,
    /// Used by one run at a time.
    memory: Mutex<Memory>,
}

struct Memory {
    /// The slots of all queues: zero, or as left by earlier runs.
    places: DeviceVec<u64>,
    /// Zero between runs.
    state: DeviceVec<u64>,
    /// The number of the last run.
    run: u32,
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Prepares for [`HiSparseQueuedPlan::run`]: allocates queues, without reading the tree.
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the queues, or the device was lost.
    pub fn plan_spmv_queued(
        &self,
        options: HiSparseQueuedOptions,
    ) -> Result<HiSparseQueuedPlan<V, D>, OpError> {
        let queues = match self.content() {
            Content::Machine(nodes) if !nodes.root.is_null() => Some(Queues::new(nodes, options)?),
            _ => None,
        };
        Ok(HiSparseQueuedPlan { matrix: self.clone(), queues })
    }
}

impl<V: Value> Queues<V> {
    fn new(
        nodes: &Nodes,
        HiSparseQueuedOptions { capacity, blocks }: HiSparseQueuedOptions,
    ) -> Result<Self, OpError> {
        let device = nodes.pool.device();
        let (least, most) = CAPACITY;
        let by_size = (nodes.pool.len() / UNITS_A_PLACE).clamp(least, most);
        let capacity = capacity.unwrap_or(by_size as u32);
        let launcher = device.kernel();
        let blocks = match blocks {
            Some(blocks) => blocks.max(1) as usize,
            None => (nodes.nnz / BLOCK_NONZEROS + 1).min(launcher.resident_blocks()? as usize),
        };
        let launch = launcher.blocks(blocks)?;
        let words = PLACE_WORDS as usize * (QUEUES - 1) as usize * capacity as usize;
        let memory =
            Memory { places: device.zeros(words)?, state: device.zeros(STATE_WORDS as usize)?, run: 0 };
        Ok(Self { launch, capacity, memory: Mutex::new(memory) })
    }

    /// Adds αAx to y.
    fn add_product<const D: usize>(
        &self,
        matrix: &DeviceHiSparse<V, D>,
        nodes: &Nodes,
        alpha: V,
        x: &DeviceVec<V>,
        y: &mut DeviceVec<V>,
    ) -> Result<(), DeviceError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let Memory { places, state, run } = &mut *memory;
        *run = run.wrapping_add(1);
        if *run == 0 {
            // Run numbers wrap around, and some slots may still be tagged by an early run.
            places.set_zero()?;
            *run = 1;
        }
        let kernel = HiSparseQueuedSpmv {
            tree: Tree {
                pool: nodes.view(),
                root: nodes.root.0,
                height: hisparse::depth(nodes.rows, nodes.cols, D) as u32 - 1,
                d_log2: D.ilog2(),
            },
            queues: queue::Queues {
                places: places.as_global_mut(),
                state: state.as_global_mut(),
                capacity: self.capacity,
                run: *run,
            },
            product: AddProducts {
                x: x.as_global(),
                y: y.as_global_mut(),
                scale: matrix.scale(),
                alpha,
                transposed: u32::from(matrix.is_transposed()),
            },
        };
        // SAFETY: the tree is valid and of this height; x has an element for each column and y one for each row of the
        // matrix, with its transposition applied. The slots are zero or of runs with other numbers, and the state is zero.
        // While the lock is held, no other launch uses them. Buffers are freed in the stream's order.
        unsafe { self.launch.launch(kernel) }
    }
}

impl<V: Value, const D: usize> HiSparseQueuedPlan<V, D> {
    /// y = `alpha`·A·`x` + `beta`·y, with transposition and scale of A applied. The launch is asynchronous, ordered on the
    /// device's stream. If `beta` is 0, y is overwritten without being read.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, or either is on another device; then nothing is written.
    /// If the device was lost.
    pub fn run(&self, alpha: V, x: &DeviceVec<V>, beta: V, y: &mut DeviceVec<V>) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_product(matrix.device(), (matrix.rows(), matrix.cols()), x, y)?;
        if let (Some(matrix), Some(x)) = (matrix.host(), x.host_slice()) {
            return y.host_slice_mut().map_or(Ok(()), |y| matrix.spmv(alpha, x, beta, y));
        }
        vector::scale(beta, y)?;
        if let (Some(queues), Content::Machine(nodes)) = (&self.queues, matrix.content()) {
            queues.add_product(matrix, nodes, alpha, x, y)?;
        }
        Ok(())
    }

    /// The choices and costs of the plan; all zero on the CPU, which has no queues. Does not wait for the device.
    ///
    /// # Errors
    ///
    /// Currently never. It returns a [`Result`] like `info` of every plan.
    pub fn info(&self) -> Result<HiSparseQueuedPlanInfo, DeviceError> {
        let Some(Queues { capacity, launch, memory }) = &self.queues else {
            return Ok(HiSparseQueuedPlanInfo::default());
        };
        let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        let workspace_bytes = memory.places.bytes() + memory.state.bytes();
        Ok(HiSparseQueuedPlanInfo { capacity: *capacity, blocks: launch.grid(), workspace_bytes })
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparseQueuedPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capacity, blocks) =
            self.queues.as_ref().map_or((0, 0), |queues| (queues.capacity, queues.launch.grid()));
        write!(f, "HiSparseQueuedPlan({:?}, {blocks} blocks, queues of {capacity} nodes)", self.matrix)
    }
}
