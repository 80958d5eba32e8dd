//! Assigns nodes their places in the pool, and links inner nodes to their children.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, parameters, thread, warp, Arena, Global, GlobalMut, Shared};

use super::layout;
use super::link::Link;
use super::pool_mut::PoolMut;
use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};

/// Words of the state: the units of the pool, the entries of all leaves, and the reference to the root; then a ticket, and
/// a word per tile.
pub const fn place_state_words(tiles: usize) -> usize {
    PLACE_RESULTS + 1 + tiles
}

/// The number of results, which are the first words of the state.
pub const PLACE_RESULTS: usize = 3;

kernel! {
    /// Computes references to the nodes, which lie in the pool in the order of their numbers, from the second unit on.
    pub struct HiSparsePlaceNodes {
        /// The number of children or entries of each node.
        pub counts: Global<u32>,
        /// Output: a reference to each node.
        pub references: GlobalMut<u32>,
        /// [`place_state_words`] words, all zero. Output: the results, in the first words.
        pub states: GlobalMut<u64>,
        /// The number of inner nodes, which come first.
        pub inner: u32,
        /// The number of nodes.
        pub nodes: u32,
        /// Bytes of a value.
        pub value_bytes: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
    shared: CountScan::<u64, BLOCK>::BYTES + 16;
    body: HiSparsePlaceNodes::place_nodes::<BLOCK, ITEMS>;
    entries: {
        hisparse_place_nodes in hisparse_tree: 256 x 4;
    }
}

impl HiSparsePlaceNodes {
    #[inline(always)]
    fn place_nodes<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Draw a tile.
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let prefix: Shared<u64> = arena.take(1);
        let ticket: Shared<u32> = arena.take(1);
        if thread::index() == 0 {
            ticket.store(0, Tickets::new(self.states.skip(PLACE_RESULTS)).draw());
        }
        thread::barrier();
        let tile = ticket.load(0);
        // 2. Add up the units and the entries of the thread's nodes.
        let start = (tile * BLOCK as u32 + thread::index()) * ITEMS as u32;
        let mut own_counts = [0; ITEMS];
        for item in 0..ITEMS {
            let node = start + item as u32;
            own_counts[item] = self.counts.load_if(node as usize, node < self.nodes);
        }
        let mut own = [(0, 0); ITEMS];
        let (mut units, mut entries) = (0, 0);
        for item in 0..ITEMS {
            let node = start + item as u32;
            if node < self.nodes {
                let (count, is_inner) = (own_counts[item], node < self.inner);
                let size = if is_inner { 4 } else { self.value_bytes };
                let kind = layout::kind_of(count, self.d_log2, size);
                own[item] = (layout::units(kind, count, self.d_log2, size), kind);
                units += own[item].0;
                entries += if is_inner { 0 } else { u64::from(count) };
            }
        }
        // 3. Scan the units: within the block, then over the tiles before.
        let counted = scan.exclusive(u64::from(units));
        if thread::warp() == 0 {
            let lookback = Lookback::new(self.states.skip(PLACE_RESULTS + 1));
            // At most 1024 nodes of at most 2¹⁵ units.
            let total = counted.total as u32;
            if thread::lane() == 0 {
                lookback.publish(tile, total);
            }
            let before = lookback.prefix(tile, total);
            if thread::lane() == 0 {
                prefix.store(0, before);
                if tile + 1 == self.nodes.div_ceil((BLOCK * ITEMS) as u32) {
                    self.states.store(0, 1 + before + counted.total);
                }
            }
        }
        let entries = warp::reduce_add(entries);
        if thread::lane() == 0 && entries > 0 {
            self.states.fetch_add(1, entries, Ordering::Relaxed, Scope::Device);
        }
        thread::barrier();
        // 4. Store the references.
        let mut unit = 1 + prefix.load(0) + counted.before;
        for item in 0..ITEMS {
            let node = start + item as u32;
            if node < self.nodes {
                let (units, kind) = own[item];
                // A pool beyond the reach of references is refused by the host, which sees the total; these are then not read.
                let reference = layout::reference(unit as u32, kind);
                self.references.store(node as usize, reference);
                if node == 0 {
                    self.states.store(2, u64::from(reference));
                }
                unit += u64::from(units);
            }
        }
    }
}

parameters! {
    /// Nodes with their places in the pool, by number.
    pub struct PlacedNodes {
        /// The number of children or entries of each node.
        pub counts: Global<u32>,
        /// Links to parents.
        pub links: Global<u64>,
        /// References to the nodes.
        pub references: Global<u32>,
    }
}

impl PlacedNodes {
    /// Writes the count of a sparse node, and the node's entry in its parent.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn link(self, node: u32, pool: PoolMut<u32>, d_log2: u32) {
        let reference = self.references.load(node as usize);
        if layout::kind(reference) != layout::DENSE {
            pool.words.store(
                layout::unit(reference) as usize * layout::UNIT_WORDS as usize,
                self.counts.load(node as usize),
            );
        }
        if node > 0 {
            let link = Link::from_word(self.links.load(node as usize));
            let parent = link.parent as usize;
            let parent = pool.node(self.references.load(parent), self.counts.load(parent), d_log2);
            parent.put(link.at, link.coordinates, reference);
        }
    }
}

kernel! {
    /// Writes the counts of sparse nodes, and each node's entry in its parent: one thread per node.
    pub struct HiSparseLinkNodes {
        /// The nodes.
        pub nodes: PlacedNodes,
        /// The pool, zero except for leaves' coordinates and values.
        pub pool: PoolMut<u32>,
        /// The number of nodes.
        pub len: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseLinkNodes::link_nodes::<BLOCK>;
    entries: {
        hisparse_link_nodes in hisparse_tree: 256 x 1;
    }
}

impl HiSparseLinkNodes {
    #[inline(always)]
    fn link_nodes<const BLOCK: usize>(self, _: Arena) {
        let node = thread::block() * BLOCK as u32 + thread::index();
        if node < self.len {
            self.nodes.link(node, self.pool, self.d_log2);
        }
    }
}
