//! Assigns nodes their places in the pool, and links them to their parents.
use evenpath_simt::{device, kernel, parameters, thread, Arena, Global, GlobalMut, Shared};

use super::layout;
use super::levels::{Numbers, TreeLevels, TREE_ROOT, TREE_UNITS};
use super::link::Link;
use super::pool_mut::PoolMut;
use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};

/// Words of the state of the kernel that places nodes: a ticket, then a word per tile.
pub const fn place_state_words(tiles: usize) -> usize {
    1 + tiles
}

kernel! {
    /// Computes references to the nodes, which lie in the pool in the order of their numbers, starting at the second
    /// unit. There may be more blocks than tiles of nodes.
    pub struct HiSparsePlaceNodes {
        /// The levels, whose nodes are counted. Output: the units of the pool and the reference to the root.
        pub levels: TreeLevels,
        /// The number of each node's first child or entry, and after each level one past the last of them.
        pub firsts: Global<u32>,
        /// Output: a reference to each node.
        pub references: GlobalMut<u32>,
        /// [`place_state_words`] words, all zero.
        pub state: GlobalMut<u64>,
        /// Bytes of a value.
        pub value_bytes: u32,
    }
    shared: CountScan::<u64, BLOCK>::BYTES + Numbers::BYTES + 16;
    body: HiSparsePlaceNodes::place_nodes::<BLOCK, ITEMS>;
    entry: hisparse_place_nodes in hisparse_tree: 256 x 4;
}

impl HiSparsePlaceNodes {
    #[device]
    fn place_nodes<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Draw a tile.
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let prefix: Shared<u64> = arena.take(1);
        let ticket: Shared<u32> = arena.take(1);
        let numbers = Numbers::take(&mut arena, self.levels);
        let tiles = numbers.len().div_ceil((BLOCK * ITEMS) as u32);
        if thread::block() >= tiles {
            return;
        }
        let tile = Tickets::new(self.state).draw_for_block(ticket);
        // 2. Add up the units of the thread's nodes.
        let start = (tile * BLOCK as u32 + thread::index()) * ITEMS as u32;
        let mut own = [(0, 0, 0); ITEMS];
        let mut units = 0;
        for item in 0..ITEMS {
            if start + (item as u32) < numbers.len() {
                let (node, is_leaf) = numbers.of(start + item as u32);
                own[item] = self.size(node, is_leaf);
                units += own[item].1;
            }
        }
        // 3. Scan the units: within the block, then over the tiles before.
        let counted = scan.exclusive(u64::from(units));
        if thread::warp() == 0 {
            // At most 1024 nodes of at most 2¹⁵ units.
            self.look_back(tile, tiles, counted.total as u32, prefix);
        }
        thread::barrier();
        // 4. Store the references.
        let mut unit = 1 + prefix.load(0) + counted.before;
        for item in 0..ITEMS {
            if start + (item as u32) < numbers.len() {
                let (node, units, kind) = own[item];
                // The host sees the total, and refuses a pool beyond the reach of references; these are then not read.
                let reference = layout::reference(unit as u32, kind);
                self.references.store(node as usize, reference);
                if node == 0 {
                    self.levels.results.store(TREE_ROOT, u64::from(reference));
                }
                unit += u64::from(units);
            }
        }
    }

    /// Returns the number of a node, its units, and its kind.
    #[device(track_caller)]
    fn size(&self, node: u32, is_leaf: bool) -> (u32, u32, u32) {
        let count = count(self.firsts, node);
        let (d_log2, size) = (self.levels.shape.d_log2, if is_leaf { self.value_bytes } else { 4 });
        let kind = layout::kind_of(count, d_log2, size);
        (node, layout::units(kind, count, d_log2, size), kind)
    }

    /// Stores the units of earlier tiles in `prefix`; the last tile reports all units. For one warp.
    #[device(track_caller)]
    fn look_back(&self, tile: u32, tiles: u32, total: u32, prefix: Shared<u64>) {
        let before = Lookback::new(self.state.skip(1)).publish_and_prefix(tile, total);
        if thread::lane() == 0 {
            prefix.store(0, before);
            if tile + 1 == tiles {
                self.levels.results.store(TREE_UNITS, before + u64::from(total));
            }
        }
    }
}

/// Returns the number of children or entries of a node.
#[device(track_caller)]
pub(super) fn count(firsts: Global<u32>, node: u32) -> u32 {
    firsts.load(node as usize + 1).wrapping_sub(firsts.load(node as usize))
}

/// Writes the count of a sparse node, and its reference into its parent, which is given by the link, the reference and the count.
#[device(track_caller)]
pub(super) fn link(
    pool: PoolMut<u32>,
    d_log2: u32,
    (reference, count): (u32, u32),
    parent: Option<(Link, u32, u32)>,
) {
    if layout::kind(reference) != layout::DENSE {
        pool.words.store(layout::unit(reference) as usize * layout::UNIT_WORDS as usize, count);
    }
    if let Some((link, parent, count)) = parent {
        pool.node(parent, count, d_log2).put(link.at, link.coordinates, reference);
    }
}

parameters! {
    /// The nodes of a tree with their places in the pool.
    pub struct TreeNodes {
        /// The levels, whose nodes are counted.
        pub levels: TreeLevels,
        /// The number of each node's first child or entry, and after each level one past the last of them.
        pub firsts: Global<u32>,
        /// Links to parents, without the entry's number.
        pub links: Global<u64>,
        /// References to the nodes.
        pub references: Global<u32>,
    }
}

impl TreeNodes {
    /// Links the node that `before` others come before, if there is one.
    #[device(track_caller)]
    pub(super) fn link(self, numbers: Numbers, before: u32, pool: PoolMut<u32>) {
        if before >= numbers.len() {
            return;
        }
        let (node, _) = numbers.of(before);
        let own = (self.references.load(node as usize), count(self.firsts, node));
        let parent = if before > 0 {
            let word = self.links.load(node as usize);
            let parent = Link::from_word(word).parent;
            let at = node - self.firsts.load(parent as usize);
            let link = Link { at, ..Link::from_word(word) };
            Some((link, self.references.load(parent as usize), count(self.firsts, parent)))
        } else {
            None
        };
        link(pool, self.levels.shape.d_log2, own, parent);
    }
}

kernel! {
    /// Writes the counts of sparse nodes, and each node's entry in its parent: one thread per node.
    pub struct HiSparseLinkNodes {
        /// The nodes.
        pub nodes: TreeNodes,
        /// The pool, zero except for leaves' coordinates and values.
        pub pool: PoolMut<u32>,
    }
    shared: Numbers::BYTES;
    body: HiSparseLinkNodes::link_nodes::<BLOCK>;
    entry: hisparse_link_nodes in hisparse_tree: 256 x 1;
}

impl HiSparseLinkNodes {
    #[device]
    fn link_nodes<const BLOCK: usize>(self, mut arena: Arena) {
        let numbers = Numbers::take(&mut arena, self.nodes.levels);
        self.nodes.link(numbers, thread::global_index::<BLOCK>() as u32, self.pool);
    }
}
