//! From a tree's nodes to its pool, on a machine: places, one allocation, then counts and references. Leaves get their
//! entries afterwards.

use evenpath_kernels::hisparse::{
    HiSparseLinkNodes, HiSparsePlaceNodes, PLACE_RESULTS, PoolMut, place_state_words,
};
use evenpath_simt::{Element, GlobalMut};

use super::device::Nodes;
use crate::device::{Device, DeviceVec};
use crate::matrix::hisparse::node::MAX_UNITS;
use crate::matrix::hisparse::tree::too_large;
use crate::matrix::hisparse::{Reference, Unit};
use crate::op::{OpError, instance, tile_count};

/// The nodes of a tree, numbered level by level from the root, within a level in the order of their parents' entries. There
/// are fewer than 2³⁰.
pub(super) struct Shape {
    /// Inner nodes, which come first.
    pub(super) inner: usize,
    /// Children of inner nodes, entries of leaves.
    pub(super) counts: DeviceVec<u32>,
    /// Each node's entry in its parent, as kernels have it.
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

impl Shape {
    /// Lays the nodes out, allocates their pool, and writes all but the leaves' coordinates and values. Waits for the
    /// device, which alone knows how large the pool is.
    pub(super) fn build<V: Element>(self, device: &Device, d_log2: u32) -> Result<Tree, OpError> {
        let nodes = self.counts.len();
        let mut references = device.uninitialized(nodes)?;
        let [units, entries, root] = self.place::<V>(device, d_log2, &mut references)?;
        if units > MAX_UNITS as u64 {
            return Err(too_large().into());
        }
        let mut pool = device.zeros::<Unit>(units as usize)?;
        let PoolMut { words, coordinates, .. } = view_mut::<u32>(&mut pool);
        let kernel = HiSparseLinkNodes {
            counts: self.counts.as_global(),
            links: self.links.as_global(),
            references: references.as_global(),
            words,
            coordinates,
            nodes: nodes as u32,
            d_log2,
        };
        let info = instance::<HiSparseLinkNodes>();
        // SAFETY: counts, links and references are of all nodes, which the pool was measured for; links are to entries
        // that parents' counts count. All are on this device, and buffers are freed in the stream's order.
        unsafe { device.launch(kernel, info, tile_count("a tree's nodes", info, nodes)?, 0) }?;
        Ok(Tree { shape: self, references, pool, root: Reference(root as u32), entries })
    }

    /// Finds the references. Units of the pool, entries of the leaves, and the reference to the root.
    fn place<V: Element>(
        &self,
        device: &Device,
        d_log2: u32,
        references: &mut DeviceVec<u32>,
    ) -> Result<[u64; PLACE_RESULTS], OpError> {
        let info = instance::<HiSparsePlaceNodes>();
        let nodes = self.counts.len();
        let tiles = tile_count("a tree's nodes", info, nodes)?;
        let mut states = device.zeros::<u64>(place_state_words(tiles as usize))?;
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
        unsafe { device.launch(kernel, info, tiles, 0) }?;
        states.truncate(PLACE_RESULTS);
        let mut results = [0; PLACE_RESULTS];
        states.copy_to_slice(&mut results)?;
        Ok(results)
    }
}

impl Tree {
    /// The tree as a matrix of `rows` x `cols`, once leaves have their entries.
    pub(super) fn into_nodes(self, rows: usize, cols: usize) -> Nodes {
        Nodes { rows, cols, nnz: self.entries as usize, pool: self.pool, root: self.root }
    }
}

/// The tree of a matrix without nonzeros.
pub(super) fn empty(device: &Device, rows: usize, cols: usize) -> Result<Nodes, OpError> {
    Ok(Nodes { rows, cols, nnz: 0, pool: device.zeros(1)?, root: Reference::NULL })
}

/// A pool as kernels see it that write it, where slots are `T`: references of inner nodes, or values of leaves.
pub(super) fn view_mut<T: Element>(pool: &mut DeviceVec<Unit>) -> PoolMut<T> {
    fn of<T: Element>(pool: &DeviceVec<Unit>) -> GlobalMut<T> {
        GlobalMut::from_device(pool.address(), (pool.len() * (size_of::<Unit>() / T::SIZE)) as u64)
    }
    PoolMut { words: of(pool), coordinates: of(pool), slots: of(pool) }
}
