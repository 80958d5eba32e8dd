//! The nodes of a level, from those of the level above: one warp per inner node, so that children come in the order of
//! their parents' entries.

use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut};

use super::{layout, Node, NodeList};

kernel! {
    /// Counts the children of inner nodes: one warp per node.
    pub struct HiSparseCountChildren {
        /// The inner nodes.
        pub nodes: NodeList<u32>,
        /// Output: the number of children of each, and a zero at the end.
        pub counts: GlobalMut<u32>,
    }
    shared: 0;
    body: HiSparseCountChildren::count_children::<BLOCK>;
    entry: hisparse_count_children in hisparse_leaves: 256 x 1;
}

/// Calls `child` with each slot and the reference in it, 32 neighbors at a time, in every lane. The reference is null where
/// there is no child.
#[device]
fn for_each_slot(node: Node<u32>, mut child: impl FnMut(u32, u32)) {
    let mut base = 0;
    while base < node.len {
        let slot = base + thread::lane();
        child(slot, if slot < node.len { node.slots.load(slot as usize) } else { layout::NULL });
        base += thread::WARP_SIZE;
    }
}

impl HiSparseCountChildren {
    #[device]
    fn count_children<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        let mut count = 0;
        if index < self.nodes.len as usize {
            let reference = self.nodes.reference(index);
            let node = self.nodes.node(reference);
            if layout::kind(reference) == layout::DENSE {
                for_each_slot(node, |_, child| {
                    count += warp::ballot(warp::FULL, child != layout::NULL).count_ones();
                });
            } else {
                count = node.len;
            }
        }
        if thread::lane() == 0 && index <= self.nodes.len as usize {
            self.counts.store(index, count);
        }
    }
}

kernel! {
    /// Lists the children of inner nodes, with their positions: one warp per node.
    pub struct HiSparseListChildren {
        /// The inner nodes.
        pub nodes: NodeList<u32>,
        /// The row of each, counted in nodes.
        pub rows: Global<u32>,
        /// The column of each, counted in nodes.
        pub columns: Global<u32>,
        /// Start of each node's children in the outputs.
        pub starts: Global<u32>,
        /// Output: references to the children.
        pub child_references: GlobalMut<u32>,
        /// Output: the row of each child, counted in nodes of its level.
        pub child_rows: GlobalMut<u32>,
        /// Output: the column of each child, counted in nodes of its level.
        pub child_columns: GlobalMut<u32>,
    }
    shared: 0;
    body: HiSparseListChildren::list_children::<BLOCK>;
    entry: hisparse_list_children in hisparse_leaves: 256 x 1;
}

impl HiSparseListChildren {
    #[device]
    fn list_children<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_warp::<BLOCK>();
        if index >= self.nodes.len as usize {
            return;
        }
        let d_log2 = self.nodes.d_log2;
        let reference = self.nodes.reference(index);
        let (row, col) = (self.rows.load(index), self.columns.load(index));
        let is_dense = layout::kind(reference) == layout::DENSE;
        let node = self.nodes.node(reference);
        let mut start = self.starts.load(index);
        for_each_slot(node, |slot, child| {
            let is_child = child != layout::NULL;
            let children = warp::ballot(warp::FULL, is_child);
            if is_child {
                let (local_row, local_col) = if is_dense {
                    (slot >> d_log2, slot & ((1 << d_log2) - 1))
                } else {
                    layout::unpack(u32::from(node.coordinates.load(slot as usize)))
                };
                let place = (start + warp::count_below(children)) as usize;
                self.child_references.store(place, child);
                self.child_rows.store(place, row << d_log2 | local_row);
                self.child_columns.store(place, col << d_log2 | local_col);
            }
            start += children.count_ones();
        });
    }
}
