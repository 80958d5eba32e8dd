//! The frozen schedule of products: the stored result of a traversal.

use evenpath_kernels::hisparse::{
    FrozenSchedule, HiSparseCountParts, HiSparseCountQuads, HiSparseListLeaves, HiSparseListParts, NodeList,
};
use evenpath_kernels::spmv::ColumnOffsets;
use evenpath_kernels::vector::{GatherIndices, Iota};

use super::device::Nodes;
use super::leaves::{self, LeafList};
use crate::device::{Device, DeviceSlice, DeviceVec, Kernels};
use crate::format::transpose::{by_column, column_offsets};
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;
use crate::sequence::radix_sort::pair_kernels;
use crate::sequence::scan::{self, ScanOptions, sum_kernel};
use crate::sequence::{sort, vector};

/// Maximum number of quads in a part of any schedule.
pub(super) const MOST_QUADS: u32 = 1 << 24;

/// Leaves by strip, and the parts of strips, as `evenpath_kernels` defines them.
pub(super) struct Frozen {
    pub(super) leaf_list: DeviceVec<u64>,
    pub(super) part_list: DeviceVec<u64>,
    pub(super) strip_parts: DeviceVec<u32>,
    pub(super) leaves: u32,
    pub(super) parts: u32,
    pub(super) strips: u32,
    /// The number of quads of all leaves.
    pub(super) quads: u64,
}

/// The kernels that build a schedule, for compilation ahead of use.
fn kernels() -> Kernels {
    leaves::kernels()
        .and_all(pair_kernels::<u32, u32>())
        .and_all(sum_kernel::<u64>())
        .and::<Iota>()
        .and::<ColumnOffsets<u32>>()
        .and::<GatherIndices>()
        .and::<HiSparseCountQuads>()
        .and::<HiSparseListLeaves>()
        .and::<HiSparseCountParts>()
        .and::<HiSparseListParts>()
}

impl Frozen {
    /// Creates the schedule of a tree of `D` × `D` nodes, or of its transpose, and returns the first quad of
    /// each leaf. `part_quads` returns the maximum number of quads in a part, which is not 0, given the
    /// number of all quads. Waits for the device once per level of the tree, and twice more.
    pub(super) fn new<const D: usize>(
        nodes: &Nodes,
        is_transposed: bool,
        part_quads: impl FnOnce(u64) -> u32,
    ) -> Result<(Self, DeviceVec<u64>), OpError> {
        let device = nodes.pool.device();
        device.prepare(kernels)?;
        let LeafList { references, rows, cols } = LeafList::find::<D>(nodes)?;
        let (lines, operands, elements) =
            if is_transposed { (cols, rows, nodes.cols) } else { (rows, cols, nodes.rows) };
        let strips = elements.div_ceil(D);
        let leaves = references.len() as u32;
        let numbers = vector::iota(device, leaves)?;
        let (lines, order) = sort::pairs(Pairs::new(&lines, &numbers), by_column(strips))?;
        drop(numbers);
        let strip_leaves = column_offsets::<u32>(&lines, strips)?;
        // SAFETY: the order is a permutation of the leaves' numbers, and all are of one device.
        let (references, operands) = unsafe {
            (vector::gather_indices(&references, &order)?, vector::gather_indices(&operands, &order)?)
        };
        drop(order);
        let d_log2 = D.ilog2();
        let list = NodeList { pool: nodes.view(), references: references.as_global(), len: leaves, d_log2 };
        let firsts = first_quads(device, list)?;
        let quads = firsts.get(leaves as usize)?;
        let leaf_list = list_leaves(device, list, &operands, &firsts)?;

        let strip_parts = strip_parts(device, &strip_leaves, &firsts, strips as u32, part_quads(quads))?;
        let parts = strip_parts.get(strips)?;
        let mut part_list = device.uninitialized(2 * parts as usize + 2)?;
        let launch = device.kernel().threads(parts as usize + 1)?;
        let list = HiSparseListParts {
            strip_leaves: strip_leaves.as_global(),
            strip_parts: strip_parts.as_global(),
            firsts: firsts.as_global(),
            list: part_list.as_aligned_mut(),
            strips: strips as u32,
            parts,
        };
        // SAFETY: the strips' leaves and parts are those that were found, and the list has two words for each part and
        // two more; buffers are freed in the stream's order.
        unsafe { launch.launch(list) }?;
        let strips = strips as u32;
        Ok((Self { leaf_list, part_list, strip_parts, leaves, parts, strips, quads }, firsts))
    }

    /// A view for products.
    pub(super) fn view(&self) -> FrozenSchedule {
        FrozenSchedule {
            leaf_list: self.leaf_list.as_aligned(),
            part_list: self.part_list.as_aligned(),
            strip_parts: self.strip_parts.as_global(),
            leaves: self.leaves,
            parts: self.parts,
            strips: self.strips,
        }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.leaf_list.bytes() + self.part_list.bytes() + self.strip_parts.bytes()
    }

    /// Returns whether a strip has several parts.
    pub(super) fn is_cut(&self) -> bool {
        self.parts > self.strips
    }
}

/// The first quad of each leaf of a valid tree, and the number of quads at the end.
fn first_quads(device: &Device, leaves: NodeList<u32>) -> Result<DeviceVec<u64>, OpError> {
    let len = leaves.len as usize + 1;
    let mut quads = device.uninitialized::<u64>(len)?;
    let launch = device.kernel().threads(len)?;
    let count = HiSparseCountQuads { leaves, quads: quads.as_global_mut() };
    // SAFETY: the tree is valid, the references are those of its leaves, and there is a word for each and one more.
    unsafe { launch.launch(count) }?;
    scan::values(&quads, ScanOptions::exclusive(Operator::Sum))
}

/// Lists the leaves of a valid tree in the order of products.
fn list_leaves(
    device: &Device,
    leaves: NodeList<u32>,
    operands: &DeviceSlice<u32>,
    firsts: &DeviceSlice<u64>,
) -> Result<DeviceVec<u64>, OpError> {
    let len = leaves.len as usize;
    let mut leaf_list = device.uninitialized(2 * len)?;
    let launch = device.kernel().threads(len)?;
    let list = HiSparseListLeaves {
        leaves,
        operands: operands.as_global(),
        firsts: firsts.as_global(),
        list: leaf_list.as_aligned_mut(),
    };
    // SAFETY: as in `first_quads`; the list has two words for each leaf.
    unsafe { launch.launch(list) }?;
    Ok(leaf_list)
}

/// The first part of each strip, and the number of parts at the end.
fn strip_parts(
    device: &Device,
    strip_leaves: &DeviceSlice<u32>,
    firsts: &DeviceSlice<u64>,
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
    let launch = device.kernel().threads(strips as usize + 1)?;
    // SAFETY: the strips' leaves are indices of `firsts`, and there is a count for each strip and one more.
    unsafe { launch.launch(count) }?;
    scan::values(&counts, ScanOptions::exclusive(Operator::Sum))
}
