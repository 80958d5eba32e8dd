//! Breadth-first search, a level at a time: from the frontier to its neighbors, or from the other vertices back to the frontier
//! (Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", SC 2012).
//!
//! The parent of a vertex is the least of its neighbors in the level before, in both directions.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut};

use super::frontier::Frontier;
use crate::block::list::UnorderedList;
use crate::{GlobalPattern, Offset};

/// The level of a vertex that was not reached, and the parent of one that has none.
pub const NO_VERTEX: u32 = u32::MAX;

kernel! {
    /// Goes along the edges of the frontier: equal numbers of edges per thread.
    pub struct BfsPush<O: Offset> {
        /// The graph.
        pub pattern: GlobalPattern<O>,
        /// The vertices of the level before.
        pub frontier: Frontier<O>,
        /// Output: the vertices of the level.
        pub next: UnorderedList,
        /// The level of each vertex.
        pub levels: GlobalMut<u32>,
        /// The parent of each vertex.
        pub parents: GlobalMut<u32>,
        /// The level.
        pub level: u32,
    }
    shared: 0;
    body: BfsPush::push::<BLOCK, ITEMS>;
    entry: graph_bfs_push_{O} in graph: O in [u32, u64], 256 x 8;
}

impl<O: Offset> BfsPush<O> {
    #[device]
    fn push<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { pattern, frontier, next, levels, parents, level } = self;
        frontier.each_edge::<BLOCK, ITEMS>(pattern, |edge, is_edge| {
            let to = edge.to as usize;
            let mut is_new = false;
            if is_edge {
                let mut seen = levels.atomic_load(to, Ordering::Relaxed, Scope::Device);
                if seen == NO_VERTEX {
                    seen = levels.compare_exchange(to, NO_VERTEX, level, Ordering::Relaxed, Scope::Device);
                    is_new = seen == NO_VERTEX;
                }
                if is_new || seen == level {
                    parents.fetch_min(to, edge.from, Ordering::Relaxed, Scope::Device);
                }
            }
            next.add(edge.to, is_new);
        });
    }
}

kernel! {
    /// Looks for the frontier among the vertices that have an edge to one that was not reached: one warp per vertex.
    pub struct BfsPull<O: Offset> {
        /// The graph with its edges reversed, whose rows are sorted.
        pub incoming: GlobalPattern<O>,
        /// Output: the vertices of the level.
        pub next: UnorderedList,
        /// The level of each vertex.
        pub levels: GlobalMut<u32>,
        /// The parent of each vertex.
        pub parents: GlobalMut<u32>,
        /// The level, at least 1.
        pub level: u32,
    }
    shared: 0;
    body: BfsPull::pull::<BLOCK>;
    entry: graph_bfs_pull_{O} in graph: O in [u32, u64], 256 x 1;
}

impl<O: Offset> BfsPull<O> {
    #[device]
    fn pull<const BLOCK: usize>(self, _: Arena) {
        let Self { incoming, next, levels, parents, level } = self;
        let vertex = thread::global_warp::<BLOCK>();
        if vertex >= incoming.rows as usize
            || levels.atomic_load(vertex, Ordering::Relaxed, Scope::Device) != NO_VERTEX
        {
            return;
        }
        let (mut place, end) = incoming.row_bounds(vertex);
        while place < end {
            let own = place + thread::lane() as usize;
            let from = incoming.column_indices.load_if(own, own < end);
            let is_parent =
                own < end && levels.atomic_load(from as usize, Ordering::Relaxed, Scope::Device) == level - 1;
            let found = warp::ballot(warp::FULL, is_parent);
            if found != 0 {
                // Rows are sorted, so the first is the least.
                if is_parent && warp::count_below(found) == 0 {
                    parents.store(vertex, from);
                    levels.atomic_store(vertex, level, Ordering::Relaxed, Scope::Device);
                }
                next.add(vertex as u32, is_parent && warp::count_below(found) == 0);
                return;
            }
            place += thread::WARP_SIZE as usize;
        }
    }
}
