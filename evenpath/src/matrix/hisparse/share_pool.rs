//! A common pool for several matrices: equal subtrees of all of them are stored once.

use std::collections::HashMap;
use std::sync::Arc;

use bytemuck::Zeroable;

use super::super::node_fault::NodeKind;
use super::matrix::HiSparse;
use super::node::{MAX_UNITS, Reference, StoredNode, Unit};
use super::tree::too_large;
use crate::Value;
use crate::matrix::MatrixError;

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// Returns the same matrices with a common pool in which equal subtrees are stored once, within a matrix
    /// and between matrices (Derler 2016, chapters 1 and 8). Values are equal if their bits are. Transposition and
    /// scale are kept, but are not part of a tree. The pool lives as long as any of the matrices.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// // The second matrix is the first one with another entry, far from the others.
    /// let a = Csr::from_triplets(256, 256, [(0, 0, 1.0), (9, 9, 1.0)])?;
    /// let b = Csr::from_triplets(256, 256, [(0, 0, 1.0), (9, 9, 1.0), (200, 3, 2.0)])?;
    /// let trees = [a, b].map(|matrix| matrix.to_hisparse(hisparse::Options::default()));
    /// let trees: Vec<HiSparse<f64>> = trees.into_iter().collect::<Result<_, _>>()?;
    /// let shared = HiSparse::share_subtrees(&trees)?;
    /// assert!(shared[0].pool().len() < trees[0].pool().len() + trees[1].pool().len());
    /// assert_eq!(shared[1].get(200, 3), Some(2.0));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the pool would take more than 16 GiB.
    pub fn share_subtrees(matrices: &[Self]) -> Result<Vec<Self>, MatrixError> {
        let mut pool = SharedPool::<V, D>::new();
        let mut roots = Vec::with_capacity(matrices.len());
        for matrix in matrices {
            let mut source = PooledMatrix { matrix, known: HashMap::new() };
            roots.push(pool.add(&mut source, matrix.root(), matrix.depth())?);
        }
        let units = Arc::new(pool.units);
        let with_root =
            |(matrix, root): (&Self, Reference)| Self { pool: units.clone(), root, ..matrix.clone() };
        Ok(matrices.iter().zip(roots).map(with_root).collect())
    }
}

/// A matrix whose nodes are added to a pool.
struct PooledMatrix<'a, V: Value, const D: usize> {
    matrix: &'a HiSparse<V, D>,
    /// References in the new pool, by level, counted from the leaves, and original reference.
    known: HashMap<(usize, Reference), Reference>,
}

/// A pool of distinct nodes.
struct SharedPool<V: Value, const D: usize> {
    units: Vec<Unit>,
    /// Reference of each node, by its content, kind, and true for a leaf.
    nodes: HashMap<(bool, NodeKind, Vec<Unit>), Reference>,
    value: std::marker::PhantomData<V>,
}

impl<V: Value, const D: usize> SharedPool<V, D> {
    fn new() -> Self {
        // The first unit belongs to no node.
        Self { units: vec![Unit::zeroed()], nodes: HashMap::new(), value: std::marker::PhantomData }
    }

    /// Returns the node in this pool that equals a node of a matrix, with `levels` levels from it to the
    /// leaves, including its own.
    fn add(
        &mut self,
        source: &mut PooledMatrix<'_, V, D>,
        old: Reference,
        levels: usize,
    ) -> Result<Reference, MatrixError> {
        if old.is_null() {
            return Ok(old);
        }
        if let Some(&new) = source.known.get(&(levels, old)) {
            return Ok(new);
        }
        let (units, kind, is_leaf) = (source.matrix.units(), old.kind(), levels == 1);
        let content = if is_leaf {
            let len = kind.units::<V>(StoredNode::<V>::at(units, old, D).len(), D);
            units[old.unit()..old.unit() + len].to_vec()
        } else {
            let count = StoredNode::<Reference>::at(units, old, D).len();
            let len = kind.units::<Reference>(count, D);
            let mut content = units[old.unit()..old.unit() + len].to_vec();
            let slots = if kind == NodeKind::Dense {
                0..D * D
            } else {
                let first = kind.values_offset::<Reference>(count) / size_of::<Reference>();
                first..first + count
            };
            for child in &mut bytemuck::cast_slice_mut::<Unit, Reference>(&mut content)[slots] {
                *child = self.add(source, *child, levels - 1)?;
            }
            content
        };
        let new = self.insert(is_leaf, kind, content)?;
        source.known.insert((levels, old), new);
        Ok(new)
    }

    /// Returns the node with this content, adding it if there is none.
    fn insert(
        &mut self,
        is_leaf: bool,
        kind: NodeKind,
        content: Vec<Unit>,
    ) -> Result<Reference, MatrixError> {
        let key = (is_leaf, kind, content);
        if let Some(&known) = self.nodes.get(&key) {
            return Ok(known);
        }
        if self.units.len() + key.2.len() > MAX_UNITS {
            return Err(too_large());
        }
        let reference = Reference::new(self.units.len(), kind);
        self.units.extend_from_slice(&key.2);
        self.nodes.insert(key, reference);
        Ok(reference)
    }
}
