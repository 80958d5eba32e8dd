//! The nodes of a level, from those of the level above: a warp an inner node, so that children come in the order of their
//! parents' entries.

use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut};

use super::{layout, Node, Pool};

kernel! {
    /// Counts the children of inner nodes: one warp a node.
    pub struct HiSparseCountChildren {
        /// The pool, as words.
        pub words: Global<u32>,
        /// The same, as coordinates.
        pub coordinates: Global<u16>,
        /// References to the nodes, none of them null.
        pub references: Global<u32>,
        /// Output: the number of children of each; zero behind the last.
        pub counts: GlobalMut<u32>,
        /// Nodes.
        pub nodes: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseCountChildren::count_children::<BLOCK>;
    entries: {
        hisparse_count_children in hisparse_leaves: 256 x 1;
    }
}

/// The node of this warp, one warp a node.
#[inline(always)]
pub(super) fn warp_node<const BLOCK: usize>() -> usize {
    thread::block() as usize * (BLOCK / thread::WARP_SIZE as usize) + thread::warp() as usize
}

/// Calls `child` for each slot of 32 neighbours at a time, in every lane: with the slot, and with the reference there,
/// which is null where there is no child.
#[inline(always)]
fn for_each_slot(node: Node<u32>, mut child: impl FnMut(u32, u32)) {
    let mut base = 0;
    while base < node.len {
        let slot = base + thread::lane();
        child(slot, if slot < node.len { node.slots.load(slot as usize) } else { layout::NULL });
        base += thread::WARP_SIZE;
    }
}

impl HiSparseCountChildren {
    #[inline(always)]
    fn count_children<const BLOCK: usize>(self, _: Arena) {
        let index = warp_node::<BLOCK>();
        let mut count = 0;
        if index < self.nodes as usize {
            let reference = self.references.load(index);
            let node = Pool { words: self.words, coordinates: self.coordinates, slots: self.words }
                .node(reference, self.d_log2);
            if layout::kind(reference) == layout::DENSE {
                for_each_slot(node, |_, child| {
                    count += warp::ballot(warp::FULL, child != layout::NULL).count_ones();
                });
            } else {
                count = node.len;
            }
        }
        if thread::lane() == 0 && index <= self.nodes as usize {
            self.counts.store(index, count);
        }
    }
}

kernel! {
    /// Lists the children of inner nodes, with their places: one warp a node.
    pub struct HiSparseListChildren {
        /// The pool, as words.
        pub words: Global<u32>,
        /// The same, as coordinates.
        pub coordinates: Global<u16>,
        /// References to the nodes, none of them null.
        pub references: Global<u32>,
        /// The row of each, counted in nodes.
        pub rows: Global<u32>,
        /// The column of each.
        pub cols: Global<u32>,
        /// Where the children of each begin in the outputs.
        pub starts: Global<u32>,
        /// Output: references to the children.
        pub child_references: GlobalMut<u32>,
        /// Output: their rows, counted in their level's nodes.
        pub child_rows: GlobalMut<u32>,
        /// Output: their columns.
        pub child_cols: GlobalMut<u32>,
        /// Nodes.
        pub nodes: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: 0;
    body: HiSparseListChildren::list_children::<BLOCK>;
    entries: {
        hisparse_list_children in hisparse_leaves: 256 x 1;
    }
}

impl HiSparseListChildren {
    #[inline(always)]
    fn list_children<const BLOCK: usize>(self, _: Arena) {
        let index = warp_node::<BLOCK>();
        if index >= self.nodes as usize {
            return;
        }
        let reference = self.references.load(index);
        let (row, col) = (self.rows.load(index), self.cols.load(index));
        let is_dense = layout::kind(reference) == layout::DENSE;
        let node = Pool { words: self.words, coordinates: self.coordinates, slots: self.words }
            .node(reference, self.d_log2);
        let mut start = self.starts.load(index);
        for_each_slot(node, |slot, child| {
            let is_child = child != layout::NULL;
            let children = warp::ballot(warp::FULL, is_child);
            if is_child {
                let (local_row, local_col) = if is_dense {
                    (slot >> self.d_log2, slot & ((1 << self.d_log2) - 1))
                } else {
                    layout::unpack(u32::from(node.coordinates.load(slot as usize)))
                };
                let below = children & ((1 << thread::lane()) - 1);
                let place = (start + below.count_ones()) as usize;
                self.child_references.store(place, child);
                self.child_rows.store(place, row << self.d_log2 | local_row);
                self.child_cols.store(place, col << self.d_log2 | local_col);
            }
            start += children.count_ones();
        });
    }
}
