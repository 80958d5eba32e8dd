//! Cores of a graph: vertices of low degree are removed, and with them their edges, until all degrees are higher (Matula, Beck,
//! "Smallest-last ordering", 1983).

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut};

use super::bfs::NO_VERTEX;
use super::frontier::Frontier;
use crate::block::list::UnorderedList;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Counts the entries of each row: one thread per row.
    pub struct RowDegrees<O: Offset> {
        /// The graph.
        pub pattern: GlobalPattern<O>,
        /// Output: the degree of each vertex.
        pub degrees: GlobalMut<u32>,
    }
    shared: 0;
    body: RowDegrees::count::<BLOCK>;
    entry: graph_row_degrees_{O} in graph: O in [u32, u64], 256 x 1;
}

impl<O: Offset> RowDegrees<O> {
    #[device]
    fn count<const BLOCK: usize>(self, _: Arena) {
        let vertex = thread::global_index::<BLOCK>();
        if vertex < self.pattern.rows as usize {
            self.degrees.store(vertex, self.pattern.row_len(vertex) as u32);
        }
    }
}

kernel! {
    /// Removes the vertices whose degree is at most `core`, and lists them: one thread per vertex.
    pub struct ListLowDegrees {
        /// The degree of each vertex.
        pub degrees: GlobalMut<u32>,
        /// The core number of each vertex that was removed; [`NO_VERTEX`] for others.
        pub cores: GlobalMut<u32>,
        /// Output: the vertices that are removed.
        pub next: UnorderedList,
        /// Output: the least degree of the vertices that stay; before, the greatest number.
        pub least: GlobalMut<u32>,
        /// The core number.
        pub core: u32,
        /// Vertices.
        pub len: u32,
    }
    shared: 0;
    body: ListLowDegrees::list::<BLOCK>;
    entry: graph_list_low_degrees in graph: 256 x 1;
}

impl ListLowDegrees {
    #[device]
    fn list<const BLOCK: usize>(self, _: Arena) {
        let vertex = thread::global_index::<BLOCK>();
        let (mut is_low, mut least) = (false, u32::MAX);
        if vertex < self.len as usize && self.cores.load(vertex) == NO_VERTEX {
            let degree = self.degrees.load(vertex);
            is_low = degree <= self.core;
            if is_low {
                self.cores.store(vertex, self.core);
            } else {
                least = degree;
            }
        }
        self.next.add(vertex as u32, is_low);
        let least = warp::reduce(least, u32::min);
        if thread::lane() == 0 && least != u32::MAX {
            self.least.fetch_min(0, least, Ordering::Relaxed, Scope::Device);
        }
    }
}

kernel! {
    /// Lowers the degrees of the vertices that edges of removed ones enter: equal numbers of edges per thread. Those that
    /// reach `core` are removed too.
    pub struct PeelEdges<O: Offset> {
        /// The graph.
        pub pattern: GlobalPattern<O>,
        /// The vertices that were removed.
        pub frontier: Frontier<O>,
        /// Output: the vertices that are removed.
        pub next: UnorderedList,
        /// The degree of each vertex.
        pub degrees: GlobalMut<u32>,
        /// The core number of each vertex that was removed; [`NO_VERTEX`] for others.
        pub cores: GlobalMut<u32>,
        /// The core number.
        pub core: u32,
    }
    shared: 0;
    body: PeelEdges::peel::<BLOCK, ITEMS>;
    entry: graph_peel_edges_{O} in graph: O in [u32, u64], 256 x 8;
}

impl<O: Offset> PeelEdges<O> {
    #[device]
    fn peel<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { pattern, frontier, next, degrees, cores, core } = self;
        frontier.each_edge::<BLOCK, ITEMS>(pattern, |edge, is_edge| {
            let to = edge.to as usize;
            let mut is_low = false;
            if is_edge && cores.atomic_load(to, Ordering::Relaxed, Scope::Device) == NO_VERTEX {
                // Only one edge takes the last degree above the core number.
                is_low = degrees.fetch_add(to, u32::MAX, Ordering::Relaxed, Scope::Device) == core + 1;
                if is_low {
                    cores.atomic_store(to, core, Ordering::Relaxed, Scope::Device);
                }
            }
            next.add(edge.to, is_low);
        });
    }
}
