//! The frozen schedule of products with a HiSparse matrix: what a traversal finds is kept, so that a product reads nothing
//! but leaves.
//!
//! A *strip* is what the leaves of one row of leaves stand for, or of one column where the matrix is transposed: D
//! consecutive elements of the result. A *quad* is what a lane takes at a time: four neighbouring slots of a leaf, those
//! that one vector load of values brings; the last of a leaf may have fewer. Leaves are listed by strip, and quads are
//! numbered in that order. A *part* is a run of quads of one strip, the work of a warp: strips of many quads have several,
//! of the same length but for the last ones.

use evenpath_simt::{kernel, thread, Arena, Element, Global, GlobalMut};

use super::layout::{self, DENSE, UNIT_WORDS};

/// Slots of a quad.
pub const QUAD: u32 = 4;

/// Bits of a leaf's number of slots in its description.
const COUNT_BITS: u32 = 17;

/// A leaf as a schedule lists it, in 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedLeaf {
    /// The reference to the leaf.
    pub(super) reference: u32,
    /// Where its part of the dense operand is, counted in leaves.
    pub(super) operand: u32,
    /// Its first quad.
    pub(super) first: u64,
    /// Its slots, D² if it is dense.
    pub(super) count: u32,
}

impl ListedLeaf {
    /// As it is stored. Fewer than 2⁴⁷ quads are numbered, because leaves are at 2³⁰ places at most.
    #[inline(always)]
    pub(super) fn pack(self) -> [u64; 2] {
        let Self { reference, operand, first, count } = self;
        [u64::from(reference) | u64::from(operand) << 32, first << COUNT_BITS | u64::from(count)]
    }

    /// From what is stored.
    #[inline(always)]
    pub(super) fn unpack([low, high]: [u64; 2]) -> Self {
        Self {
            reference: low as u32,
            operand: (low >> 32) as u32,
            first: high >> COUNT_BITS,
            count: high as u32 & ((1 << COUNT_BITS) - 1),
        }
    }
}

/// A part as a schedule lists it, in 16 bytes. It ends where the next one begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedPart {
    /// Its first quad.
    pub(super) begin: u64,
    /// Its strip.
    pub(super) strip: u32,
    /// The place in the list of the leaf that has its first quad, if it has any.
    pub(super) leaf: u32,
}

impl ListedPart {
    /// As it is stored.
    #[inline(always)]
    pub(super) fn pack(self) -> [u64; 2] {
        [self.begin, u64::from(self.strip) | u64::from(self.leaf) << 32]
    }

    /// From what is stored.
    #[inline(always)]
    pub(super) fn unpack([begin, rest]: [u64; 2]) -> Self {
        Self { begin, strip: rest as u32, leaf: (rest >> 32) as u32 }
    }
}

/// Slots of a leaf, those of absent entries of a dense one included.
#[inline(always)]
fn slot_count(words: Global<u32>, reference: u32, d_log2: u32) -> u32 {
    if layout::kind(reference) == DENSE {
        1 << (2 * d_log2)
    } else {
        words.load((layout::unit(reference) * UNIT_WORDS) as usize)
    }
}

kernel! {
    /// Counts the quads of each leaf: one thread a leaf, and one for the end.
    pub struct HiSparseCountQuads {
        /// The pool, as words.
        pub words: Global<u32>,
        /// References to the leaves.
        pub references: Global<u32>,
        /// Output: the number of quads of each, and zero at the end; `leaves` + 1.
        pub quads: GlobalMut<u64>,
        /// Leaves.
        pub leaves: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseCountQuads::count_quads::<BLOCK>;
    entries: {
        hisparse_count_quads in hisparse_schedule: 256 x 1;
    }
}

impl HiSparseCountQuads {
    #[inline(always)]
    fn count_quads<const BLOCK: usize>(self, _: Arena) {
        let index = thread::block() as usize * BLOCK + thread::index() as usize;
        if index < self.leaves as usize {
            let count = slot_count(self.words, self.references.load(index), self.d_log2);
            self.quads.store(index, u64::from(count.div_ceil(QUAD)));
        } else if index == self.leaves as usize {
            self.quads.store(index, 0);
        }
    }
}

kernel! {
    /// Lists the leaves as products take them: one thread a leaf.
    pub struct HiSparseListLeaves {
        /// The pool, as words.
        pub words: Global<u32>,
        /// References to the leaves.
        pub references: Global<u32>,
        /// Where each leaf's part of the dense operand is, counted in leaves.
        pub operands: Global<u32>,
        /// The first quad of each.
        pub firsts: Global<u64>,
        /// Output: two words a leaf, of `ListedLeaf`.
        pub list: GlobalMut<u64>,
        /// Leaves.
        pub leaves: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseListLeaves::list_leaves::<BLOCK>;
    entries: {
        hisparse_list_leaves in hisparse_schedule: 256 x 1;
    }
}

impl HiSparseListLeaves {
    #[inline(always)]
    fn list_leaves<const BLOCK: usize>(self, _: Arena) {
        let index = thread::block() as usize * BLOCK + thread::index() as usize;
        if index < self.leaves as usize {
            let reference = self.references.load(index);
            let count = slot_count(self.words, reference, self.d_log2);
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
    /// Counts the parts of each strip: one thread a strip, and one for the end.
    pub struct HiSparseCountParts {
        /// The first leaf of each strip, and the number of leaves at the end; `strips` + 1.
        pub strip_leaves: Global<u32>,
        /// The first quad of each leaf, and the number of quads at the end.
        pub firsts: Global<u64>,
        /// Output: the number of parts of each, one at least, and zero at the end; `strips` + 1.
        pub counts: GlobalMut<u32>,
        /// Strips.
        pub strips: u32,
        /// Quads of a part, at most.
        pub part_quads: u32,
    }
    shared: 0;
    body: HiSparseCountParts::count_parts::<BLOCK>;
    entries: {
        hisparse_count_parts in hisparse_schedule: 256 x 1;
    }
}

impl HiSparseCountParts {
    #[inline(always)]
    fn count_parts<const BLOCK: usize>(self, _: Arena) {
        let strip = thread::block() as usize * BLOCK + thread::index() as usize;
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
    /// Lists the parts: one thread a part, and one for the end.
    pub struct HiSparseListParts {
        /// The first leaf of each strip, and the number of leaves at the end; `strips` + 1.
        pub strip_leaves: Global<u32>,
        /// The first part of each strip, and the number of parts at the end; `strips` + 1.
        pub strip_parts: Global<u32>,
        /// The first quad of each leaf, and the number of quads at the end.
        pub firsts: Global<u64>,
        /// Output: two words a part, of `ListedPart`, and two for the end.
        pub list: GlobalMut<u64>,
        /// Strips.
        pub strips: u32,
        /// Parts.
        pub parts: u32,
    }
    shared: 0;
    body: HiSparseListParts::list_parts::<BLOCK>;
    entries: {
        hisparse_list_parts in hisparse_schedule: 256 x 1;
    }
}

/// The last of `low..high` at which ascending `numbers` are no more than `number`; `low` if there is none.
#[inline(always)]
fn last_not_above<T: Element + PartialOrd>(numbers: Global<T>, number: T, low: u32, high: u32) -> u32 {
    let (mut low, mut high) = (low, high);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if numbers.load(middle as usize) <= number {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl HiSparseListParts {
    #[inline(always)]
    fn list_parts<const BLOCK: usize>(self, _: Arena) {
        let part = thread::block() * BLOCK as u32 + thread::index();
        if part > self.parts {
            return;
        }
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
        self.list.store_streaming_2(2 * part as usize, listed.pack());
    }
}
