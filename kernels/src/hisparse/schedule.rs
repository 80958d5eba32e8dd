//! The frozen schedule of products with a HiSparse matrix: the result of a traversal is kept, so that a product reads only
//! leaves.
//!
//! A *strip* is D consecutive elements of the result: those of one row of leaves, or of one column where the matrix is
//! transposed. A *quad* is four consecutive slots of a leaf, which a lane takes at a time and one vector load brings; the
//! last of a leaf may have fewer. Leaves are listed by strip, and quads are numbered in that order. A *part* is a sequence
//! of quads of one strip, the work of a block. Strips of many quads have several parts, of equal length except for the last
//! ones.

use evenpath_simt::{device, kernel, parameters, thread, Aligned16, Arena, Element, Global, GlobalMut};

use super::node::NodeList;
use crate::block::search::partition_point;

/// Slots of a quad.
pub const QUAD: u32 = 4;

/// Bits of the number of slots of a listed leaf.
const COUNT_BITS: u32 = 17;

/// A leaf in a schedule's list, 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedLeaf {
    /// The reference to the leaf.
    pub(super) reference: u32,
    /// The index of its segment of the dense operand, in segments of D elements.
    pub(super) operand: u32,
    /// Its first quad.
    pub(super) first: u64,
    /// The number of its slots; D² if it is dense.
    pub(super) count: u32,
}

impl ListedLeaf {
    /// Returns the stored words. Quads have numbers below 2⁴⁷, because there are at most 2³⁰ leaves.
    #[device]
    pub(super) fn pack(self) -> [u64; 2] {
        let Self { reference, operand, first, count } = self;
        [u64::from(reference) | u64::from(operand) << 32, first << COUNT_BITS | u64::from(count)]
    }

    /// Returns the leaf of stored words.
    #[device]
    pub(super) fn unpack([low, high]: [u64; 2]) -> Self {
        Self {
            reference: low as u32,
            operand: (low >> 32) as u32,
            first: high >> COUNT_BITS,
            count: high as u32 & ((1 << COUNT_BITS) - 1),
        }
    }
}

/// A part in a schedule's list, 16 bytes. It ends where the next one begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedPart {
    /// Its first quad.
    pub(super) begin: u64,
    /// Its strip.
    pub(super) strip: u32,
    /// The index in the list of the leaf with its first quad, if it has any quads.
    pub(super) leaf: u32,
}

impl ListedPart {
    /// Returns the stored words.
    #[device]
    pub(super) fn pack(self) -> [u64; 2] {
        [self.begin, u64::from(self.strip) | u64::from(self.leaf) << 32]
    }

    /// Returns the leaf of stored words.
    #[device]
    pub(super) fn unpack([begin, rest]: [u64; 2]) -> Self {
        Self { begin, strip: rest as u32, leaf: (rest >> 32) as u32 }
    }
}

parameters! {
    /// A schedule, as products read it.
    pub struct FrozenSchedule {
        /// Two words per leaf: a `ListedLeaf`.
        pub leaf_list: Global<u64, Aligned16>,
        /// Two words per part, a `ListedPart`, and two for the end.
        pub part_list: Global<u64, Aligned16>,
        /// The first part of each strip, and the number of parts at the end.
        pub strip_parts: Global<u32>,
        /// The number of leaves.
        pub leaves: u32,
        /// The number of parts.
        pub parts: u32,
        /// The number of strips.
        pub strips: u32,
    }
}

kernel! {
    /// Counts the quads of each leaf: one thread per leaf, and one for the end.
    pub struct HiSparseCountQuads {
        /// The leaves.
        pub leaves: NodeList<u32>,
        /// Output: the number of quads of each leaf, and zero at the end.
        pub quads: GlobalMut<u64>,
    }
    shared: 0;
    body: HiSparseCountQuads::count_quads::<BLOCK>;
    entry: hisparse_count_quads in hisparse_schedule: 256 x 1;
}

impl HiSparseCountQuads {
    #[device]
    fn count_quads<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        let NodeList { pool, len, d_log2, .. } = self.leaves;
        if index < len as usize {
            let count = pool.slot_count(self.leaves.reference(index), d_log2);
            self.quads.store(index, u64::from(count.div_ceil(QUAD)));
        } else if index == len as usize {
            self.quads.store(index, 0);
        }
    }
}

kernel! {
    /// Lists the leaves for products: one thread per leaf.
    pub struct HiSparseListLeaves {
        /// The leaves.
        pub leaves: NodeList<u32>,
        /// The index of each leaf's segment of the dense operand, in segments of D elements.
        pub operands: Global<u32>,
        /// The first quad of each leaf.
        pub firsts: Global<u64>,
        /// Output: two words per leaf, a `ListedLeaf`.
        pub list: GlobalMut<u64, Aligned16>,
    }
    shared: 0;
    body: HiSparseListLeaves::list_leaves::<BLOCK>;
    entry: hisparse_list_leaves in hisparse_schedule: 256 x 1;
}

impl HiSparseListLeaves {
    #[device]
    fn list_leaves<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        let NodeList { pool, len, d_log2, .. } = self.leaves;
        if index < len as usize {
            let reference = self.leaves.reference(index);
            let count = pool.slot_count(reference, d_log2);
            let leaf = ListedLeaf {
                reference,
                operand: self.operands.load(index),
                first: self.firsts.load(index),
                count,
            };
            self.list.store_streaming_2(2 * index, leaf.pack());
        }
    }
}

kernel! {
    /// Counts the parts of each strip: one thread per strip, and one for the end.
    pub struct HiSparseCountParts {
        /// The first leaf of each strip, and the number of leaves at the end; `strips` + 1.
        pub strip_leaves: Global<u32>,
        /// The first quad of each leaf, and the number of quads at the end.
        pub firsts: Global<u64>,
        /// Output: the number of parts of each strip, at least one, and zero at the end; `strips` + 1.
        pub counts: GlobalMut<u32>,
        /// The number of strips.
        pub strips: u32,
        /// The largest number of quads of a part.
        pub part_quads: u32,
    }
    shared: 0;
    body: HiSparseCountParts::count_parts::<BLOCK>;
    entry: hisparse_count_parts in hisparse_schedule: 256 x 1;
}

impl HiSparseCountParts {
    #[device]
    fn count_parts<const BLOCK: usize>(self, _: Arena) {
        let strip = thread::global_index::<BLOCK>();
        if strip < self.strips as usize {
            let quads = self.firsts.load(self.strip_leaves.load(strip + 1) as usize)
                - self.firsts.load(self.strip_leaves.load(strip) as usize);
            self.counts.store(strip, quads.div_ceil(u64::from(self.part_quads)).max(1) as u32);
        } else if strip == self.strips as usize {
            self.counts.store(strip, 0);
        }
    }
}

kernel! {
    /// Lists the parts: one thread per part, and one for the end.
    pub struct HiSparseListParts {
        /// The first leaf of each strip, and the number of leaves at the end; `strips` + 1.
        pub strip_leaves: Global<u32>,
        /// The first part of each strip, and the number of parts at the end; `strips` + 1.
        pub strip_parts: Global<u32>,
        /// The first quad of each leaf, and the number of quads at the end.
        pub firsts: Global<u64>,
        /// Output: two words per part, a `ListedPart`, and two for the end.
        pub list: GlobalMut<u64, Aligned16>,
        /// The number of strips.
        pub strips: u32,
        /// The number of parts.
        pub parts: u32,
    }
    shared: 0;
    body: HiSparseListParts::list_parts::<BLOCK>;
    entry: hisparse_list_parts in hisparse_schedule: 256 x 1;
}

/// Returns the last index in `low..high` at which the ascending `numbers` are at most `number`; `low` if there is none.
#[device(track_caller)]
pub(super) fn last_not_above<T: Element + PartialOrd>(
    numbers: Global<T>,
    number: T,
    low: u32,
    high: u32,
) -> u32 {
    partition_point(low + 1, high.max(low + 1), |index| numbers.load(index as usize) <= number) - 1
}

impl HiSparseListParts {
    #[device]
    fn list_parts<const BLOCK: usize>(self, _: Arena) {
        let place = thread::global_index::<BLOCK>();
        if place > self.parts as usize {
            return;
        }
        let part = place as u32;
        let listed = if part == self.parts {
            let leaves = self.strip_leaves.load(self.strips as usize);
            ListedPart { begin: self.firsts.load(leaves as usize), strip: self.strips, leaf: leaves }
        } else {
            let strip = last_not_above(self.strip_parts, part, 0, self.strips) as usize;
            let first_part = self.strip_parts.load(strip);
            let count = self.strip_parts.load(strip + 1) - first_part;
            let (first_leaf, end_leaf) = (self.strip_leaves.load(strip), self.strip_leaves.load(strip + 1));
            let (first, end) = (self.firsts.load(first_leaf as usize), self.firsts.load(end_leaf as usize));
            let quads = (end - first).div_ceil(u64::from(count));
            let begin = (first + u64::from(part - first_part) * quads).min(end);
            ListedPart {
                begin,
                strip: strip as u32,
                leaf: last_not_above(self.firsts, begin, first_leaf, end_leaf),
            }
        };
        self.list.store_streaming_2(2 * place, listed.pack());
    }
}
