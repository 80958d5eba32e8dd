//! Keeps one of equal nodes of a pool, on a machine, level by level from the leaves. The nodes of a level are
//! sorted by hashes of their content, and each is compared with the first one of the same hash. Those that
//! differ from it, because hashes collide, are hashed by another function, and so on, until there are none.
//! Each round finds at least one distinct node.

use evenpath_kernels::hisparse::{
    HiSparseCompareNodes, HiSparseCopyKept, HiSparseCountChildren, HiSparseHashNodes, HiSparseRebaseChildren,
    HiSparseReplaceChildren, HiSparseReplaceRoots, InnerNodes, KeptNodes, LevelNodes, NodeList,
};

use super::device::{pool_view, pool_view_mut};
use super::leaves;
use crate::device::{Device, DeviceSlice, DeviceVec, Kernels};
use crate::matrix::hisparse::Unit;
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::scan::{self, ScanOptions};
use crate::sequence::sort::{self, SortOptions};
use crate::sequence::{reduce, vector};

/// The kernels of a search, for compilation ahead of use.
pub(super) fn kernels() -> Kernels {
    leaves::kernels()
        .and_all(pair_kernels::<u32, u32>())
        .and::<HiSparseRebaseChildren>()
        .and::<HiSparseHashNodes>()
        .and::<HiSparseCompareNodes>()
        .and::<HiSparseReplaceChildren>()
        .and::<HiSparseReplaceRoots>()
        .and::<HiSparseCopyKept>()
}

/// Trees in one pool, the concatenation of their pools. It is modified.
pub(super) struct EqualNodes {
    pub(super) pool: DeviceVec<Unit>,
    /// The unit at which each of the pools starts.
    pub(super) bases: DeviceVec<u32>,
    pub(super) d_log2: u32,
    pub(super) value_bytes: u32,
    /// Bits of a hash, at most 32.
    pub(super) hash_bits: u32,
}

/// Nodes of a level, once the kept ones are known.
pub(super) struct KeptLevel {
    /// References to the nodes, ascending, each once.
    references: DeviceVec<u32>,
    /// The number of the equal node that is kept, for each node.
    kept: DeviceVec<u32>,
    /// The unit of the new pool at which each kept node starts, and the unit after all of them.
    units: DeviceVec<u32>,
}

impl KeptLevel {
    fn view(&self) -> KeptNodes {
        KeptNodes {
            references: self.references.as_global(),
            len: self.references.len() as u32,
            kept: self.kept.as_global(),
            units: self.units.as_global(),
        }
    }

    /// Replaces references to nodes of this level by references to the nodes of the new pool.
    pub(super) fn replace(&self, roots: &mut DeviceSlice<u32>) -> Result<(), OpError> {
        let len = roots.len();
        let launch = roots.device().kernel().threads(len)?;
        let kernel =
            HiSparseReplaceRoots { roots: roots.as_global_mut(), len: len as u32, level: self.view() };
        // SAFETY: the references are among those of the level, whose arrays have an element for each node; all are on this
        // device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

impl EqualNodes {
    /// Returns the levels, starting at the leaves, and a pool of the kept nodes. `roots` has for each level
    /// the roots on it, as references to this pool. Waits for the device several times per level.
    pub(super) fn share(
        mut self,
        roots: &[DeviceVec<u32>],
    ) -> Result<(Vec<KeptLevel>, DeviceVec<Unit>), OpError> {
        let mut lists: Vec<DeviceVec<u32>> = Vec::with_capacity(roots.len());
        for roots in roots.iter().rev() {
            let references = match lists.last() {
                Some(above) => self.children(above, roots)?,
                None => roots.copied()?,
            };
            lists.push(self.distinct(references)?);
        }
        // The first unit belongs to no node.
        let mut end = 1;
        let mut levels: Vec<KeptLevel> = Vec::with_capacity(roots.len());
        while let Some(references) = lists.pop() {
            if let Some(below) = levels.last() {
                self.replace_children(&references, below)?;
            }
            let level = self.level(references, levels.is_empty(), end)?;
            end = level.units.get(level.references.len())?;
            levels.push(level);
        }
        let mut pool = self.device().zeros(end as usize)?;
        for (height, level) in levels.iter().enumerate() {
            self.copy_kept(level, height == 0, &mut pool)?;
        }
        Ok((levels, pool))
    }

    fn device(&self) -> &Device {
        self.pool.device()
    }

    /// References to the children of nodes, then `roots`. References in the nodes count from the start of the whole pool
    /// afterwards.
    fn children(
        &mut self,
        nodes: &DeviceSlice<u32>,
        roots: &DeviceSlice<u32>,
    ) -> Result<DeviceVec<u32>, OpError> {
        let (device, len) = (self.device().clone(), nodes.len());
        let mut counts = device.uninitialized::<u32>(len + 1)?;
        let count = HiSparseCountChildren {
            nodes: NodeList {
                pool: pool_view(&self.pool),
                references: nodes.as_global(),
                len: len as u32,
                d_log2: self.d_log2,
            },
            counts: counts.as_global_mut(),
        };
        // SAFETY: the references are of inner nodes of valid trees, and there is a count for each and one more. All are on
        // this device, and buffers are freed in the stream's order.
        unsafe { device.kernel().warps(len + 1)?.launch(count) }?;
        let starts = scan::values(&counts, ScanOptions::exclusive(Operator::Sum))?;
        let total = starts.get(len)? as usize;
        let mut references = device.uninitialized(total + roots.len())?;
        references.slice_mut(total..total + roots.len())?.copy_from(roots)?;
        let rebase = HiSparseRebaseChildren {
            nodes: self.inner_nodes(nodes),
            bases: self.bases.as_global(),
            pools: self.bases.len() as u32,
            starts: starts.as_global(),
            children: references.as_global_mut(),
        };
        // SAFETY: as above. Each node is among them once, and was not before, so it is rebased once. There is a reference for each
        // child, at the position that the scan of the counts gives.
        unsafe { device.kernel().warps(len)?.launch(rebase) }?;
        Ok(references)
    }

    /// The references, ascending, each once.
    fn distinct(&self, mut references: DeviceVec<u32>) -> Result<DeviceVec<u32>, OpError> {
        // The bits of the greatest possible reference, including two for the kind.
        let bits = (4 * self.pool.len() as u64 - 1).ilog2() + 1;
        sort::keys_in_place(&mut references, SortOptions::default().with_bits(0..bits))?;
        Ok(reduce::by_keys(&references, &references, Operator::Max)?.0)
    }

    /// Inner nodes, for writing.
    fn inner_nodes(&mut self, references: &DeviceSlice<u32>) -> InnerNodes {
        InnerNodes {
            references: references.as_global(),
            len: references.len() as u32,
            d_log2: self.d_log2,
            words: pool_view_mut::<u32>(&mut self.pool).words.natural(),
        }
    }

    /// Replaces the references in inner nodes by those to the kept nodes of the level below.
    fn replace_children(&mut self, references: &DeviceSlice<u32>, below: &KeptLevel) -> Result<(), OpError> {
        let launch = self.device().kernel().warps(references.len())?;
        let kernel = HiSparseReplaceChildren { nodes: self.inner_nodes(references), children: below.view() };
        // SAFETY: each node is among them once, and its children are nodes of the level below; all are on this device, and
        // buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// A view of the nodes of a level.
    fn view(&self, references: &DeviceSlice<u32>, are_leaves: bool) -> LevelNodes {
        LevelNodes {
            words: pool_view::<u32>(&self.pool).words,
            references: references.as_global(),
            d_log2: self.d_log2,
            slot_bytes: if are_leaves { self.value_bytes } else { 4 },
        }
    }

    /// Creates the level of these nodes, of which the kept ones start at `first_unit` of the new pool.
    fn level(
        &self,
        references: DeviceVec<u32>,
        are_leaves: bool,
        first_unit: u32,
    ) -> Result<KeptLevel, OpError> {
        let (device, len) = (self.device(), references.len());
        let nodes = self.view(&references, are_leaves);
        let mut found = ComparedLevel { kept: device.uninitialized(len)?, sizes: device.zeros(len + 1)? };
        let mut numbers = vector::iota(device, len as u32)?;
        let mut seed = 0;
        while !numbers.is_empty() {
            numbers = self.compare(nodes, numbers, seed, &mut found)?;
            seed += 1;
        }
        let units =
            scan::values(&found.sizes, ScanOptions::exclusive(Operator::Sum).with_initial(first_unit))?;
        Ok(KeptLevel { references, kept: found.kept, units })
    }

    /// Finds the nodes that equal the first one with the same hash, among those of the given numbers, which ascend. Returns
    /// the numbers of the others, ascending.
    fn compare(
        &self,
        nodes: LevelNodes,
        mut numbers: DeviceVec<u32>,
        seed: u32,
        found: &mut ComparedLevel,
    ) -> Result<DeviceVec<u32>, OpError> {
        let (device, len) = (self.device(), numbers.len());
        let mut hashes = device.uninitialized::<u32>(len)?;
        let hash = HiSparseHashNodes {
            nodes,
            numbers: numbers.as_global(),
            len: len as u32,
            seed,
            mask: ((1_u64 << self.hash_bits) - 1) as u32,
            hashes: hashes.as_global_mut(),
        };
        // SAFETY: the numbers are of valid nodes, and there is a hash for each; all are on this device, and buffers are freed in
        // the stream's order.
        unsafe { device.kernel().warps(len)?.launch(hash) }?;
        let options = SortOptions::default().with_bits(0..self.hash_bits);
        sort::pairs_in_place(&mut hashes, &mut numbers, options)?;
        // The sort is stable, so numbers ascend among equal hashes.
        let firsts = scan::by_keys(&hashes, &numbers, ScanOptions::inclusive(Operator::Min))?;
        drop(hashes);
        let mut others = device.uninitialized(len)?;
        let mut other_count = device.zeros::<u32>(1)?;
        let compare = HiSparseCompareNodes {
            nodes,
            numbers: numbers.as_global(),
            firsts: firsts.as_global(),
            len: len as u32,
            kept: found.kept.as_global_mut(),
            sizes: found.sizes.as_global_mut(),
            others: others.as_global_mut(),
            other_count: other_count.as_global_mut(),
        };
        // SAFETY: as above; the first of each hash is among the numbers, and the outputs have an element for each node.
        unsafe { device.kernel().warps(len)?.launch(compare) }?;
        others.truncate(other_count.get(0)? as usize);
        sort::keys_in_place(&mut others, SortOptions::default())?;
        Ok(others)
    }

    /// Copies the kept nodes of a level to the new pool.
    fn copy_kept(
        &self,
        level: &KeptLevel,
        are_leaves: bool,
        pool: &mut DeviceSlice<Unit>,
    ) -> Result<(), OpError> {
        let len = level.references.len();
        let kernel = HiSparseCopyKept {
            nodes: self.view(&level.references, are_leaves),
            len: len as u32,
            kept: level.kept.as_global(),
            units: level.units.as_global(),
            pool: pool_view_mut::<u32>(pool).words,
        };
        // SAFETY: the nodes are valid, and the new pool has room for those that are kept, at units that the scan of their
        // sizes gives; all are on this device, and buffers are freed in the stream's order.
        unsafe { self.device().kernel().warps(len)?.launch(kernel) }?;
        Ok(())
    }
}

/// Nodes of a level.
struct ComparedLevel {
    /// The number of the equal node that is kept, for each node.
    kept: DeviceVec<u32>,
    /// The units of each kept node, 0 for others, and 0 at the end.
    sizes: DeviceVec<u32>,
}
