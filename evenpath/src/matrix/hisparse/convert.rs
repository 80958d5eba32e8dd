//! Conversion from CSR and COO to the tree, and back.
//!
//! The steps are those of the thesis (chapter 3) in a different order, because rows are already sorted:
//! nonzeros are binned into leaves, one row of leaves at a time, and leaves are sorted into the tree by their
//! path from the root. That determines the size of the tree. Then the pool is allocated at once and all nodes
//! are written.

use std::borrow::Cow;
use std::collections::TryReserveError;

use rayon::slice::ParallelSliceMut;

use super::leaf_rows::{BinnedLeaf, LeafRow};
use super::leaves::PlacedNode;
use super::matrix::HiSparse;
use super::node::{self, MAX_UNITS, pack};
use super::options::Options;
use super::share::share;
use super::tree::{self, InnerLevel, Shape, depth};
use crate::matrix::blocks::split_both;
use crate::matrix::padding::row_offsets;
use crate::matrix::{Coo, Csr, CsrView, Duplicates, MatrixError};
use crate::memory::{try_collect, try_zeroed};
use crate::{Offset, Value, parallel};

impl<V: Value, O: Offset> CsrView<'_, V, O> {
    /// Converts an m x n matrix to an m x n [`HiSparse`] with D × D nodes. Duplicates are summed. Runs on the CPU.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (1, 299, 3.0)])?;
    /// let tree: HiSparse<f64, 64> = a.view().to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((tree.shape(), tree.get(1, 299)), ((2, 300), Some(3.0)));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the nodes take more than 16 GiB, or there is not enough memory for them.
    pub fn to_hisparse<const D: usize>(&self, options: Options) -> Result<HiSparse<V, D>, MatrixError> {
        if !self.is_canonical() {
            let mut canonical = self.to_owned();
            canonical.canonicalize();
            return canonical.view().to_hisparse(options);
        }
        let rows = parallel::map(self.nrows().div_ceil(D), 1, |row| bin_row::<_, _, D>(*self, row));
        build(self.nrows(), self.ncols(), &rows, options)
    }
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Converts an m x n matrix to an m x n [`HiSparse`] with D × D nodes. Duplicates are summed. Runs on the CPU.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (1, 299, 3.0)])?;
    /// let tree: HiSparse<f64, 64> = a.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((tree.shape(), tree.get(1, 299)), ((2, 300), Some(3.0)));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the nodes take more than 16 GiB, or there is not enough memory for them.
    pub fn to_hisparse<const D: usize>(&self, options: Options) -> Result<HiSparse<V, D>, MatrixError> {
        self.view().to_hisparse(options)
    }
}

impl<V: Value> Coo<V> {
    /// Converts an m x n matrix to an m x n [`HiSparse`] with D × D nodes. Duplicates are summed. Runs on the CPU.
    ///
    /// ```
    /// use evenpath::{Coo, HiSparse, hisparse};
    ///
    /// let a = Coo::from_triplets(2, 300, [(0, 0, 1.0), (1, 299, 3.0)])?;
    /// let tree: HiSparse<f64, 64> = a.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((tree.shape(), tree.get(1, 299)), ((2, 300), Some(3.0)));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the nodes take more than 16 GiB, or there is not enough memory for them.
    pub fn to_hisparse<const D: usize>(&self, options: Options) -> Result<HiSparse<V, D>, MatrixError> {
        self.to_csr_with_offsets::<u64>(Duplicates::Sum)?.to_hisparse(options)
    }
}

/// Builds the matrix from its rows of leaves, ascending.
fn build<V: Value, const D: usize>(
    rows: usize,
    cols: usize,
    leaf_rows: &[LeafRow<V>],
    options: Options,
) -> Result<HiSparse<V, D>, MatrixError> {
    let depth = depth(rows, cols, D);
    let mut leaves = sorted_leaves(leaf_rows, depth, D);
    if leaves.len() > MAX_UNITS {
        return Err(tree::too_large());
    }
    let nnz = leaves.iter().map(|leaf| leaf.count as usize).sum();
    let out_of_memory = |_| MatrixError::OutOfMemory { rows, nnz };
    let paths = try_collect(leaves.iter().map(|leaf| leaf.path)).map_err(out_of_memory)?;
    let mut levels = levels(paths, depth, D).map_err(out_of_memory)?;
    if options.share {
        share(&mut levels, &mut leaves, leaf_rows);
    }
    let shape = Shape { levels, leaves: leaves.iter().map(|leaf| leaf.count).collect() };
    let tree = shape.build::<V, D>(rows, |leaf, kind, units| {
        let (coordinates, values) = leaves[leaf].entries(leaf_rows);
        let entries = coordinates.iter().copied().zip(values.iter().copied());
        node::write(units, kind, coordinates.len(), D, entries);
    })?;
    Ok(HiSparse::from_tree(rows, cols, nnz, tree))
}

/// Bins the nonzeros of row `leaf_row` of leaves, D rows of the matrix, into leaves.
fn bin_row<V: Value, O: Offset, const D: usize>(matrix: CsrView<'_, V, O>, leaf_row: usize) -> LeafRow<V> {
    let rows = leaf_row * D..matrix.nrows().min((leaf_row + 1) * D);
    let nonzeros = matrix.range(rows.start).start..matrix.range(rows.end - 1).end;
    let columns = &matrix.column_indices()[nonzeros.clone()];
    // The leaf in the high bits, the position in the low ones, which makes the sort stable. D rows have at most D * 2³²
    // nonzeros and 2³² / D leaves.
    let shift = 32 + D.ilog2();
    let place = |(at, &column): (usize, &u32)| (u64::from(column) / D as u64) << shift | at as u64;
    let mut order: Vec<u64> = columns.iter().enumerate().map(place).collect();
    order.sort_unstable();

    let local_rows: Vec<u8> =
        rows.flat_map(|row| std::iter::repeat_n((row % D) as u8, matrix.range(row).len())).collect();
    let positions = || order.iter().map(|place| (place & ((1 << shift) - 1)) as usize);
    LeafRow {
        row: leaf_row as u32,
        coordinates: positions()
            .map(|at| pack(usize::from(local_rows[at]), columns[at] as usize % D))
            .collect(),
        values: positions().map(|at| matrix.values()[nonzeros.start + at]).collect(),
        leaves: order
            .chunk_by(|a, b| a >> shift == b >> shift)
            .map(|leaf| ((leaf[0] >> shift) as u32, leaf.len() as u32))
            .collect(),
    }
}

/// All leaves, sorted by path.
fn sorted_leaves<V: Value>(rows: &[LeafRow<V>], depth: usize, d: usize) -> Vec<BinnedLeaf> {
    let of_row = |at: usize| {
        let mut end = 0;
        let leaf = |&(col, count): &(u32, u32)| {
            let start = end;
            end += count as usize;
            let path = path(u64::from(rows[at].row), u64::from(col), depth, d);
            BinnedLeaf { path, row: at as u32, start, count }
        };
        rows[at].leaves.iter().map(leaf).collect::<Vec<_>>()
    };
    let mut leaves: Vec<BinnedLeaf> = parallel::map(rows.len(), 1, of_row).into_iter().flatten().collect();
    sort_by_path(&mut leaves);
    leaves
}

fn sort_by_path(leaves: &mut [BinnedLeaf]) {
    leaves.par_sort_unstable_by_key(|leaf| leaf.path);
}

/// The path to a leaf, whose row and column count leaves: for each inner level a digit of the row and one of the column,
/// the root's in the highest bits.
pub(crate) fn path(row: u64, col: u64, depth: usize, d: usize) -> u64 {
    let bits = d.ilog2();
    let digit = |index: u64, level: u32| index >> (bits * level) & (d as u64 - 1);
    (0..depth as u32 - 1)
        .rev()
        .fold(0, |path, level| (path << bits | digit(row, level)) << bits | digit(col, level))
}

/// The inner levels above leaves with these ascending paths, from the root down.
pub(crate) fn levels(
    mut paths: Vec<u64>,
    depth: usize,
    d: usize,
) -> Result<Vec<InnerLevel>, TryReserveError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let bits = d.ilog2();
    let mut levels = Vec::with_capacity(depth - 1);
    for _ in 1..depth {
        let digit = |path: u64| (path & (d as u64 - 1)) as usize;
        let coordinates = try_collect(paths.iter().map(|&path| pack(digit(path >> bits), digit(path))))?;
        let children = try_collect(0..paths.len() as u32)?;
        let nodes = || paths.chunk_by(|a, b| a >> (2 * bits) == b >> (2 * bits));
        let ends = nodes().scan(0, |end, node| {
            *end += node.len();
            Some(*end)
        });
        let starts = try_collect(std::iter::once(0).chain(ends))?;
        paths = try_collect(nodes().map(|node| node[0] >> (2 * bits)))?;
        levels.push(InnerLevel { starts, coordinates, children });
    }
    levels.reverse();
    Ok(levels)
}

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// Converts an m x n matrix to m x n CSR, with transposition and scale applied. The result is canonical. Runs on the
    /// CPU.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (1, 299, 3.0)])?;
    /// let tree: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!(tree.to_csr()?, a);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `O` cannot count the nonzeros, or there is not enough memory for them.
    pub fn to_csr(&self) -> Result<Csr<V>, MatrixError> {
        self.to_csr_with_offsets()
    }

    /// Converts an m x n matrix to m x n CSR like [`to_csr`](Self::to_csr), with row offsets of type `O`: `u64` counts more
    /// entries than `u32`.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a: HiSparse<f64> = Csr::from_triplets(2, 300, [(1, 299, 3.0)])?.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!(a.to_csr_with_offsets::<u64>()?.row_offsets(), [0, 0, 1]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_csr_with_offsets<O: Offset>(&self) -> Result<Csr<V, O>, MatrixError> {
        let (rows, nnz) = (self.nrows(), self.nnz());
        if O::try_from_usize(nnz).is_none() {
            return Err(MatrixError::offset_overflow::<O>(nnz));
        }
        let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz };
        let zeroed = |len| try_zeroed::<u32>(len).map_err(out_of_memory);
        let mut column_indices = zeroed(nnz)?;
        let mut values: Vec<V> = try_zeroed(nnz).map_err(out_of_memory)?;
        let mut lengths = zeroed(rows)?;
        let leaves = self.leaves_by_row()?;
        parallel::chunks_mut(&mut lengths, D, |row, lengths| {
            for leaf in PlacedNode::of_row(&leaves, row) {
                for (coordinates, _) in self.leaf(*leaf).entries(D) {
                    lengths[self.oriented(coordinates).0] += 1;
                }
            }
        });
        let row_offsets: Vec<O> = row_offsets(&lengths)?;

        let blocks: Vec<_> = (0..rows).step_by(D).map(|first| first..rows.min(first + D)).collect();
        let parts = split_both(&blocks, &row_offsets, &mut column_indices, &mut values);
        parallel::for_each(parts, |(block, columns, values)| {
            let base = row_offsets[block.start].to_usize();
            let mut cursors: Vec<usize> =
                row_offsets[block.clone()].iter().map(|offset| offset.to_usize() - base).collect();
            // Leaves are sorted by column, and so are the entries of a leaf within a row, transposed or not.
            for leaf in PlacedNode::of_row(&leaves, block.start / D) {
                for (coordinates, value) in self.leaf(*leaf).entries(D) {
                    let (row, col) = self.oriented(coordinates);
                    let at = &mut cursors[row];
                    columns[*at] = (leaf.col as usize * D + col) as u32;
                    values[*at] = self.factor().apply(value);
                    *at += 1;
                }
            }
        });
        Ok(Csr::from_valid(rows, self.ncols(), row_offsets, column_indices, values))
    }

    /// Converts an m x n matrix to m x n COO, sorted by row, with transposition and scale applied. Runs on the CPU.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a: HiSparse<f64> = Csr::from_triplets(2, 300, [(1, 299, 3.0)])?.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!(a.transpose().to_coo()?.shape(), (300, 2));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the entries.
    pub fn to_coo(&self) -> Result<Coo<V>, MatrixError> {
        self.to_csr_with_offsets::<u64>()?.to_coo()
    }

    /// Returns the matrix with a nonzero number as scale: if it has none, a copy whose values are multiplied.
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the copy.
    pub(crate) fn with_number_as_scale(&self) -> Result<Cow<'_, Self>, MatrixError> {
        if self.factor().is_nonzero_number() {
            return Ok(Cow::Borrowed(self));
        }
        Ok(Cow::Owned(self.to_csr_with_offsets::<u64>()?.to_hisparse(Options::default())?))
    }
}
