//! The frozen schedule of products: what a traversal finds, kept.

use evenpath_kernels::hisparse::{
    HiSparseCountParts, HiSparseCountQuads, HiSparseListLeaves, HiSparseListParts,
};
use evenpath_simt::kernel::KernelInfo;

use super::device::Nodes;
use super::leaves::Leaves;
use crate::device::{Device, DeviceVec};
use crate::op::scan::{Operator, Scan};
use crate::op::transpose::{by_column, column_offsets};
use crate::op::{OpError, grid, instance, sort, vector};

/// Quads of a part, at least, unless its strip has fewer.
const FEWEST_QUADS: u64 = 256;

/// Quads of a part, at most: a kernel counts slots of a part in 31 bits.
const MOST_QUADS: u64 = 1 << 24;

/// Leaves by strip, and the parts of strips. `evenpath_kernels` says what these are.
pub(super) struct Frozen {
    pub(super) leaf_list: DeviceVec<u64>,
    pub(super) part_list: DeviceVec<u64>,
    pub(super) strip_parts: DeviceVec<u32>,
    pub(super) leaves: u32,
    pub(super) parts: u32,
    pub(super) strips: u32,
}

impl Frozen {
    /// The schedule of a tree of `D` × `D` nodes, or of its transpose, for a device that runs `warps` parts at once. Waits
    /// for the device once a level of the tree, and twice more.
    pub(super) fn new<const D: usize>(
        nodes: &Nodes,
        is_transposed: bool,
        warps: u32,
    ) -> Result<Self, OpError> {
        let device = nodes.pool.device();
        let Leaves { references, rows, cols } = Leaves::find::<D>(nodes)?;
        let (lines, operands, elements) =
            if is_transposed { (cols, rows, nodes.cols) } else { (rows, cols, nodes.rows) };
        let strips = elements.div_ceil(D);
        let leaves = references.len() as u32;
        let numbers = vector::iota(device, leaves)?;
        let (lines, order) = sort::sort_pairs(&lines, &numbers, by_column(strips))?;
        drop(numbers);
        let strip_leaves = column_offsets::<u32>(&lines, strips)?;
        // SAFETY: the order is a permutation of the leaves' numbers, and all are of one device.
        let (references, operands) = unsafe {
            (vector::gather_indices(&references, &order)?, vector::gather_indices(&operands, &order)?)
        };
        drop(order);
        let firsts = first_quads::<D>(nodes, &references)?;
        let quads = firsts.get(leaves as usize)?;
        let leaf_list = list_leaves::<D>(nodes, &references, &operands, &firsts)?;

        let part_quads = (quads / u64::from(warps)).clamp(FEWEST_QUADS, MOST_QUADS) as u32;
        let strip_parts = strip_parts(device, &strip_leaves, &firsts, strips as u32, part_quads)?;
        let parts = grid(nodes.rows, nodes.nnz, u64::from(strip_parts.get(strips)?))?;
        let mut part_list = device.uninitialized(2 * parts as usize + 2)?;
        let list = HiSparseListParts {
            strip_leaves: strip_leaves.as_global(),
            strip_parts: strip_parts.as_global(),
            firsts: firsts.as_global(),
            list: part_list.as_global_mut(),
            strips: strips as u32,
            parts,
        };
        let info = instance::<HiSparseListParts>();
        // SAFETY: the strips' leaves and parts are those that were found, and the list has two words for each part and
        // two more; buffers are freed in the stream's order.
        unsafe { device.launch(list, info, blocks(info, parts + 1), 0) }?;
        Ok(Self { leaf_list, part_list, strip_parts, leaves, parts, strips: strips as u32 })
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.leaf_list.bytes() + self.part_list.bytes() + self.strip_parts.bytes()
    }

    /// Whether a strip has several parts.
    pub(super) fn is_cut(&self) -> bool {
        self.parts > self.strips
    }
}

/// The first quad of each leaf, and the number of quads at the end.
fn first_quads<const D: usize>(
    nodes: &Nodes,
    references: &DeviceVec<u32>,
) -> Result<DeviceVec<u64>, OpError> {
    let device = nodes.pool.device();
    let leaves = references.len() as u32;
    let mut quads = device.uninitialized::<u64>(leaves as usize + 1)?;
    let count = HiSparseCountQuads {
        words: nodes.view::<u32>().words,
        references: references.as_global(),
        quads: quads.as_global_mut(),
        leaves,
        d_log2: D.ilog2(),
    };
    let info = instance::<HiSparseCountQuads>();
    // SAFETY: the tree is valid, the references are those of its leaves, and there is a word for each and one more.
    unsafe { device.launch(count, info, blocks(info, leaves + 1), 0) }?;
    Scan::exclusive(Operator::Sum).run(&quads)
}

fn list_leaves<const D: usize>(
    nodes: &Nodes,
    references: &DeviceVec<u32>,
    operands: &DeviceVec<u32>,
    firsts: &DeviceVec<u64>,
) -> Result<DeviceVec<u64>, OpError> {
    let device = nodes.pool.device();
    let leaves = references.len() as u32;
    let mut leaf_list = device.uninitialized(2 * leaves as usize)?;
    let list = HiSparseListLeaves {
        words: nodes.view::<u32>().words,
        references: references.as_global(),
        operands: operands.as_global(),
        firsts: firsts.as_global(),
        list: leaf_list.as_global_mut(),
        leaves,
        d_log2: D.ilog2(),
    };
    let info = instance::<HiSparseListLeaves>();
    // SAFETY: as in `first_quads`; the list has two words for each leaf.
    unsafe { device.launch(list, info, blocks(info, leaves), 0) }?;
    Ok(leaf_list)
}

/// The first part of each strip, and the number of parts at the end.
fn strip_parts(
    device: &Device,
    strip_leaves: &DeviceVec<u32>,
    firsts: &DeviceVec<u64>,
    strips: u32,
    part_quads: u32,
) -> Result<DeviceVec<u32>, OpError> {
    let mut counts = device.uninitialized::<u32>(strips as usize + 1)?;
    let count = HiSparseCountParts {
        strip_leaves: strip_leaves.as_global(),
        firsts: firsts.as_global(),
        counts: counts.as_global_mut(),
        strips,
        part_quads,
    };
    let info = instance::<HiSparseCountParts>();
    // SAFETY: the strips' leaves are places in `firsts`, and there is a count for each strip and one more.
    unsafe { device.launch(count, info, blocks(info, strips + 1), 0) }?;
    Scan::exclusive(Operator::Sum).run(&counts)
}

/// Blocks of a kernel of one thread an item.
fn blocks(info: &KernelInfo, items: u32) -> u32 {
    items.div_ceil(info.block_size)
}
