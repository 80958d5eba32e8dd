//! A matrix as a tree: content, transposition and scale.

use std::fmt;
use std::sync::Arc;

use super::node::{Reference, Unit};
use super::tree::{BuiltTree, depth};
use crate::Value;
use crate::scale::Scale;

/// A sparse matrix as a tree of D × D nodes, where D is 32, 64, 128 or 256 (Derler, *HiSparse: A Hierarchical Sparse
/// Matrix Format for the GPU*, master's thesis, Graz University of Technology 2016, chapter 3).
///
/// Leaves hold values; inner nodes hold references to their nonempty children. Local coordinates take one byte each, so a
/// nonzero in a well-filled leaf takes little more than its value and two bytes. A node is stored dense if that is
/// smaller, otherwise as a list of its entries ([`NodeKind`](crate::hisparse::NodeKind)). All nodes are in one pool; `docs/hisparse.md` specifies its
/// layout to the byte.
///
/// The content never changes, and copies of a matrix share it. Transposition and a scale factor are stored beside it:
/// [`transpose`](Self::transpose) and [`scaled`](Self::scaled) take O(1).
///
/// ```
/// use evenpath::{Csr, HiSparse, hisparse};
///
/// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
/// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
/// let b = a.transpose().scaled(10.0);
/// assert_eq!((b.nrows(), b.ncols(), b.depth()), (300, 2, 2));
/// assert_eq!((b.get(299, 1), b.get(0, 1)), (Some(30.0), None));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone)]
pub struct HiSparse<V, const D: usize = 128> {
    /// Rows of the content; `cols` likewise.
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    pub(super) pool: Arc<Vec<Unit>>,
    pub(super) root: Reference,
    pub(super) is_transposed: bool,
    pub(super) scale: Scale<V>,
}

impl<V: Value, const D: usize> HiSparse<V, D> {
    const IS_NODE_SIZE: () = assert!(matches!(D, 32 | 64 | 128 | 256), "D is 32, 64, 128 or 256");

    /// Builds a matrix from a valid tree.
    pub(crate) fn from_tree(rows: usize, cols: usize, nnz: usize, tree: BuiltTree) -> Self {
        let () = Self::IS_NODE_SIZE;
        let BuiltTree { pool, root } = tree;
        Self { rows, cols, nnz, pool: Arc::new(pool), root, is_transposed: false, scale: Scale::ONE }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        if self.is_transposed { self.cols } else { self.rows }
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        if self.is_transposed { self.rows } else { self.cols }
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of nonzeros, that is, of stored entries: a stored zero counts.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Levels of the tree, including the leaves: the smallest depth, at least 1, for which Dᵈᵉᵖᵗʰ is no less than the rows
    /// and columns.
    pub fn depth(&self) -> usize {
        depth(self.rows, self.cols, D)
    }

    /// Returns whether the matrix is the transpose of the stored content.
    pub fn is_transposed(&self) -> bool {
        self.is_transposed
    }

    /// The factor that every stored value is multiplied by: 0 or infinity if it is out of the range of `V`.
    pub fn scale(&self) -> V {
        self.scale.rounded()
    }

    /// Returns the n x m transpose of an m x n matrix, in O(1). It shares this matrix's content.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a: HiSparse<f64> = Csr::from_triplets(2, 300, [(0, 299, 2.0)])?.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((a.transpose().shape(), a.transpose().get(299, 0)), ((300, 2), Some(2.0)));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self { is_transposed: !self.is_transposed, ..self.clone() }
    }

    /// Returns the m x n matrix times `factor`, in O(1). It shares this matrix's content. Factors are multiplied
    /// together before they are applied to values; their product may leave the range of `V`. Times 0, every
    /// entry is 0, even if the stored value is not a number.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a: HiSparse<f64> = Csr::from_triplets(2, 300, [(0, 299, 2.0)])?.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((a.scaled(10.0).get(0, 299), a.scaled(10.0).scale()), (Some(20.0), 10.0));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    #[must_use]
    pub fn scaled(&self, factor: V) -> Self {
        Self { scale: self.scale.times(factor), ..self.clone() }
    }

    /// The bytes of the pool, to store or send. [`try_from_pool`](Self::try_from_pool) rebuilds the matrix from them.
    pub fn pool(&self) -> &[u8] {
        bytemuck::cast_slice(&self.pool)
    }

    /// The reference to the root; 0 if the matrix has no nonzeros.
    pub fn root_reference(&self) -> u32 {
        self.root.0
    }

    /// The same content with this transposition and scale.
    pub(crate) fn with_state(&self, is_transposed: bool, scale: Scale<V>) -> Self {
        Self { is_transposed, scale, ..self.clone() }
    }

    /// The factor that every stored value is multiplied by.
    pub(crate) fn factor(&self) -> Scale<V> {
        self.scale
    }

    /// The content, neither transposed nor scaled.
    pub(crate) fn content(&self) -> Self {
        self.with_state(false, Scale::ONE)
    }

    /// Rows and columns of the content.
    pub(crate) fn content_shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    pub(crate) fn units(&self) -> &[Unit] {
        &self.pool
    }

    pub(crate) fn root(&self) -> Reference {
        self.root
    }
}

impl<V: Value, const D: usize> fmt::Debug for HiSparse<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.nrows(), self.ncols(), self.nnz);
        let transposed = if self.is_transposed { ", transposed" } else { "" };
        write!(f, "HiSparse<{}, {D}> {rows} x {cols}, {nnz} nonzeros", V::NAME)?;
        write!(f, " in {} bytes{transposed}, times {}", self.pool().len(), self.scale())
    }
}
