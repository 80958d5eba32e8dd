//! The edges of a list of vertices.

use evenpath_simt::{device, parameters, thread, Global};

use crate::block::search::partition_point;
use crate::{GlobalPattern, Offset};

parameters! {
    /// Vertices, with the numbers of their edges.
    pub struct Frontier<O: Offset> {
        /// The vertices, if `is_listed`.
        pub vertices: Global<u32>,
        /// Edges of the vertices before each, and of all at the end; `len` + 1.
        pub edges_before: Global<O>,
        /// Edges of all.
        pub edges: u64,
        /// Vertices.
        pub len: u32,
        /// 1 if `vertices` lists them; 0 if they are all vertices of the graph.
        pub is_listed: u32,
    }
}

/// An edge.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    /// The vertex that it leaves.
    pub(super) from: u32,
    /// The vertex that it enters.
    pub(super) to: u32,
    /// Its place among the nonzeros of the matrix.
    pub(super) place: usize,
}

impl<O: Offset> Frontier<O> {
    /// Calls `visit` with the edges of the block, `BLOCK` × `ITEMS` of them, and whether there is one. All lanes of a warp
    /// call it together.
    #[device(track_caller)]
    pub(super) fn each_edge<const BLOCK: usize, const ITEMS: usize>(
        self,
        pattern: GlobalPattern<O>,
        mut visit: impl FnMut(Edge, bool),
    ) {
        let begin = u64::from(thread::block()) * (BLOCK * ITEMS) as u64;
        let end = (begin + (BLOCK * ITEMS) as u64).min(self.edges);
        let edges_to = |position: u32| self.edges_before.load(position as usize + 1).to_usize() as u64;
        // The vertices of the first and of the last edge.
        let first = partition_point(0, self.len, |position| edges_to(position) <= begin);
        let last = partition_point(first, self.len, |position| edges_to(position) < end);
        for item in 0..ITEMS {
            let edge = begin + (item * BLOCK) as u64 + u64::from(thread::index());
            let is_edge = edge < end;
            let wanted = if is_edge { edge } else { begin };
            let position = partition_point(first, last, |position| edges_to(position) <= wanted) as usize;
            let from =
                if self.is_listed == 0 { position as u32 } else { self.vertices.load_if(position, is_edge) };
            let before = self.edges_before.load_if(position, is_edge).to_usize();
            let place = pattern.row_offsets.load_if(from as usize, is_edge).to_usize()
                + (wanted as usize).wrapping_sub(before);
            let to = pattern.column_indices.load_if(place, is_edge);
            visit(Edge { from, to, place }, is_edge);
        }
    }
}
