//! Shares equal subtrees of several trees (Derler 2016, chapters 1 and 8), whose pools are in one pool, one after another.
//!
//! On the way down, the nodes of each level are listed, each once. On the way up, equal nodes of a level are found, one of
//! them is kept, and the nodes of the level above get references to those that are kept. So equal nodes have equal content:
//! they are found by a hash of it, and compared.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, parameters, thread, warp, Aligned16, Arena, Global, GlobalMut};

use super::layout;
use super::schedule::last_not_above;
use crate::block::search::partition_point;

parameters! {
    /// Inner nodes of one level, whose references are rewritten.
    pub struct InnerNodes {
        /// References to the nodes.
        pub references: Global<u32>,
        /// The number of nodes.
        pub len: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// The pool, as words.
        pub words: GlobalMut<u32>,
    }
}

impl InnerNodes {
    /// Calls `visit` with the slots of a node, the index of each, and the reference in it, 32 neighbors at a time, in every
    /// lane. The reference is null where there is no child.
    #[device(track_caller)]
    fn for_each_slot(self, reference: u32, mut visit: impl FnMut(GlobalMut<u32>, usize, u32)) {
        let kind = layout::kind(reference);
        let node = self.words.skip((layout::unit(reference) * layout::UNIT_WORDS) as usize);
        let (slots, len) = if kind == layout::DENSE {
            (node, 1 << (2 * self.d_log2))
        } else {
            let count = node.load(0);
            (node.skip(layout::slots_offset(kind, count, 4) as usize / 4), count)
        };
        let mut base = 0;
        while base < len {
            let slot = base + thread::lane();
            visit(slots, slot as usize, if slot < len { slots.load(slot as usize) } else { layout::NULL });
            base += thread::WARP_SIZE;
        }
    }
}

kernel! {
    /// Lists the children of inner nodes. Changes the references to them from units of the node's own pool to units of
    /// all pools: one warp per node.
    pub struct HiSparseRebaseChildren {
        /// The inner nodes.
        pub nodes: InnerNodes,
        /// The unit at which each pool begins, ascending.
        pub bases: Global<u32>,
        /// The number of pools.
        pub pools: u32,
        /// Start of each node's children in the output.
        pub starts: Global<u32>,
        /// Output: references to the children.
        pub children: GlobalMut<u32>,
    }
    shared: 0;
    body: HiSparseRebaseChildren::rebase_children::<BLOCK>;
    entry: hisparse_rebase_children in hisparse_share: 256 x 1;
}

impl HiSparseRebaseChildren {
    #[device]
    fn rebase_children<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.nodes.len as usize {
            return;
        }
        let reference = self.nodes.references.load(index);
        let pool = last_not_above(self.bases, layout::unit(reference), 0, self.pools);
        let base = self.bases.load(pool as usize);
        let mut start = self.starts.load(index);
        self.nodes.for_each_slot(reference, |slots, slot, child| {
            let is_child = child != layout::NULL;
            let children = warp::ballot(warp::FULL, is_child);
            if is_child {
                let child = layout::reference(base + layout::unit(child), layout::kind(child));
                slots.store(slot, child);
                self.children.store((start + warp::count_below(children)) as usize, child);
            }
            start += children.count_ones();
        });
    }
}

parameters! {
    /// The nodes of a level, of which one of each kind of content is kept.
    pub struct KeptNodes {
        /// References to the nodes, ascending.
        pub references: Global<u32>,
        /// The number of nodes.
        pub len: u32,
        /// Number of the equal node that is kept, for each node.
        pub kept: Global<u32>,
        /// First unit in the new pool of each node that is kept.
        pub units: Global<u32>,
    }
}

impl KeptNodes {
    /// Returns the reference in the new pool in place of one to a node of the level.
    #[device(track_caller)]
    fn replacement(self, reference: u32) -> u32 {
        let node = partition_point(0, self.len, |node| self.references.load(node as usize) < reference);
        let kept = self.kept.load(node as usize);
        layout::reference(self.units.load(kept as usize), layout::kind(reference))
    }
}

kernel! {
    /// Replaces references to children by those to the nodes that are kept in place of them: one warp per inner node.
    pub struct HiSparseReplaceChildren {
        /// The inner nodes.
        pub nodes: InnerNodes,
        /// The nodes of the level below.
        pub children: KeptNodes,
    }
    shared: 0;
    body: HiSparseReplaceChildren::replace_children::<BLOCK>;
    entry: hisparse_replace_children in hisparse_share: 256 x 1;
}

impl HiSparseReplaceChildren {
    #[device]
    fn replace_children<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.nodes.len as usize {
            return;
        }
        self.nodes.for_each_slot(self.nodes.references.load(index), |slots, slot, child| {
            if child != layout::NULL {
                slots.store(slot, self.children.replacement(child));
            }
        });
    }
}

kernel! {
    /// Replaces references to roots by those to the nodes that are kept in place of them: one thread per root.
    pub struct HiSparseReplaceRoots {
        /// The references, which are replaced.
        pub roots: GlobalMut<u32>,
        /// The number of roots.
        pub len: u32,
        /// The nodes of the roots' level.
        pub level: KeptNodes,
    }
    shared: 0;
    body: HiSparseReplaceRoots::replace_roots::<BLOCK>;
    entry: hisparse_replace_roots in hisparse_share: 256 x 1;
}

impl HiSparseReplaceRoots {
    #[device]
    fn replace_roots<const BLOCK: usize>(self, _: Arena) {
        let root = thread::global_index::<BLOCK>();
        if root < self.len as usize {
            self.roots.store(root, self.level.replacement(self.roots.load(root)));
        }
    }
}

parameters! {
    /// Nodes of one level, leaves or inner nodes, whose content is read.
    pub struct LevelNodes {
        /// The pool, as words.
        pub words: Global<u32, Aligned16>,
        /// References to the nodes.
        pub references: Global<u32>,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// Bytes of a slot.
        pub slot_bytes: u32,
    }
}

/// The content of a node.
#[derive(Clone, Copy)]
struct NodeContent {
    words: Global<u32, Aligned16>,
    kind: u32,
    units: u32,
}

impl LevelNodes {
    /// Returns the content of the node with this number.
    #[device(track_caller)]
    fn content(self, node: u32) -> NodeContent {
        let reference = self.references.load(node as usize);
        let kind = layout::kind(reference);
        let words = self.words.skip_aligned((layout::unit(reference) * layout::UNIT_WORDS) as usize);
        let count = words.load_if(0, kind != layout::DENSE);
        NodeContent { words, kind, units: layout::units(kind, count, self.d_log2, self.slot_bytes) }
    }
}

impl NodeContent {
    /// Returns whether another node is of the same kind and has the same bits: one warp.
    #[device(track_caller)]
    fn equals(self, other: Self) -> bool {
        if self.kind != other.kind || self.units != other.units {
            return false;
        }
        let mut base = 0;
        while base < self.units {
            let unit = base + thread::lane();
            let word = (unit * layout::UNIT_WORDS) as usize;
            let own = self.words.load_16_if(word, unit < self.units);
            if warp::any(warp::FULL, own != other.words.load_16_if(word, unit < self.units)) {
                return false;
            }
            base += thread::WARP_SIZE;
        }
        true
    }

    /// Returns a hash of all bits, the same in every lane: one warp. `seed` determines which nodes collide.
    #[device(track_caller)]
    fn hash(self, seed: u32) -> u32 {
        let mut sum = 0_u64;
        thread::warp_stride(self.units, |unit| {
            let [lower, upper] = self.words.load_16((unit * layout::UNIT_WORDS) as usize);
            let place = (u64::from(seed) << 32 | u64::from(unit + 1)).wrapping_mul(ODD);
            sum = sum.wrapping_add(mixed(lower ^ place)).wrapping_add(mixed(upper ^ place.rotate_left(32)));
        });
        (mixed(warp::reduce(sum, u64::wrapping_add) ^ u64::from(self.kind)) >> 32) as u32
    }
}

/// 2⁶⁴ divided by the golden ratio, whose multiples are far apart.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Another number for each, whose bits depend on all bits (the output function of `SplitMix64`).
#[device]
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

kernel! {
    /// Computes hashes of nodes: one warp per node.
    pub struct HiSparseHashNodes {
        /// The nodes of the level.
        pub nodes: LevelNodes,
        /// The numbers of the nodes that are hashed.
        pub numbers: Global<u32>,
        /// Number of these nodes.
        pub len: u32,
        /// Seed of the hash function.
        pub seed: u32,
        /// The bits of hashes that are used.
        pub mask: u32,
        /// Output: their hashes.
        pub hashes: GlobalMut<u32>,
    }
    shared: 0;
    body: HiSparseHashNodes::hash_nodes::<BLOCK>;
    entry: hisparse_hash_nodes in hisparse_share: 256 x 1;
}

impl HiSparseHashNodes {
    #[device]
    fn hash_nodes<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.len as usize {
            return;
        }
        let hash = self.nodes.content(self.numbers.load(index)).hash(self.seed);
        if thread::lane() == 0 {
            self.hashes.store(index, hash & self.mask);
        }
    }
}

kernel! {
    /// Compares nodes with the first one that has the same hash: one warp per node.
    pub struct HiSparseCompareNodes {
        /// The nodes of the level.
        pub nodes: LevelNodes,
        /// The numbers of the nodes that are compared.
        pub numbers: Global<u32>,
        /// Lowest number of the nodes with the same hash, for each of them.
        pub firsts: Global<u32>,
        /// Number of these nodes.
        pub len: u32,
        /// Output, by number: for the first node of a hash and those that equal it, the number of the first.
        pub kept: GlobalMut<u32>,
        /// Output, by number: for the first node of a hash, its units.
        pub sizes: GlobalMut<u32>,
        /// Output: the numbers of the other nodes, in any order.
        pub others: GlobalMut<u32>,
        /// Output: the number of other nodes; zero before.
        pub other_count: GlobalMut<u32>,
    }
    shared: 0;
    body: HiSparseCompareNodes::compare_nodes::<BLOCK>;
    entry: hisparse_compare_nodes in hisparse_share: 256 x 1;
}

impl HiSparseCompareNodes {
    #[device]
    fn compare_nodes<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.len as usize {
            return;
        }
        let (number, first) = (self.numbers.load(index), self.firsts.load(index));
        let content = self.nodes.content(number);
        let is_kept = number == first || content.equals(self.nodes.content(first));
        if thread::lane() == 0 {
            if number == first {
                self.sizes.store(number as usize, content.units);
            }
            if is_kept {
                self.kept.store(number as usize, first);
            } else {
                let place = self.other_count.fetch_add(0, 1, Ordering::Relaxed, Scope::Device);
                self.others.store(place as usize, number);
            }
        }
    }
}

kernel! {
    /// Copies the nodes that are kept to the new pool: one warp per node.
    pub struct HiSparseCopyKept {
        /// The nodes of the level.
        pub nodes: LevelNodes,
        /// The number of nodes.
        pub len: u32,
        /// Number of the equal node that is kept, for each node.
        pub kept: Global<u32>,
        /// First unit in the new pool of each node that is kept.
        pub units: Global<u32>,
        /// Output: the new pool, as words.
        pub pool: GlobalMut<u32, Aligned16>,
    }
    shared: 0;
    body: HiSparseCopyKept::copy_kept::<BLOCK>;
    entry: hisparse_copy_kept in hisparse_share: 256 x 1;
}

impl HiSparseCopyKept {
    #[device]
    fn copy_kept<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.len as usize || self.kept.load(index) != index as u32 {
            return;
        }
        let content = self.nodes.content(index as u32);
        let target = self.pool.skip_aligned((self.units.load(index) * layout::UNIT_WORDS) as usize);
        thread::warp_stride(content.units, |unit| {
            let word = (unit * layout::UNIT_WORDS) as usize;
            target.store_streaming_16(word, content.words.load_streaming_16(word));
        });
    }
}
