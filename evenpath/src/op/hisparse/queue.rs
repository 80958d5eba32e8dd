//! Products with the queue scheduler.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use evenpath_kernels::hisparse::queue::{AddProducts, HiSparseQueuedSpmv, TreeQueues};

use super::QueuedOptions;
use super::device::{Content, DeviceHiSparse, Nodes};
use super::queues::{QueueMemory, grid};
use crate::Value;
use crate::device::{DeviceError, DeviceSlice, Launch};
use crate::operand::check::check_product;
use crate::operand::{Factor, OpError};
use crate::sequence::combine::with_numbers;
use crate::sequence::scale::scale;

/// A plan for y = αAx + βy with the queue scheduler, the method of the thesis (Derler 2016, chapters 4 and 5): the tree is
/// traversed in every run, without analysis. The plan holds the queues.
///
/// On GPUs, products are added to y by atomic operations in no particular order, so rounding differs from run to run. On
/// the CPU it is the same as [`HiSparse::spmv`](crate::HiSparse::spmv).
///
/// ```
/// use evenpath::{Csr, Device, HiSparse, hisparse};
///
/// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let device = Device::cpu();
/// let a = device.upload(&a)?.transpose();
/// let x = device.upload(&[1.0, 10.0])?;
/// let mut y = device.zeros(300)?;
/// a.plan_spmv_queued(hisparse::QueuedOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(299)?, 32.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct QueuedPlan<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    /// `None` on the CPU, and if there is nothing to traverse.
    queues: Option<Queues<V>>,
}

/// The choices and costs of a plan with the queue scheduler.
///
/// ```
/// use evenpath::{Csr, Device, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
/// println!("{}", tree.plan_spmv_queued(hisparse::QueuedOptions::default())?.info()?);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueuedPlanInfo {
    /// The capacity of each queue, in nodes.
    pub capacity: u32,
    /// The number of blocks in the grid.
    pub blocks: u32,
    /// Bytes of device memory that the queues take.
    pub workspace_bytes: u64,
}

impl QueuedPlanInfo {
    /// The options that repeat the choices of the plan. Sums remain unordered.
    pub fn options(&self) -> QueuedOptions {
        let given = |value: u32| (value > 0).then_some(value);
        QueuedOptions { capacity: given(self.capacity), blocks: given(self.blocks) }
    }
}

impl fmt::Display for QueuedPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, blocks, workspace_bytes } = self;
        write!(f, "queues of {capacity} nodes, {blocks} blocks, {workspace_bytes} bytes of workspace")
    }
}

/// A launch and its queues.
struct Queues<V: Value> {
    launch: Launch<HiSparseQueuedSpmv<V>>,
    /// Used by one run at a time.
    memory: Mutex<QueueMemory<TreeQueues>>,
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Prepares products y = αAx + βy by the method of the thesis: A is m x n, `x` has n elements, and `y` has m. Each run
    /// traverses the tree, and blocks share its nodes through queues (Derler, *HiSparse*, 2016: chapter 4 has the scheduler,
    /// chapter 5 the product). The methods of [`plan_spmv`](Self::plan_spmv) are not in the thesis.
    ///
    /// Allocates the queues, without reading the tree.
    ///
    /// ```
    /// use evenpath::{Csr, Device, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let device = Device::best()?;
    /// let a = device.upload(&a)?.to_hisparse::<128>(hisparse::Options::default())?;
    /// let (x, mut y) = (device.upload(&[1.0, 10.0, 100.0])?, device.zeros(2)?);
    /// a.plan_spmv_queued(hisparse::QueuedOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
    /// assert_eq!(y.download()?, [201.0, 30.0]);
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the queues, or the device was lost.
    pub fn plan_spmv_queued(&self, options: QueuedOptions) -> Result<QueuedPlan<V, D>, OpError> {
        let matrix = self.with_number_as_scale()?;
        let queues = match matrix.content() {
            Content::Machine(nodes) if !nodes.root.is_null() => Some(Queues::new(nodes, options)?),
            _ => None,
        };
        Ok(QueuedPlan { matrix: matrix.into_owned(), queues })
    }
}

impl<V: Value> Queues<V> {
    fn new(nodes: &Nodes, options: QueuedOptions) -> Result<Self, OpError> {
        let launch = grid(nodes.pool.device().kernel(), options, nodes.nnz)?;
        Ok(Self { launch, memory: Mutex::new(QueueMemory::for_tree(nodes, options)?) })
    }

    /// The memory of the queues, for one run at a time.
    fn memory(&self) -> MutexGuard<'_, QueueMemory<TreeQueues>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds αAx to y.
    fn add_product<const D: usize>(
        &self,
        matrix: &DeviceHiSparse<V, D>,
        nodes: &Nodes,
        alpha: V,
        x: &DeviceSlice<V>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), DeviceError> {
        let mut memory = self.memory();
        let kernel = HiSparseQueuedSpmv {
            tree: nodes.tree::<V, D>(self.launch.grid()),
            queues: memory.next_run()?,
            product: AddProducts {
                x: x.as_global(),
                y: y.as_global_mut(),
                scale: matrix.scale(),
                alpha,
                transposed: u32::from(matrix.is_transposed()),
            },
        };
        // SAFETY: the tree is valid and of this height; x has an element for each column and y one for each row of the
        // matrix, with its transposition applied. While the lock is held, no other launch uses the queues. Buffers are freed in
        // the stream's order.
        let launched = unsafe { self.launch.launch(kernel) };
        if launched.is_err() {
            memory.forget_runs();
        }
        launched
    }
}

impl<V: Value, const D: usize> QueuedPlan<V, D> {
    /// Computes y = `alpha`·A·`x` + `beta`·y, with transposition and scale of A applied: A is m x n, `x` has n
    /// elements, and y has m. The launch is asynchronous, ordered on the device's stream. If `beta` is 0, y is
    /// overwritten without being read.
    ///
    /// # Errors
    ///
    /// If `x` does not have one element per column, or `y` one per row, or if a factor is not one element, or any of them
    /// is on another device; then nothing is written. If the device was lost.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<(), OpError> {
        with_numbers(self.matrix.device(), (alpha, beta), y, |alpha, beta, y| {
            self.multiply(alpha, x, beta, y)
        })
    }

    fn multiply(&self, alpha: V, x: &DeviceSlice<V>, beta: V, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
        let matrix = &self.matrix;
        check_product(matrix.device(), matrix.shape(), x, y)?;
        if let (Some(matrix), Some(x)) = (matrix.host(), x.host_slice()) {
            return y.host_slice_mut().map_or(Ok(()), |y| matrix.spmv(alpha, x, beta, y));
        }
        scale(beta, y)?;
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
    pub fn info(&self) -> Result<QueuedPlanInfo, DeviceError> {
        let Some(queues) = &self.queues else {
            return Ok(QueuedPlanInfo::default());
        };
        let memory = queues.memory();
        let (capacity, workspace_bytes) = (memory.capacity(), memory.bytes());
        Ok(QueuedPlanInfo { capacity, blocks: queues.launch.grid(), workspace_bytes })
    }
}

impl<V: Value, const D: usize> fmt::Debug for QueuedPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capacity, blocks) =
            self.queues.as_ref().map_or((0, 0), |queues| (queues.memory().capacity(), queues.launch.grid()));
        write!(f, "QueuedPlan({:?}, {blocks} blocks, queues of {capacity} nodes)", self.matrix)
    }
}
