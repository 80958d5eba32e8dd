//! Connected components: trees of vertices, whose roots are hooked to less ones until each component is one tree (Shiloach, Vishkin,
//! "An O(log n) parallel connectivity algorithm", 1982).
//!
//! The label of a vertex is another vertex of its component, never a greater one. In the end it is the least vertex of the
//! component.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, GlobalMut};

use super::frontier::Frontier;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Hooks the greater of the labels of each edge's vertices to the less: equal numbers of edges per thread.
    pub struct HookEdges<O: Offset> {
        /// The graph.
        pub pattern: GlobalPattern<O>,
        /// All vertices.
        pub frontier: Frontier<O>,
        /// The label of each vertex.
        pub labels: GlobalMut<u32>,
        /// Output: one word, which becomes 1 if a label changes.
        pub changed: GlobalMut<u32>,
    }
    shared: 0;
    body: HookEdges::hook::<BLOCK, ITEMS>;
    entry: graph_hook_edges_{O} in graph: O in [u32, u64], 256 x 8;
}

impl<O: Offset> HookEdges<O> {
    #[device]
    fn hook<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { pattern, frontier, labels, changed } = self;
        frontier.each_edge::<BLOCK, ITEMS>(pattern, |edge, is_edge| {
            if is_edge {
                let label =
                    |vertex: u32| labels.atomic_load(vertex as usize, Ordering::Relaxed, Scope::Device);
                let (one, other) = (label(edge.from), label(edge.to));
                let (low, high) = (one.min(other), one.max(other));
                if low < high && labels.fetch_min(high as usize, low, Ordering::Relaxed, Scope::Device) > low
                {
                    changed.atomic_store(0, 1, Ordering::Relaxed, Scope::Device);
                }
            }
        });
    }
}

kernel! {
    /// Replaces each vertex's label by the root of its tree: one thread per vertex.
    pub struct JumpLabels {
        /// The label of each vertex.
        pub labels: GlobalMut<u32>,
        /// Vertices.
        pub len: u32,
    }
    shared: 0;
    body: JumpLabels::jump::<BLOCK>;
    entry: graph_jump_labels in graph: 256 x 1;
}

impl JumpLabels {
    #[device]
    fn jump<const BLOCK: usize>(self, _: Arena) {
        let vertex = thread::global_index::<BLOCK>();
        if vertex >= self.len as usize {
            return;
        }
        let label = |vertex: u32| self.labels.atomic_load(vertex as usize, Ordering::Relaxed, Scope::Device);
        let mut root = label(vertex as u32);
        let mut next = label(root);
        // Labels only become less, and are never greater than their vertex.
        while next != root {
            root = next;
            next = label(root);
        }
        self.labels.atomic_store(vertex, root, Ordering::Relaxed, Scope::Device);
    }
}
