//! `C = A B` of two trees, in any state: the tree's leaves are a sparse matrix of small ones, multiplied row by row
//! (Gustavson, "Two fast algorithms for sparse matrices", 1978); and so are two leaves.
//!
//! A task is a row of leaves of C. Of an entry of C, the products are added by ascending column of A, whichever way the
//! operands are turned; so results do not depend on the number of threads.

use rayon::prelude::*;

use crate::matrix::hisparse::convert::{LeafRow, build};
use crate::matrix::hisparse::leaves::PlacedNode;
use crate::matrix::hisparse::node::pack;
use crate::{HiSparse, HiSparseOptions, MatrixError, Value};

/// Computes `A B`, which has scale 1. Where both are transposed, so is it; and A has a column for each row of B.
pub(crate) fn product<V: Value, const D: usize>(
    a: &HiSparse<V, D>,
    b: &HiSparse<V, D>,
) -> Result<HiSparse<V, D>, MatrixError> {
    if a.is_transposed() && b.is_transposed() {
        return Ok(product(&b.transpose(), &a.transpose())?.transpose());
    }
    let (a_leaves, b_leaves) = (a.leaves_by_row(), b.leaves_by_row());
    let rows: Vec<&[PlacedNode]> = a_leaves.chunk_by(|one, next| one.row == next.row).collect();
    let rows: Vec<LeafRow<V>> = rows
        .par_iter()
        .map_init(|| Leaf::new::<D>(), |leaf, a_row| leaf_row(a, a_row, b, &b_leaves, leaf))
        .collect();
    build(a.rows(), b.cols(), &rows, HiSparseOptions::default())
}

/// One row of C's leaves, from the row of A's.
fn leaf_row<V: Value, const D: usize>(
    a: &HiSparse<V, D>,
    a_row: &[PlacedNode],
    b: &HiSparse<V, D>,
    b_leaves: &[PlacedNode],
    leaf: &mut Leaf<V>,
) -> LeafRow<V> {
    let mut pairs: Vec<(PlacedNode, PlacedNode)> = a_row
        .iter()
        .flat_map(|&a| PlacedNode::of_row(b_leaves, a.col as usize).iter().map(move |&b| (a, b)))
        .collect();
    // Stable, so that the pairs of a leaf of C stay in the order of A's columns.
    pairs.sort_by_key(|(_, b)| b.col);
    let mut row =
        LeafRow { row: a_row[0].row, coordinates: Vec::new(), values: Vec::new(), leaves: Vec::new() };
    for pairs in pairs.chunk_by(|(_, one), (_, next)| one.col == next.col) {
        for &(a_leaf, b_leaf) in pairs {
            leaf.add(a, a_leaf, b, b_leaf);
        }
        let before = row.values.len();
        leaf.drain::<D>(|coordinates, sum| {
            row.coordinates.push(coordinates);
            row.values.push(a.scale() * (b.scale() * sum));
        });
        // Leaves may meet where none of their entries do.
        if row.values.len() > before {
            row.leaves.push((pairs[0].1.col, (row.values.len() - before) as u32));
        }
    }
    row
}

/// A leaf of C that is summed up.
struct Leaf<V> {
    /// D² sums, row by row; zero where no product was added.
    sums: Vec<V>,
    /// A bit for each that one was added to.
    is_entry: Vec<u64>,
    /// Entries of a leaf of B by row: where those of each row begin, and column and value of each.
    starts: Vec<usize>,
    entries: Vec<(usize, V)>,
}

impl<V: Value> Leaf<V> {
    fn new<const D: usize>() -> Self {
        Self {
            sums: vec![V::ZERO; D * D],
            is_entry: vec![0; D * D / 64],
            starts: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Adds the product of two leaves.
    fn add<const D: usize>(
        &mut self,
        a: &HiSparse<V, D>,
        a_leaf: PlacedNode,
        b: &HiSparse<V, D>,
        b_leaf: PlacedNode,
    ) {
        self.list_rows(b, b_leaf);
        for (coordinates, a_value) in a.leaf(a_leaf).entries(D) {
            let (row, inner) = a.oriented(coordinates);
            for &(col, b_value) in &self.entries[self.starts[inner]..self.starts[inner + 1]] {
                let place = row * D + col;
                self.sums[place] += a_value * b_value;
                self.is_entry[place / 64] |= 1 << (place % 64);
            }
        }
    }

    /// Lists the entries of a leaf of B by row.
    fn list_rows<const D: usize>(&mut self, b: &HiSparse<V, D>, leaf: PlacedNode) {
        let leaf = b.leaf(leaf);
        self.starts.clear();
        self.starts.resize(D + 1, 0);
        let mut count = 0;
        for (coordinates, _) in leaf.entries(D) {
            self.starts[b.oriented(coordinates).0] += 1;
            count += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        // Each row is filled from its end, which leaves its beginning behind.
        self.entries.resize(count, (0, V::ZERO));
        for (coordinates, value) in leaf.entries(D) {
            let (row, col) = b.oriented(coordinates);
            self.starts[row] -= 1;
            self.entries[self.starts[row]] = (col, value);
        }
    }

    /// Hands the entries on, row by row, and leaves none.
    fn drain<const D: usize>(&mut self, mut entry: impl FnMut(u16, V)) {
        for (word, bits) in self.is_entry.iter_mut().enumerate() {
            while *bits != 0 {
                let place = 64 * word + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                entry(pack(place / D, place % D), std::mem::replace(&mut self.sums[place], V::ZERO));
            }
        }
    }
}
