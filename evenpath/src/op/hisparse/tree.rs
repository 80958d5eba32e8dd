//! Builds the pool of a tree from its nodes, on a machine: positions, one allocation, then counts and references. The
//! entries of leaves are written afterwards.

use std::sync::Arc;

use evenpath_kernels::hisparse::{HiSparseLinkNodes, HiSparsePlaceNodes, PLACE_RESULTS, place_state_words};
use evenpath_simt::Element;

use super::device::{Nodes, pool_view_mut};
use crate::device::{Device, DeviceVec, Kernels};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{Reference, Unit};
use crate::op::OpError;

/// The nodes of a tree, numbered level by level from the root, within a level in the order of their parents' entries. There
/// are fewer than 2³⁰.
pub(super) struct Shape {
    /// The number of inner nodes, which come first.
    pub(super) inner: usize,
    /// The number of children or entries of each node.
    pub(super) counts: DeviceVec<u32>,
    /// Each node's link to its parent, as the kernels store it.
    pub(super) links: DeviceVec<u64>,
}

/// A tree whose leaves have no entries yet.
pub(super) struct Tree {
    pub(super) shape: Shape,
    pub(super) references: DeviceVec<u32>,
    pub(super) pool: DeviceVec<Unit>,
    root: Reference,
    /// Entries of all leaves.
    entries: u64,
}

/// The kernels that build a tree, for compilation ahead of use.
pub(super) fn kernels() -> Kernels {
    Kernels::default().and::<HiSparsePlaceNodes>().and::<HiSparseLinkNodes>()
}

impl Shape {
    /// Lays out the nodes, allocates their pool, and writes everything except the leaves' coordinates and values. Waits for
    /// the device, which computes the size of the pool.
    pub(super) fn build<V: Element>(self, device: &Device, d_log2: u32) -> Result<Tree, OpError> {
        let nodes = self.counts.len();
        let mut references = device.uninitialized(nodes)?;
        let [units, entries, root] = self.place::<V>(device, d_log2, &mut references)?;
        if units > MAX_UNITS as u64 {
            return Err(too_large().into());
        }
        let mut pool = device.zeros::<Unit>(units as usize)?;
        let launch = device.kernel().threads(nodes)?;
        let kernel = HiSparseLinkNodes {
            counts: self.counts.as_global(),
            links: self.links.as_global(),
            references: references.as_global(),
            pool: pool_view_mut(&mut pool),
            nodes: nodes as u32,
            d_log2,
        };
        // SAFETY: there is a count, a link and a reference for each node, and the pool has room for all nodes. Links name
        // entries within their parents' counts. All are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(Tree { shape: self, references, pool, root: Reference(root as u32), entries })
    }

    /// Computes the references. Returns the units of the pool, the entries of all leaves, and the reference to the root.
    fn place<V: Element>(
        &self,
        device: &Device,
        d_log2: u32,
        references: &mut DeviceVec<u32>,
    ) -> Result<[u64; PLACE_RESULTS], OpError> {
        let nodes = self.counts.len();
        let launch = device.kernel().items(nodes)?;
        let mut states = device.zeros::<u64>(place_state_words(launch.grid() as usize))?;
        let kernel = HiSparsePlaceNodes {
            counts: self.counts.as_global(),
            references: references.as_global_mut(),
            states: states.as_global_mut(),
            inner: self.inner as u32,
            nodes: nodes as u32,
            value_bytes: V::SIZE as u32,
            d_log2,
        };
        // SAFETY: there is a reference for each count, and states for the tiles, all zero; all are on this device.
        unsafe { launch.launch(kernel) }?;
        states.truncate(PLACE_RESULTS);
        let mut results = [0; PLACE_RESULTS];
        states.copy_to_slice(&mut results)?;
        Ok(results)
    }
}

impl Tree {
    /// The tree as a `rows` x `cols` matrix, once the entries of the leaves are written.
    pub(super) fn into_nodes(self, rows: usize, cols: usize) -> Nodes {
        Nodes { rows, cols, nnz: self.entries as usize, pool: Arc::new(self.pool), root: self.root }
    }
}

/// The tree of a matrix without nonzeros.
pub(super) fn empty(device: &Device, rows: usize, cols: usize) -> Result<Nodes, OpError> {
    Ok(Nodes { rows, cols, nnz: 0, pool: Arc::new(device.zeros(1)?), root: Reference::NULL })
}
