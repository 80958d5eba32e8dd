//! Nodes with their places in the matrix: what operations share work out by.

use rayon::prelude::*;

use super::HiSparse;
use super::node::{Node, Reference, unpack};
use crate::Value;

/// A node, and which it is in its level: row and column counted in nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacedNode {
    pub(crate) reference: Reference,
    pub(crate) row: u32,
    pub(crate) col: u32,
}

impl PlacedNode {
    /// The child at local coordinates. It is inside the matrix, so the numbers are less than 2³².
    pub(crate) fn child(self, reference: Reference, row: usize, col: usize, d: usize) -> Self {
        Self { reference, row: self.row * d as u32 + row as u32, col: self.col * d as u32 + col as u32 }
    }

    /// Those of a row of nodes, where `nodes` are sorted by row.
    pub(crate) fn of_row(nodes: &[Self], row: usize) -> &[Self] {
        let begin = nodes.partition_point(|node| (node.row as usize) < row);
        let len = nodes[begin..].partition_point(|node| node.row as usize == row);
        &nodes[begin..begin + len]
    }
}

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// The leaves, by row and then by column of the matrix, transposed as it is.
    pub(crate) fn leaves_by_row(&self) -> Vec<PlacedNode> {
        let mut nodes = Vec::new();
        if !self.root().is_null() {
            nodes.push(PlacedNode { reference: self.root(), row: 0, col: 0 });
        }
        for _ in 1..self.depth() {
            nodes = nodes.par_iter().flat_map_iter(|&node| self.children(node)).collect();
        }
        if self.is_transposed() {
            nodes.par_iter_mut().for_each(|node| std::mem::swap(&mut node.row, &mut node.col));
        }
        nodes.par_sort_unstable_by_key(|node| (node.row, node.col));
        nodes
    }

    /// The children of an inner node, placed as in the content.
    pub(crate) fn children(&self, node: PlacedNode) -> impl Iterator<Item = PlacedNode> + '_ {
        let entries = Node::<Reference>::at(self.units(), node.reference, D).entries(D);
        entries.map(move |(coordinates, reference)| {
            let (row, col) = unpack(coordinates);
            node.child(reference, row, col, D)
        })
    }

    pub(crate) fn leaf(&self, leaf: PlacedNode) -> Node<'_, V> {
        Node::at(self.units(), leaf.reference, D)
    }

    /// Local row and column of packed coordinates, transposed as the matrix is.
    pub(crate) fn oriented(&self, coordinates: u16) -> (usize, usize) {
        unpack(if self.is_transposed() { coordinates.swap_bytes() } else { coordinates })
    }
}
