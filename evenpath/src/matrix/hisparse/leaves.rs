//! Nodes at their positions in the matrix, by which operations divide work.

use bytemuck::Zeroable;
use rayon::slice::ParallelSliceMut;

use super::matrix::HiSparse;
use super::node::{Reference, StoredNode, unpack};
use crate::matrix::MatrixError;
use crate::matrix::check_threads;
use crate::memory::{split_by, try_collect, try_zeroed};
use crate::{Value, parallel};

/// Inner nodes per task.
const GRAIN: usize = 64;

/// A node and its position within its level, with row and column counted in nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Zeroable)]
#[repr(C)]
pub(crate) struct PlacedNode {
    pub(crate) reference: Reference,
    pub(crate) row: u32,
    pub(crate) col: u32,
}

impl PlacedNode {
    /// The child at local coordinates. It is inside the matrix, so its row and column are below 2³².
    pub(crate) fn child(self, reference: Reference, row: usize, col: usize, d: usize) -> Self {
        Self { reference, row: self.row * d as u32 + row as u32, col: self.col * d as u32 + col as u32 }
    }

    /// The nodes in `row`; `nodes` are sorted by row.
    pub(crate) fn of_row(nodes: &[Self], row: usize) -> &[Self] {
        let begin = nodes.partition_point(|node| (node.row as usize) < row);
        let len = nodes[begin..].partition_point(|node| node.row as usize == row);
        &nodes[begin..begin + len]
    }
}

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// The leaves sorted by row, then column, with transposition applied. A shared node appears at every position that it
    /// has in the matrix, so there may be far more leaves than bytes in the pool.
    pub(crate) fn leaves_by_row(&self) -> Result<Vec<PlacedNode>, MatrixError> {
        check_threads()?;
        let mut nodes = Vec::new();
        if !self.root().is_null() {
            nodes.push(PlacedNode { reference: self.root(), row: 0, col: 0 });
        }
        for _ in 1..self.depth() {
            nodes = self.next_level(&nodes)?;
        }
        if self.is_transposed() {
            transpose(&mut nodes);
        }
        sort(&mut nodes);
        Ok(nodes)
    }

    /// The children of inner nodes, in order.
    fn next_level(&self, nodes: &[PlacedNode]) -> Result<Vec<PlacedNode>, MatrixError> {
        let out_of_memory = || MatrixError::OutOfMemory { rows: self.nrows(), nnz: self.nnz() };
        let len = |node: &PlacedNode| StoredNode::<Reference>::at(self.units(), node.reference, D).len();
        let mut counts: Vec<usize> = try_zeroed(nodes.len().div_ceil(GRAIN)).map_err(|()| out_of_memory())?;
        parallel::chunks_mut(&mut counts, 1, |chunk, count| {
            count[0] = nodes[chunk * GRAIN..].iter().take(GRAIN).map(len).sum();
        });
        let all = counts.iter().sum();
        let mut children: Vec<PlacedNode> = try_zeroed(all).map_err(|()| out_of_memory())?;
        let parts = split_by(counts.iter().copied(), &mut children).map_err(|_| out_of_memory())?;
        let parts = try_collect(parts.into_iter().zip(nodes.chunks(GRAIN))).map_err(|_| out_of_memory())?;
        parallel::for_each(parts, |(slots, nodes)| {
            let children = nodes.iter().flat_map(|&node| self.children(node));
            slots.iter_mut().zip(children).for_each(|(slot, child)| *slot = child);
        });
        Ok(children)
    }

    /// The children of an inner node, at their positions in the content.
    fn children(&self, node: PlacedNode) -> impl Iterator<Item = PlacedNode> + '_ {
        let entries = StoredNode::<Reference>::at(self.units(), node.reference, D).entries(D);
        entries.map(move |(coordinates, reference)| {
            let (row, col) = unpack(coordinates);
            node.child(reference, row, col, D)
        })
    }

    pub(crate) fn leaf(&self, leaf: PlacedNode) -> StoredNode<'_, V> {
        StoredNode::at(self.units(), leaf.reference, D)
    }

    /// Local row and column of packed coordinates, with transposition applied.
    pub(crate) fn oriented(&self, coordinates: u16) -> (usize, usize) {
        unpack(if self.is_transposed() { coordinates.swap_bytes() } else { coordinates })
    }
}

fn transpose(nodes: &mut [PlacedNode]) {
    parallel::parts_mut(nodes, 1, |_, nodes| {
        for node in nodes {
            std::mem::swap(&mut node.row, &mut node.col);
        }
    });
}

fn sort(nodes: &mut [PlacedNode]) {
    nodes.par_sort_unstable_by_key(|node| (node.row, node.col));
}
