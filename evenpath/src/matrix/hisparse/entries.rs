//! Access to one entry, and iterators over entries and nodes.

use std::ops::Range;

use super::super::node_fault::NodeKind;
use super::leaves::PlacedNode;
use super::matrix::HiSparse;
use super::node::{NodeEntries, Reference, StoredNode, pack, unpack};
use super::tree::level_span;
use crate::Value;

/// A node of a [`HiSparse`] at its position in the matrix.
///
/// ```
/// use evenpath::{Csr, HiSparse, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (150, 3, 2.0)])?;
/// let tree: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let leaves: Vec<_> = tree.nodes().filter(|node| node.level + 1 == tree.depth()).collect();
/// assert!(leaves.iter().any(|leaf| leaf.rows.contains(&150) && leaf.cols.contains(&3) && leaf.entries == 1));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The level, 0 for the root.
    pub level: usize,
    /// The rows that the node covers.
    pub rows: Range<usize>,
    /// The columns that the node covers.
    pub cols: Range<usize>,
    /// Storage kind.
    pub kind: NodeKind,
    /// The number of its children or, for a leaf, of its nonzeros.
    pub entries: usize,
}

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// The value at (`row`, `col`) of an m x n matrix; `None` if nothing is stored there. Takes at most one binary search
    /// per level.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a: HiSparse<f64> = Csr::from_triplets(2, 300, [(1, 299, 3.0)])?.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((a.get(1, 299), a.get(0, 0)), (Some(3.0), None));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn get(&self, row: usize, col: usize) -> Option<V> {
        if row >= self.nrows() || col >= self.ncols() {
            return None;
        }
        let (row, col) = if self.is_transposed() { (col, row) } else { (row, col) };
        let mut node = Some(self.root()).filter(|root| !root.is_null())?;
        for levels in (1..self.depth()).rev() {
            let span = level_span(levels, D) as usize;
            let coordinates = pack(row / span % D, col / span % D);
            node = StoredNode::<Reference>::at(self.units(), node, D).get(coordinates, D)?;
        }
        let value = StoredNode::<V>::at(self.units(), node, D).get(pack(row % D, col % D), D)?;
        Some(self.factor().apply(value))
    }

    /// Row, column and value of every entry, leaf by leaf.
    pub fn iter(&self) -> Entries<'_, V, D> {
        Entries { matrix: self, nodes: Nodes::new(self), leaf: None }
    }

    /// The entries in these rows and columns, which are in the matrix, with their positions there. Only the
    /// nodes that have such rows and columns are visited.
    pub(crate) fn block_entries(
        &self,
        rows: Range<usize>,
        cols: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, V)> + '_ {
        let mut entries = self.iter();
        let block = if self.is_transposed() { [&cols, &rows] } else { [&rows, &cols] };
        entries.nodes.block = block.map(|range| range.start as u64..range.end as u64);
        entries.filter(move |(row, col, _)| rows.contains(row) && cols.contains(col))
    }

    /// Every node, parents before children. A shared node appears at every position that it has in the matrix.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        Nodes::new(self).map(|(level, node)| self.describe(level, node))
    }

    fn describe(&self, level: usize, node: PlacedNode) -> Node {
        let span = level_span(self.depth() - level, D);
        let (row, col) = if self.is_transposed() { (node.col, node.row) } else { (node.row, node.col) };
        let range = |at: u32, len: usize| {
            let begin = u64::from(at) * span;
            begin as usize..((begin + span).min(len as u64)) as usize
        };
        let entries = if level + 1 == self.depth() {
            self.leaf(node).len()
        } else {
            StoredNode::<Reference>::at(self.units(), node.reference, D).len()
        };
        let (rows, cols) = (range(row, self.nrows()), range(col, self.ncols()));
        Node { level, rows, cols, kind: node.reference.kind(), entries }
    }
}

/// Iterator over levels and nodes, at their positions in the content.
#[derive(Clone)]
struct Nodes<'a, V, const D: usize> {
    matrix: &'a HiSparse<V, D>,
    /// For each inner level on the current path, the node and its remaining children.
    parents: Vec<(PlacedNode, NodeEntries<'a, Reference>)>,
    root: Option<PlacedNode>,
    /// The rows and columns of the content whose nodes are visited, besides the root.
    block: [Range<u64>; 2],
}

impl<'a, V: Value, const D: usize> Nodes<'a, V, D> {
    fn new(matrix: &'a HiSparse<V, D>) -> Self {
        let reference = matrix.root();
        let root = (!reference.is_null()).then_some(PlacedNode { reference, row: 0, col: 0 });
        Self { matrix, parents: Vec::new(), root, block: [0..u64::MAX, 0..u64::MAX] }
    }

    fn next_placed(&mut self) -> Option<PlacedNode> {
        if let Some(root) = self.root.take() {
            return Some(root);
        }
        while let Some((parent, children)) = self.parents.last_mut() {
            let Some((coordinates, reference)) = children.next() else {
                self.parents.pop();
                continue;
            };
            let (row, col) = unpack(coordinates);
            let child = parent.child(reference, row, col, D);
            if self.is_in_block(child, self.parents.len()) {
                return Some(child);
            }
        }
        None
    }

    /// Returns whether a node of a level has rows and columns of the block.
    fn is_in_block(&self, node: PlacedNode, level: usize) -> bool {
        let span = level_span(self.matrix.depth() - level, D);
        [node.row, node.col].into_iter().zip(&self.block).all(|(at, range)| {
            let begin = u64::from(at) * span;
            begin < range.end && range.start < begin + span
        })
    }
}

impl<V: Value, const D: usize> Iterator for Nodes<'_, V, D> {
    type Item = (usize, PlacedNode);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.next_placed()?;
        let level = self.parents.len();
        if level + 1 < self.matrix.depth() {
            let children = StoredNode::at(self.matrix.units(), node.reference, D).entries(D);
            self.parents.push((node, children));
        }
        Some((level, node))
    }
}

/// Iterator over the entries of a [`HiSparse`]: row, column and value of each.
///
/// ```
/// use evenpath::{Csr, HiSparse, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (150, 3, 2.0)])?;
/// let tree: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let mut entries: Vec<_> = tree.iter().collect();
/// entries.sort_by_key(|&(row, col, _)| (row, col));
/// assert_eq!(entries, [(0, 199, 1.0), (150, 3, 2.0)]);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone)]
pub struct Entries<'a, V, const D: usize> {
    matrix: &'a HiSparse<V, D>,
    nodes: Nodes<'a, V, D>,
    leaf: Option<(PlacedNode, NodeEntries<'a, V>)>,
}

impl<V: Value, const D: usize> Iterator for Entries<'_, V, D> {
    type Item = (usize, usize, V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((leaf, entries)) = &mut self.leaf
                && let Some((coordinates, value)) = entries.next()
            {
                let (row, col) = unpack(coordinates);
                let place = (leaf.row as usize * D + row, leaf.col as usize * D + col);
                let (row, col) = if self.matrix.is_transposed() { (place.1, place.0) } else { place };
                return Some((row, col, self.matrix.factor().apply(value)));
            }
            let depth = self.matrix.depth();
            let (_, leaf) = self.nodes.find(|&(level, _)| level + 1 == depth)?;
            self.leaf = Some((leaf, self.matrix.leaf(leaf).entries(D)));
        }
    }
}

impl<V: Value, const D: usize> std::iter::FusedIterator for Entries<'_, V, D> {}

impl<V: Value, const D: usize> std::fmt::Debug for Entries<'_, V, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entries of {:?}", self.matrix)
    }
}

impl<'a, V: Value, const D: usize> IntoIterator for &'a HiSparse<V, D> {
    type Item = (usize, usize, V);
    type IntoIter = Entries<'a, V, D>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
