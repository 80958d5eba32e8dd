//! `C = A + B` of two trees on a device, in any state (thesis, chapter 6).
//!
//! As on the host: both trees are walked together from the roots, level by level; where only one has a node, that one is
//! walked alone. The walk gives the sum's nodes, which places them, and then the leaves are merged.

use evenpath_kernels::hisparse::sum::{
    HiSparseAddChildren, HiSparseAddLeaves, HiSparseCountSums, state, sum_shared_bytes,
};
use evenpath_simt::kernel::KernelInfo;
use evenpath_simt::{Element, Global, GlobalMut, thread};

use super::device::{Content, DeviceHiSparse, Nodes};
use super::tree::{self, Shape};
use crate::Value;
use crate::device::{Device, DeviceVec};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{self, Reference};
use crate::op::{OpError, instance, scan};

/// Warps for each multiprocessor, if there are as many pairs.
const WARPS: usize = 128;

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// The sum of two matrices, each transposed and scaled as it is: with A and `A.transpose()`, A + Aᵀ. What one of them
    /// has, the sum has, be it 0. Its scale is 1. To the last byte it is what [`HiSparse::add`](crate::HiSparse::add) makes
    /// on the host, but for NaNs.
    ///
    /// Waits for the device once a level: it alone knows how many nodes the next one has. Beside the sum it takes 24 bytes
    /// a node while it runs.
    ///
    /// ```
    /// use evenpath::{Csr, Device, HiSparseOptions};
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
    /// If shapes differ or devices do, the nodes take more than 16 GiB
    /// ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), there is no memory, or the device was lost.
    pub fn add(&self, other: &Self) -> Result<Self, OpError> {
        let ((rows, cols), (b_rows, b_cols)) = ((self.rows(), self.cols()), (other.rows(), other.cols()));
        if (rows, cols) != (b_rows, b_cols) {
            return Err(OpError::Shapes { rows, cols, b_rows, b_cols });
        }
        self.device().check_same(other.device())?;
        let is_transposed = self.is_transposed() && other.is_transposed();
        let content = match (self.content(), other.content()) {
            (Content::Machine(a), Content::Machine(b)) => {
                let (rows, cols) = if is_transposed { (cols, rows) } else { (rows, cols) };
                let state = |matrix: &Self, turned: u32, scaled: u32| {
                    let is_turned = matrix.is_transposed() != is_transposed;
                    let is_scaled = matrix.scale() != V::ONE;
                    (if is_turned { turned } else { 0 }) | (if is_scaled { scaled } else { 0 })
                };
                let sum = Sum::<V, D> {
                    device: self.device(),
                    a,
                    b,
                    state: state(self, state::A_TRANSPOSED, state::A_SCALED)
                        | state(other, state::B_TRANSPOSED, state::B_SCALED),
                    scales: (self.scale(), other.scale()),
                };
                Content::Machine(sum.run(rows, cols)?)
            }
            _ => return Ok(self.device().upload_hisparse(&self.download()?.add(&other.download()?)?)?),
        };
        let sum = Self::from_content(self.device(), content);
        Ok(if is_transposed { sum.transpose() } else { sum })
    }
}

/// Two trees that are added.
struct Sum<'m, V: Value, const D: usize> {
    device: &'m Device,
    a: &'m Nodes,
    b: &'m Nodes,
    /// As kernels have it.
    state: u32,
    scales: (V, V),
}

/// The pairs of one level.
struct Level {
    /// The roots; else zero.
    root: u64,
    /// Nothing on the root's level.
    pairs: DeviceVec<u64>,
    len: usize,
    /// Each one's link to its parent in the sum; none on the root's level.
    links: DeviceVec<u64>,
}

/// Inner nodes of the sum.
struct Inner {
    counts: Vec<DeviceVec<u32>>,
    links: Vec<DeviceVec<u64>>,
    len: usize,
}

impl<V: Value, const D: usize> Sum<'_, V, D> {
    fn run(&self, rows: usize, cols: usize) -> Result<Nodes, OpError> {
        let roots = [self.a.root, self.b.root];
        if roots == [Reference::NULL; 2] {
            return tree::empty(self.device, rows, cols);
        }
        let mut level = Level {
            root: u64::from(roots[1].0) << 32 | u64::from(roots[0].0),
            pairs: self.device.uninitialised(0)?,
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

    /// The level below one of inner nodes, and how many children each of these has. Waits for the device.
    fn children(&self, level: Level, inner: &mut Inner) -> Result<(Level, DeviceVec<u32>), OpError> {
        let device = self.device;
        let mut counts = device.uninitialised::<u32>(level.len)?;
        self.count::<u32>(&level, counts.as_global_mut())?;
        let scanned;
        let ends = if level.len == 1 {
            &counts
        } else {
            scanned = scan::inclusive(&counts, scan::Operator::Sum)?;
            &scanned
        };
        let len = ends.get(level.len - 1)? as usize;
        let first_node = inner.len;
        inner.len += level.len;
        if inner.len + len > MAX_UNITS {
            return Err(too_large().into());
        }
        let mut pairs = device.uninitialised::<u64>(len)?;
        let mut links = device.uninitialised::<u64>(len)?;
        let (a, b) = (self.a.view::<u32>(), self.b.view::<u32>());
        let kernel = HiSparseAddChildren {
            a_words: a.words,
            a_coordinates: a.coordinates,
            b_words: b.words,
            b_coordinates: b.coordinates,
            pairs: level.pairs.as_global(),
            root: level.root,
            ends: ends.as_global(),
            children: GlobalMut::from_device(pairs.as_global_mut().address(), 2 * len as u64),
            links: links.as_global_mut(),
            first_node: first_node as u32,
            len: level.len as u32,
            share: self.share(level.len),
            state: self.state,
            d_log2: D.ilog2(),
        };
        let info = instance::<HiSparseAddChildren>();
        // SAFETY: both trees are valid, the pairs are of their nodes, and there is a pair and a link for each child, where
        // the scan of their counts puts them. All are on this device, and buffers are freed in the stream's order.
        unsafe { self.launch(kernel, info, level.len) }?;
        inner.links.push(level.links);
        Ok((Level { root: 0, pairs, len, links }, counts))
    }

    /// Counts the entries of each pair's sum, of slots of the size of `T`.
    fn count<T: Element>(&self, level: &Level, counts: GlobalMut<u32>) -> Result<(), OpError> {
        let (a, b) = (self.a.view::<T>(), self.b.view::<T>());
        let kernel = HiSparseCountSums {
            a_words: a.words,
            a_coordinates: a.coordinates,
            a_slots: a.slots,
            b_words: b.words,
            b_coordinates: b.coordinates,
            b_slots: b.slots,
            pairs: level.pairs.as_global(),
            root: level.root,
            counts,
            len: level.len as u32,
            share: self.share(level.len),
            state: self.state,
            d_log2: D.ilog2(),
        };
        // SAFETY: both trees are valid, the pairs are of their nodes, and there is a count for each; all are on this device.
        unsafe { self.launch(kernel, instance::<HiSparseCountSums<T>>(), level.len) }
    }

    /// The nodes of the sum, with the entries of its leaves counted.
    fn shape(&self, leaves: &Level, inner: &Inner) -> Result<Shape, OpError> {
        let nodes = inner.len + leaves.len;
        let mut counts = self.device.uninitialised::<u32>(nodes)?;
        let mut links = self.device.uninitialised::<u64>(nodes)?;
        let mut first = 0;
        for (level_counts, level_links) in inner.counts.iter().zip(&inner.links) {
            counts.copy_from_at(first, level_counts)?;
            links.copy_from_at(first, level_links)?;
            first += level_counts.len();
        }
        links.copy_from_at(first, &leaves.links)?;
        let leaf_counts = counts.as_global_mut().skip(inner.len);
        if V::SIZE == 4 {
            self.count::<u32>(leaves, leaf_counts)?;
        } else {
            self.count::<u64>(leaves, leaf_counts)?;
        }
        Ok(Shape { inner: inner.len, counts, links })
    }

    /// Writes the leaves' entries.
    fn fill(&self, leaves: &Level, tree: &mut tree::Tree) -> Result<(), OpError> {
        let (a, b) = (self.a.view::<V>(), self.b.view::<V>());
        let sum = tree::view_mut::<V>(&mut tree.pool);
        let of_leaves = |view: Global<u32>| view.skip(tree.shape.inner);
        let kernel = HiSparseAddLeaves {
            a_words: a.words,
            a_coordinates: a.coordinates,
            a_slots: a.slots,
            b_words: b.words,
            b_coordinates: b.coordinates,
            b_slots: b.slots,
            pairs: leaves.pairs.as_global(),
            root: leaves.root,
            counts: of_leaves(tree.shape.counts.as_global()),
            references: of_leaves(tree.references.as_global()),
            words: sum.words,
            coordinates: sum.coordinates,
            slots: sum.slots,
            len: leaves.len as u32,
            share: self.share(leaves.len),
            state: self.state,
            d_log2: D.ilog2(),
            a_scale: self.scales.0,
            b_scale: self.scales.1,
        };
        // SAFETY: both trees are valid, the pairs are of their leaves, and the sum's leaves have room for what was counted;
        // all are on this device, and buffers are freed in the stream's order.
        unsafe { self.launch(kernel, instance::<HiSparseAddLeaves<V>>(), leaves.len) }
    }

    /// Pairs of a warp: so many that a node's count is loaded beside others, and few enough that no multiprocessor idles.
    fn share(&self, pairs: usize) -> u32 {
        let warps = self.device.properties().multiprocessors as usize * WARPS;
        pairs.div_ceil(warps).clamp(1, thread::WARP_SIZE as usize) as u32
    }

    /// Launches a kernel that takes `pairs` pairs.
    ///
    /// # Safety
    ///
    /// As for [`Device::launch`].
    unsafe fn launch<K: evenpath_simt::kernel::Kernel>(
        &self,
        kernel: K,
        info: &'static KernelInfo,
        pairs: usize,
    ) -> Result<(), OpError> {
        let block_pairs = (info.block_size / thread::WARP_SIZE * self.share(pairs)) as usize;
        let shared = sum_shared_bytes(D.ilog2(), info.block_size);
        // SAFETY: the caller's. There are fewer than 2³⁰ pairs.
        unsafe { self.device.launch(kernel, info, pairs.div_ceil(block_pairs) as u32, shared) }?;
        Ok(())
    }
}
