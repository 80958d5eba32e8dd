//! Products by the queue scheduler.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use evenpath_kernels::hisparse::queue::{
    self, AddProducts, HiSparseQueuedSpmv, PLACE_WORDS, QUEUES, STATE_WORDS, Tree,
};

use super::device::{Content, DeviceHiSparse, Nodes};
use crate::Value;
use crate::device::{DeviceError, DeviceVec, Launch};
use crate::matrix::hisparse;
use crate::op::operands::check_product;
use crate::op::{OpError, vector};

/// The smallest and largest capacity of a queue, unless options give one.
const CAPACITY: (usize, usize) = (1 << 10, 1 << 20);
/// Units of the pool per place of a queue. A leaf that passes through a queue has at least 48.
const UNITS_A_PLACE: usize = 64;
/// Nonzeros that keep a block busy.
const BLOCK_NONZEROS: usize = 1 << 10;

/// How [`DeviceHiSparse::queue_spmv`] sets up its queues.
///
/// ```
/// use evenpath::{Csr, Device, HiSparseOptions, HiSparseQueueOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0)])?;
/// let device = Device::best()?;
/// let tree = device.upload_hisparse(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let mut options = HiSparseQueueOptions::default();
/// options.capacity = Some(1000); // nodes that can wait; what finds no place is walked at once
/// let queues = tree.queue_spmv(options)?;
/// let (x, mut y) = (device.upload_slice(&[2.0; 200])?, device.zeros(200)?);
/// queues.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(0)?, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseQueueOptions {
    /// Places per queue; by default, chosen by the size of the matrix. A block does the work itself that finds no place.
    pub capacity: Option<u32>,
    /// Blocks of the grid; by default as many as the device runs at once, or fewer for a small matrix.
    pub blocks: Option<u32>,
}

/// y = αAx + βy by the queue scheduler: the tree is traversed in every run, without analysis (Derler 2016, chapters 4 and 5).
/// This holds the queues.
///
/// On GPUs products are added to y by atomic operations in no particular order, so that sums are rounded differently from run
/// to run. On the CPU it is the same as [`HiSparse::spmv`](crate::HiSparse::spmv).
///
/// ```
/// use evenpath::{Csr, Device, HiSparse, HiSparseOptions, HiSparseQueueOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(HiSparseOptions::default())?;
/// let device = Device::cpu();
/// let a = device.upload_hisparse(&a)?.transpose();
/// let x = device.upload_slice(&[1.0, 10.0])?;
/// let mut y = device.zeros(300)?;
/// a.queue_spmv(HiSparseQueueOptions::default())?.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(299)?, 32.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HiSparseSpmvQueues<V: Value, const D: usize = 128> {
    matrix: DeviceHiSparse<V, D>,
    /// None on the CPU, and if there is nothing to traverse.
    queues: Option<Queues<V>>,
}

/// Queues in a device's memory.
struct Queues<V: Value> {
    launch: Launch<HiSparseQueuedSpmv<V>>,
    capacity: u32,
    /// Used by one run at a time.
    memory: Mutex<Memory>,
}

struct Memory {
    /// The places of all queues: zero, or as earlier runs left them.
    places: DeviceVec<u64>,
    /// Zero between runs.
    state: DeviceVec<u64>,
    /// The number of the last run.
    run: u32,
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Prepares for [`HiSparseSpmvQueues::run`]: allocates queues, without reading the tree.
    ///
    /// # Errors
    ///
    /// If there is no memory for the queues, or the device was lost.
    pub fn queue_spmv(&self, options: HiSparseQueueOptions) -> Result<HiSparseSpmvQueues<V, D>, OpError> {
        let queues = match self.content() {
            Content::Machine(nodes) if !nodes.root.is_null() => Some(Queues::new(nodes, options)?),
            _ => None,
        };
        Ok(HiSparseSpmvQueues { matrix: self.clone(), queues })
    }
}

impl<V: Value> Queues<V> {
    fn new(
        nodes: &Nodes,
        HiSparseQueueOptions { capacity, blocks }: HiSparseQueueOptions,
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
            // Run numbers start again, and some places may be as an early run left them.
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
        // matrix, transposed as it is. The places are zero or of runs with other numbers, and the state is zero. While the
        // lock is held, no other launch uses them. Buffers are freed in the stream's order.
        unsafe { self.launch.launch(kernel) }
    }
}

impl<V: Value, const D: usize> HiSparseSpmvQueues<V, D> {
    /// y = `alpha`·A·`x` + `beta`·y, A transposed and scaled as it is. The launch is asynchronous, ordered on the device's
    /// stream. With `beta` zero, y is overwritten and its previous content does not matter.
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

    /// Bytes of device memory that the queues take.
    pub fn workspace_bytes(&self) -> u64 {
        let bytes = |queues: &Queues<V>| {
            let memory = queues.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.places.bytes() + memory.state.bytes()
        };
        self.queues.as_ref().map_or(0, bytes)
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparseSpmvQueues<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capacity, blocks) =
            self.queues.as_ref().map_or((0, 0), |queues| (queues.capacity, queues.launch.grid()));
        write!(f, "HiSparseSpmvQueues({:?}, {blocks} blocks, queues of {capacity} places)", self.matrix)
    }
}
