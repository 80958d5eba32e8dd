//! `C = A B` of two trees, each transposed or scaled or not. The leaves of a tree form a sparse matrix of small matrices,
//! which is multiplied row by row (Gustavson, "Two fast algorithms for sparse matrices", 1978); two leaves are multiplied
//! in the same way.
//!
//! Pairs of matching leaves of A and B are grouped by the leaf of C that they contribute to. First the entries of each
//! leaf of C are counted with bit masks. That determines the tree of C, so its pool is allocated at its final size. Then
//! the leaves are summed into it. The products of an entry of C are added by ascending column of A, transposed or not, so
//! results do not depend on the number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rayon::slice::ParallelSliceMut;

use super::leaf::{LeafBitmap, LeafSums};
use crate::matrix::NodeKind;
use crate::matrix::hisparse::convert::{levels, path};
use crate::matrix::hisparse::depth;
use crate::matrix::hisparse::leaves::PlacedNode;
use crate::matrix::hisparse::node::{self, MAX_UNITS};
use crate::matrix::hisparse::tree::{Shape, too_large};
use crate::memory::{split_by, try_collect, try_zeroed};
use crate::{HiSparse, MatrixError, Value, parallel};

/// The indices of a leaf of A and a leaf of B.
type LeafPair = [u32; 2];

/// A nonempty leaf of C.
struct LeafOfC {
    path: u64,
    /// Its first pair, and the number of pairs.
    first: usize,
    pairs: u32,
    entries: u32,
}

/// Computes `A B`, with scale 1. A has one column per row of B. The product is stored transposed if both operands are.
pub(crate) fn product<V: Value, const D: usize>(
    a: &HiSparse<V, D>,
    b: &HiSparse<V, D>,
) -> Result<HiSparse<V, D>, MatrixError> {
    if a.is_transposed() && b.is_transposed() {
        return Ok(product(&b.transpose(), &a.transpose())?.transpose());
    }
    let (a, b) = (&*a.with_number_as_scale()?, &*b.with_number_as_scale()?);
    let (a_leaves, b_leaves) = (a.leaves_by_row()?, b.leaves_by_row()?);
    let product = CpuTreeProduct { a, b, a_leaves: &a_leaves, b_leaves: &b_leaves };
    let (rows, cols) = (a.nrows(), b.ncols());
    let (pairs, mut leaves) = product.leaves()?;
    sort_by_path(&mut leaves);
    let out_of_memory = |_| MatrixError::OutOfMemory { rows, nnz: 0 };
    let paths = try_collect(leaves.iter().map(|leaf| leaf.path)).map_err(out_of_memory)?;
    let shape = Shape {
        levels: levels(paths, depth(rows, cols, D), D).map_err(out_of_memory)?,
        leaves: try_collect(leaves.iter().map(|leaf| leaf.entries)).map_err(out_of_memory)?,
    };
    // At most one per thread.
    let unused = Mutex::new(Vec::new());
    let tree = shape.build::<V, D>(rows, |leaf, kind, units| {
        let LeafOfC { first, pairs: count, entries, .. } = leaves[leaf];
        let taken = unused.lock().pop();
        let mut sums = taken.unwrap_or_else(LeafSums::<V, D>::new);
        for &pair in &pairs[first..first + count as usize] {
            let (a_leaf, b_leaf) = product.leaves_of(pair);
            sums.add(a, a_leaf, b, b_leaf);
        }
        let values = sums.drain().map(|(place, sum)| (place, a.scale() * (b.scale() * sum)));
        node::write(units, kind, entries as usize, D, values);
        unused.lock().push(sums);
    })?;
    Ok(HiSparse::from_tree(rows, cols, shape.entries(), tree))
}

fn sort_by_path(leaves: &mut [LeafOfC]) {
    leaves.par_sort_unstable_by_key(|leaf| leaf.path);
}

/// The product of two trees, not both transposed, with their leaves by row.
struct CpuTreeProduct<'a, V, const D: usize> {
    a: &'a HiSparse<V, D>,
    b: &'a HiSparse<V, D>,
    a_leaves: &'a [PlacedNode],
    b_leaves: &'a [PlacedNode],
}

impl<V: Value, const D: usize> CpuTreeProduct<'_, V, D> {
    fn leaves_of(&self, [a, b]: LeafPair) -> (PlacedNode, PlacedNode) {
        (self.a_leaves[a as usize], self.b_leaves[b as usize])
    }

    /// Leaves of B that match a leaf of A: those in the row of its column.
    fn met(&self, a_leaf: PlacedNode) -> std::ops::Range<usize> {
        let row = a_leaf.col;
        let begin = self.b_leaves.partition_point(|leaf| leaf.row < row);
        begin..begin + self.b_leaves[begin..].partition_point(|leaf| leaf.row == row)
    }

    /// All pairs, grouped by leaf of C and then by column of A, and the leaves of C.
    fn leaves(&self) -> Result<(Vec<LeafPair>, Vec<LeafOfC>), MatrixError> {
        let (rows, nnz) = (self.a.nrows(), self.a.nnz());
        let out_of_memory = || MatrixError::OutOfMemory { rows, nnz };
        let a_rows = try_collect(self.a_leaves.chunk_by(|one, next| one.row == next.row));
        let a_rows = a_rows.map_err(|_| out_of_memory())?;
        let mut counts: Vec<usize> = try_zeroed(a_rows.len()).map_err(|()| out_of_memory())?;
        parallel::parts_mut(&mut counts, 1, |range, counts| {
            for (pairs, row) in counts.iter_mut().zip(&a_rows[range]) {
                *pairs = row.iter().map(|&leaf| self.met(leaf).len()).sum();
            }
        });
        let all = counts.iter().sum();
        let mut pairs: Vec<LeafPair> = try_zeroed(all).map_err(|()| out_of_memory())?;

        // Start of the leaves and of the pairs of each row.
        let starts = try_collect(a_rows.iter().zip(&counts).scan((0, 0), |next, (row, pairs)| {
            let start = *next;
            *next = (start.0 + row.len(), start.1 + pairs);
            Some(start)
        }));
        let starts = starts.map_err(|_| out_of_memory())?;
        let parts = split_by(counts.iter().copied(), &mut pairs).map_err(|_| out_of_memory())?;
        let parts = try_collect(parts.into_iter().zip(starts)).map_err(|_| out_of_memory())?;
        let units = AtomicUsize::new(0);
        let leaves = parallel::map_each(parts, |(pairs, (first_leaf, first_pair))| {
            if units.load(Ordering::Relaxed) > MAX_UNITS {
                return Err(too_large());
            }
            self.list_pairs(first_leaf, pairs);
            self.row_leaves(pairs, first_pair, &mut LeafBitmap::<D>::new(), &units)
        });
        let leaves: Result<Vec<Vec<LeafOfC>>, MatrixError> = leaves.into_iter().collect();
        let leaves = try_collect(leaves?.into_iter().flatten()).map_err(|_| out_of_memory())?;
        Ok((pairs, leaves))
    }

    /// The pairs of one row of leaves of A, the first of which is `first_leaf`.
    fn list_pairs(&self, first_leaf: usize, pairs: &mut [LeafPair]) {
        let met = (first_leaf..self.a_leaves.len())
            .flat_map(|a| self.met(self.a_leaves[a]).map(move |b| [a as u32, b as u32]));
        pairs.iter_mut().zip(met).for_each(|(pair, met)| *pair = met);
        pairs.sort_unstable_by_key(|&[a, b]| (self.b_leaves[b as usize].col, a));
    }

    /// Returns the leaves of C for these pairs of one row, whose indices start at `first`. Adds their units
    /// of the pool to `units`.
    fn row_leaves(
        &self,
        pairs: &[LeafPair],
        mut first: usize,
        pattern: &mut LeafBitmap<D>,
        units: &AtomicUsize,
    ) -> Result<Vec<LeafOfC>, MatrixError> {
        let depth = depth(self.a.nrows(), self.b.ncols(), D);
        let mut leaves = Vec::new();
        let col = |pair: &LeafPair| self.b_leaves[pair[1] as usize].col;
        for group in pairs.chunk_by(|one, next| col(one) == col(next)) {
            for &pair in group {
                let (a_leaf, b_leaf) = self.leaves_of(pair);
                pattern.add(self.a, a_leaf, self.b, b_leaf);
            }
            let entries = pattern.drain();
            // Leaves may match without any of their entries matching.
            if entries > 0 {
                let own_units = NodeKind::of::<V>(entries, D).units::<V>(entries, D);
                if units.fetch_add(own_units, Ordering::Relaxed) + own_units > MAX_UNITS {
                    return Err(too_large());
                }
                let row = self.a_leaves[group[0][0] as usize].row;
                let path = path(u64::from(row), u64::from(col(&group[0])), depth, D);
                let no_memory = |_| MatrixError::OutOfMemory { rows: self.a.nrows(), nnz: self.a.nnz() };
                leaves.try_reserve(1).map_err(no_memory)?;
                leaves.push(LeafOfC { path, first, pairs: group.len() as u32, entries: entries as u32 });
            }
            first += group.len();
        }
        Ok(leaves)
    }
}
