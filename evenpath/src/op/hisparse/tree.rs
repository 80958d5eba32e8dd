//! Builds a tree from sorted runs, on a machine: its nodes, their positions in the pool, and the pool. Links
//! and the entries of leaves are written afterwards.

use std::sync::{Arc, OnceLock};

use evenpath_kernels::Key as KernelKey;
use evenpath_kernels::hisparse::{
    self as kernels, HiSparseLinkNodes, HiSparsePlaceNodes, HiSparseWriteNodes, TREE_RESULTS, TREE_ROOT,
    TREE_UNITS, TreeLevels, TreeNodes, TreeShape, node_state_words, place_state_words,
};
use evenpath_simt::{Element, Global};

use super::device::{Nodes, pool_view_mut};
use crate::device::{Device, DeviceVec, Kernels};
use crate::keys::SortKey;
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{self, Reference, Unit};
use crate::operand::OpError;

/// Runs sorted by the paths of their leaves; at least one.
pub(super) struct SortedRuns<K: SortKey> {
    pub(super) keys: DeviceVec<K>,
    pub(super) runs: DeviceVec<u64>,
}

/// A tree whose nodes have positions in a pool, which is zero.
pub(super) struct PlacedTree {
    shape: TreeShape,
    /// Number of nodes of each level, starting at the root.
    level_sizes: Vec<usize>,
    /// The number of each node's first child or entry.
    firsts: DeviceVec<u32>,
    /// Each node's link to its parent, as the kernels store it.
    links: DeviceVec<u64>,
    references: DeviceVec<u32>,
    /// Results of the kernels, the number of nodes of each level first.
    state: DeviceVec<u64>,
    /// The leaf of each run, and the number of the run's first entry.
    pub(super) leaves: DeviceVec<u32>,
    pub(super) places: DeviceVec<u32>,
    pub(super) pool: DeviceVec<Unit>,
    root: Reference,
    /// Entries of all leaves.
    entries: u64,
}

/// The kernels that build a tree, for compilation ahead of use.
pub(super) fn kernels<K: SortKey + KernelKey>() -> Kernels {
    Kernels::default().and::<HiSparseWriteNodes<K>>().and::<HiSparsePlaceNodes>()
}

impl<K: SortKey + KernelKey> SortedRuns<K> {
    /// Builds the tree of a `rows` x `cols` matrix. Waits for the device, which computes the size of the
    /// pool.
    pub(super) fn tree<V: Element, const D: usize>(
        &self,
        rows: usize,
        cols: usize,
    ) -> Result<PlacedTree, OpError> {
        let (device, runs) = (self.keys.device(), self.keys.len());
        let depth = hisparse::depth(rows, cols, D);
        let along = |len: usize| len.div_ceil(D) as u32;
        let shape = TreeShape {
            leaf_rows: along(rows),
            leaf_columns: along(cols),
            runs: runs as u32,
            depth: depth as u32,
            d_log2: D.ilog2(),
        };
        let numbers = shape.first(shape.depth);
        if numbers > u64::from(u32::MAX) {
            let what = "numbering the nodes of a tree by the runs of its leaves";
            return Err(OpError::TooLong { what, len: runs, limit: u32::MAX as usize / depth });
        }
        let write = device.kernel::<HiSparseWriteNodes<K>>().items(runs)?;
        let place = device.kernel::<HiSparsePlaceNodes>().items(numbers as usize)?;
        let placing = TREE_RESULTS + node_state_words(depth, write.grid() as usize);
        let state = device.zeros(placing + place_state_words(place.grid() as usize))?;
        let mut tree = PlacedTree::new(device, shape, state)?;
        let kernel = HiSparseWriteNodes {
            runs: kernels::SortedRuns { keys: self.keys.as_global(), runs: self.runs.as_global() },
            levels: tree.levels(),
            state: tree.state.as_global_mut().skip(TREE_RESULTS),
            firsts: tree.firsts.as_global_mut(),
            links: tree.links.as_global_mut(),
            leaves: tree.leaves.as_global_mut(),
            places: tree.places.as_global_mut(),
        };
        // SAFETY: there is a run for each key, a leaf and a place for each run, and a first and a link for each number that nodes
        // may have. The state has words for all tiles, all zero. All are on this device.
        unsafe { write.launch(kernel) }?;
        let kernel = HiSparsePlaceNodes {
            levels: tree.levels(),
            firsts: tree.firsts.as_global(),
            references: tree.references.as_global_mut(),
            state: tree.state.as_global_mut().skip(placing),
            value_bytes: V::SIZE as u32,
        };
        // SAFETY: the nodes are counted, and there is a reference for each number. The state is as above.
        unsafe { place.launch(kernel) }?;
        tree.allocate(depth)?;
        Ok(tree)
    }
}

impl PlacedTree {
    /// A tree without nodes.
    fn new(device: &Device, shape: TreeShape, state: DeviceVec<u64>) -> Result<Self, OpError> {
        let (numbers, runs) = (shape.first(shape.depth) as usize, shape.runs as usize);
        Ok(Self {
            shape,
            level_sizes: Vec::new(),
            firsts: device.uninitialized(numbers)?,
            links: device.uninitialized(numbers)?,
            references: device.uninitialized(numbers)?,
            state,
            leaves: device.uninitialized(runs)?,
            places: device.uninitialized(runs)?,
            pool: device.uninitialized(0)?,
            root: Reference::NULL,
            entries: 0,
        })
    }

    /// Allocates the pool for the nodes that have been placed. Waits for the device.
    fn allocate(&mut self, depth: usize) -> Result<(), OpError> {
        let results = self.state.first::<TREE_RESULTS>()?;
        // The first unit belongs to no node.
        let units = 1 + results[TREE_UNITS];
        if units > MAX_UNITS as u64 {
            return Err(too_large().into());
        }
        self.pool = self.state.device().zeros(units as usize)?;
        self.root = Reference(results[TREE_ROOT] as u32);
        self.level_sizes = results[..depth].iter().map(|&size| size as usize).collect();
        self.entries = results[depth];
        Ok(())
    }

    fn levels(&mut self) -> TreeLevels {
        TreeLevels { shape: self.shape, results: self.state.as_global_mut() }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.level_sizes.iter().sum()
    }

    /// A view of the nodes.
    pub(super) fn nodes(&mut self) -> TreeNodes {
        TreeNodes {
            levels: self.levels(),
            firsts: self.firsts.as_global(),
            links: self.links.as_global(),
            references: self.references.as_global(),
        }
    }

    /// References to the leaves.
    pub(super) fn leaf_references(&self) -> Global<u32> {
        self.references.as_global().skip(self.shape.first(self.shape.depth - 1) as usize)
    }

    /// Writes the counts of nodes and their references.
    pub(super) fn link(&mut self) -> Result<(), OpError> {
        let launch = self.state.device().kernel().threads(self.len())?;
        let kernel = HiSparseLinkNodes { nodes: self.nodes(), pool: pool_view_mut(&mut self.pool) };
        // SAFETY: the nodes have been placed, and the pool has room for them. Links name nodes. All are on this device, and
        // buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Returns the tree as a `rows` x `cols` matrix, once everything is written.
    pub(super) fn into_nodes(self, rows: usize, cols: usize) -> Nodes {
        let (nnz, level_sizes) = (self.entries as usize, self.level_sizes.into());
        Nodes { rows, cols, nnz, pool: Arc::new(self.pool), root: self.root, level_sizes }
    }
}

/// The tree of a matrix without nonzeros.
pub(super) fn empty(device: &Device, rows: usize, cols: usize) -> Result<Nodes, OpError> {
    let level_sizes = OnceLock::new();
    Ok(Nodes { rows, cols, nnz: 0, pool: Arc::new(device.zeros(1)?), root: Reference::NULL, level_sizes })
}
