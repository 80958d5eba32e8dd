//! `C = A + B` of two trees on a device, each transposed or scaled or not (thesis, chapter 6).
//!
//! As on the host, both trees are traversed together from the roots, level by level; a subtree that only one of them has is
//! copied. This determines the nodes of the sum. They are placed in the pool, then the leaves are merged.

use evenpath_kernels::hisparse::sum::{
    HiSparseAddChildren, HiSparseAddLeaves, HiSparseCountSums, NodePairs, count_shared_bytes,
    merge_shared_bytes, state,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{Element, Global, GlobalMut, thread};

use super::device::{Content, DeviceHiSparse, Nodes, pool_view_mut};
use super::tree::{self, Shape};
use super::{HiSparseSpaddMethod, HiSparseSpaddOptions};
use crate::Value;
use crate::device::{Device, DeviceVec, Kernels, Launcher};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::{check_entries, too_large};
use crate::matrix::hisparse::{self, Reference};
use crate::op::OpError;
use crate::op::operands::check_shape;
use crate::op::scan::{Operator, Scan, sum_kernel};

/// Blocks per multiprocessor, if there are enough pairs.
const BLOCKS: usize = 32;

/// Threads per block when counting children of inner nodes, which are few and large.
const INNER_BLOCK: u32 = 512;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// The sum of two matrices, with their transpositions and scales applied: A and `A.transpose()` give A + Aᵀ. The sum
    /// has an entry wherever either matrix has one, even if its value is 0. Its scale is 1. Except for NaN payloads, the
    /// result is bitwise the same as that of [`HiSparse::add`](crate::HiSparse::add) on the host.
    ///
    /// Waits for the device once per level, to learn the number of nodes of the next one. Takes 32 bytes per node of
    /// temporary memory, besides the sum. [`add_with`](Self::add_with) has another method.
    ///
    /// ```
    /// use evenpath::hisparse::HiSparseOptions;
    /// use evenpath::{Csr, Device};
    ///
    /// let a: Csr<f64> = Csr::from_triplets(300, 300, [(0, 0, 1.0), (0, 299, 2.0)])?;
    /// let a = Device::cpu().upload(&a)?.to_hisparse::<128>(HiSparseOptions::default())?;
    /// let sum = a.add(&a.transpose().scaled(-1.0))?.download()?;
    /// assert_eq!((sum.get(0, 0), sum.get(0, 299), sum.get(299, 0)), (Some(0.0), Some(2.0), Some(-2.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes or devices differ, the nodes take more than 16 GiB
    /// ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), there is not enough memory, or the device was
    /// lost.
    pub fn add(&self, other: &Self) -> Result<Self, OpError> {
        self.add_with(other, HiSparseSpaddOptions::default())
    }

    /// As [`add`](Self::add), with options. All methods give the same content, bit for bit.
    ///
    /// ```
    /// use evenpath::hisparse::{HiSparseOptions, HiSparseSpaddMethod, HiSparseSpaddOptions};
    /// use evenpath::{Csr, Device};
    ///
    /// let a: Csr<f64> = Csr::from_triplets(300, 300, [(0, 0, 1.0), (0, 299, 2.0)])?;
    /// let a = Device::best()?.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
    /// let options = HiSparseSpaddOptions::default().with_method(HiSparseSpaddMethod::Queues);
    /// let sum = a.add_with(&a.transpose(), options)?;
    /// assert_eq!(sum.download()?.get(299, 0), Some(2.0));
    /// # Ok::<(), evenpath::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add).
    pub fn add_with(&self, other: &Self, options: HiSparseSpaddOptions) -> Result<Self, OpError> {
        let (rows, cols) = (self.rows(), self.cols());
        check_shape("B", (other.rows(), other.cols()), (rows, cols))?;
        self.device().check_same(other.device())?;
        if let (Some(a), Some(b)) = (self.host(), other.host()) {
            return Ok(self.device().upload(&a.add(&b)?)?);
        }
        let (Content::Machine(a), Content::Machine(b)) = (self.content(), other.content()) else {
            unreachable!("matrices on one device are all in host memory, or none is")
        };
        // The sum has every entry of either operand.
        check_entries::<V>(a.nnz.max(b.nnz))?;
        let is_transposed = self.is_transposed() && other.is_transposed();
        // Addition is commutative, so the order of the operands does not change a bit.
        let ((left, a), (right, b)) = if self.is_transposed() && !is_transposed {
            ((other, b), (self, a))
        } else {
            ((self, a), (other, b))
        };
        let state = |holds: bool, bit: u32| if holds { bit } else { 0 };
        let sum = Sum::<V, D> {
            device: self.device(),
            a,
            b,
            state: state(right.is_transposed() != is_transposed, state::B_TRANSPOSED)
                | state(left.scale() != V::ONE, state::A_SCALED)
                | state(right.scale() != V::ONE, state::B_SCALED),
            scales: (left.scale(), right.scale()),
        };
        let (rows, cols) = if is_transposed { (cols, rows) } else { (rows, cols) };
        let sum = match options.method {
            HiSparseSpaddMethod::Levels => sum.run(rows, cols)?,
            HiSparseSpaddMethod::Queues => sum.run_queued(rows, cols, options.queues)?,
        };
        let sum = Self::from_content(self.device(), Content::Machine(sum));
        Ok(if is_transposed { sum.transpose() } else { sum })
    }
}

/// The sum of two trees.
pub(super) struct Sum<'m, V: Value, const D: usize> {
    pub(super) device: &'m Device,
    pub(super) a: &'m Nodes,
    pub(super) b: &'m Nodes,
    /// Bits of [`state`].
    pub(super) state: u32,
    pub(super) scales: (V, V),
}

/// The pairs of one level.
struct Level {
    /// The pair of roots; zero on other levels.
    root: u64,
    /// The pairs; empty on the root's level.
    pairs: DeviceVec<u64>,
    len: usize,
    /// Each pair's link to its parent in the sum.
    links: DeviceVec<u64>,
}

/// Inner nodes of the sum.
struct Inner {
    counts: Vec<DeviceVec<u32>>,
    links: Vec<DeviceVec<u64>>,
    len: usize,
}

/// The kernels of a sum, for compilation ahead of use.
fn kernels<V: Value>() -> Kernels {
    let kernels = tree::kernels()
        .and::<HiSparseAddChildren>()
        .and::<HiSparseAddLeaves<V>>()
        .and_all(sum_kernel::<u32>());
    if V::SIZE == 4 {
        // For inner nodes and leaves.
        kernels.and::<HiSparseCountSums<u32>>()
    } else {
        kernels.and_instance(inner_count()).and::<HiSparseCountSums<u64>>()
    }
}

/// The kernel that counts the children of inner nodes.
fn inner_count() -> &'static KernelInfo {
    match HiSparseCountSums::<u32>::instance(INNER_BLOCK, 1) {
        Some(info) => info,
        None => unreachable!("the kernels' tables have an instance for inner nodes"),
    }
}

impl<V: Value, const D: usize> Sum<'_, V, D> {
    fn run(&self, rows: usize, cols: usize) -> Result<Nodes, OpError> {
        let roots = [self.a.root, self.b.root];
        if roots == [Reference::NULL; 2] {
            return tree::empty(self.device, rows, cols);
        }
        self.device.prepare(kernels::<V>)?;
        let mut level = Level {
            root: u64::from(roots[1].0) << 32 | u64::from(roots[0].0),
            pairs: self.device.uninitialized(0)?,
            len: 1,
            links: self.device.zeros(1)?,
        };
        let mut inner = Inner { counts: Vec::new(), links: Vec::new(), len: 0 };
        for _ in 1..hisparse::depth(rows, cols, D) {
            let children;
            (level, children) = self.children(level, &mut inner)?;
            inner.counts.push(children);
        }
        let shape = self.shape(&level, &inner)?;
        let mut tree = shape.build::<V>(self.device, D.ilog2())?;
        self.fill(&level, &mut tree)?;
        Ok(tree.into_nodes(rows, cols))
    }

    /// The level below `level`, and the number of children of each node of `level`. Waits for the device.
    fn children(&self, level: Level, inner: &mut Inner) -> Result<(Level, DeviceVec<u32>), OpError> {
        let device = self.device;
        let mut counts = device.uninitialized::<u32>(level.len)?;
        self.count::<u32>(device.instance(inner_count()), &level, counts.as_global_mut())?;
        let scanned;
        let ends = if level.len == 1 {
            &counts
        } else {
            scanned = Scan::inclusive(Operator::Sum).run(&counts)?;
            &scanned
        };
        let len = ends.get(level.len - 1)? as usize;
        let first_node = inner.len;
        inner.len += level.len;
        if inner.len + len > MAX_UNITS {
            return Err(too_large().into());
        }
        let mut pairs = device.uninitialized::<u64>(len)?;
        let mut links = device.uninitialized::<u64>(len)?;
        let kernel = |level_pairs| HiSparseAddChildren {
            pairs: level_pairs,
            ends: ends.as_global(),
            children: pairs.as_global_mut(),
            links: links.as_global_mut(),
            first_node: first_node as u32,
        };
        // SAFETY: the outputs have room for a pair and a link for each child, at the positions that the scan of the counts
        // gives. All are on this device, and buffers are freed in the stream's order.
        unsafe { self.launch(device.kernel(), &level, merge_shared_bytes, kernel) }?;
        inner.links.push(level.links);
        Ok((Level { root: 0, pairs, len, links }, counts))
    }

    /// Counts the entries of each pair's sum, for slots of the size of `T`.
    fn count<T: Element>(
        &self,
        launcher: Launcher<HiSparseCountSums<T>>,
        level: &Level,
        counts: GlobalMut<u32>,
    ) -> Result<(), OpError> {
        // SAFETY: there is a count for each pair, on this device.
        unsafe {
            self.launch(launcher, level, count_shared_bytes, |pairs| HiSparseCountSums { pairs, counts })
        }
    }

    /// The nodes of the sum, with the entries of its leaves counted.
    fn shape(&self, leaves: &Level, inner: &Inner) -> Result<Shape, OpError> {
        let nodes = inner.len + leaves.len;
        let mut counts = self.device.uninitialized::<u32>(nodes)?;
        let mut links = self.device.uninitialized::<u64>(nodes)?;
        let mut first = 0;
        for (level_counts, level_links) in inner.counts.iter().zip(&inner.links) {
            counts.copy_from_at(first, level_counts)?;
            links.copy_from_at(first, level_links)?;
            first += level_counts.len();
        }
        links.copy_from_at(first, &leaves.links)?;
        let leaf_counts = counts.as_global_mut().skip(inner.len);
        if V::SIZE == 4 {
            self.count::<u32>(self.device.kernel(), leaves, leaf_counts)?;
        } else {
            self.count::<u64>(self.device.kernel(), leaves, leaf_counts)?;
        }
        Ok(Shape { inner: inner.len, counts, links })
    }

    /// Writes the leaves' entries.
    fn fill(&self, leaves: &Level, tree: &mut tree::Tree) -> Result<(), OpError> {
        let of_leaves = |view: Global<u32>| view.skip(tree.shape.inner);
        let kernel = |pairs| HiSparseAddLeaves {
            pairs,
            counts: of_leaves(tree.shape.counts.as_global()),
            references: of_leaves(tree.references.as_global()),
            sum: pool_view_mut(&mut tree.pool),
            a_scale: self.scales.0,
            b_scale: self.scales.1,
        };
        // SAFETY: the sum's leaves have room for the counted entries. All are on this device, and buffers are freed in the
        // stream's order.
        unsafe { self.launch(self.device.kernel(), leaves, merge_shared_bytes, kernel) }
    }

    /// Launches the kernel that `with_pairs` makes of a level's pairs. `shared_bytes` gives the size of its shared memory from
    /// log2 of a node's rows and the number of threads per block.
    ///
    /// # Safety
    ///
    /// As for [`Device::launch`]; the pairs are valid.
    unsafe fn launch<K: Kernel, T: Element>(
        &self,
        launcher: Launcher<K>,
        level: &Level,
        shared_bytes: fn(u32, u32) -> u32,
        with_pairs: impl FnOnce(NodePairs<T>) -> K,
    ) -> Result<(), OpError> {
        // At most one pair per thread, and few enough that no multiprocessor idles; the same number for each warp.
        let block_size = launcher.info().block_size;
        let blocks = self.device.properties().multiprocessors as usize * BLOCKS;
        let warps = (block_size / thread::WARP_SIZE) as usize;
        let share = level.len.div_ceil(blocks).clamp(1, block_size as usize);
        let share = if share > warps { share / warps * warps } else { share };
        let d_log2 = D.ilog2();
        let launcher = launcher.shared_bytes(shared_bytes(d_log2, block_size));
        let launch = launcher.blocks(level.len.div_ceil(share))?;
        let pairs = NodePairs {
            a: self.a.view(),
            b: self.b.view(),
            words: level.pairs.as_global(),
            root: level.root,
            len: level.len as u32,
            share: share as u32,
            state: self.state,
            d_log2,
        };
        // SAFETY: both trees are valid, and the pairs are of their nodes; for the rest, the caller's.
        unsafe { launch.launch(with_pairs(pairs)) }?;
        Ok(())
    }
}
