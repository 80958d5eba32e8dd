//! Validation of untrusted pools.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::super::node_fault::{InvalidNode, NodeFault, NodeKind};
use super::matrix::HiSparse;
use super::node::{self, MAX_UNITS, Reference, SlotContent, StoredNode, UNIT_BYTES, Unit, unpack};
use super::tree::{self, BuiltTree, depth, level_span};
use crate::matrix::{MatrixError, validate};
use crate::memory::try_zeroed;
use crate::{Value, parallel};

/// Limits on the entries of a matrix: for any pool, and per byte of a larger one.
const MAX_ENTRIES: u64 = 1 << 27;
const ENTRIES_A_BYTE: u64 = 16;

/// Nodes per task.
const GRAIN: usize = 64;

/// A referenced node and one of its positions.
#[derive(Clone, Copy)]
struct Visit {
    reference: Reference,
    row: u64,
    col: u64,
    /// True if some of its rows, and some of its columns, are outside the matrix.
    is_cut: (bool, bool),
}

/// A pool under validation.
struct Pool<'a> {
    units: &'a [Unit],
    rows: u64,
    cols: u64,
    d: usize,
}

/// One level of it.
#[derive(Clone, Copy)]
struct CheckedLevel {
    number: usize,
    /// Rows and columns that an entry covers.
    entry_span: u64,
}

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// Builds a `rows` x `cols` matrix from a pool, as returned by [`pool`](Self::pool), and the reference to its root. It
    /// is neither transposed nor scaled.
    ///
    /// The bytes are not trusted. Every reference must lead to a node inside the pool. Nodes must not overlap, so no node is
    /// its own descendant. Each node must have the kind that its number of entries implies, ascending entries inside the
    /// node and the matrix, and zeros as padding.
    ///
    /// An entry of a shared node counts once for every position of the node. With sharing, a few bytes can describe a matrix
    /// too large for any operation to finish. The number of entries is therefore limited to 2²⁷, or to 16 per byte of the
    /// pool if that is more. [`try_from_pool_with_limit`](Self::try_from_pool_with_limit) takes another limit.
    ///
    /// # Errors
    ///
    /// If the pool is invalid: the error names the node and the reason. If there are too many entries, or
    /// leaves occur at more than 2³⁰ positions. If there is not enough memory for a copy of the pool.
    pub fn try_from_pool(
        rows: usize,
        cols: usize,
        pool: &[u8],
        root_reference: u32,
    ) -> Result<Self, MatrixError> {
        let limit = MAX_ENTRIES.max(ENTRIES_A_BYTE.saturating_mul(pool.len() as u64));
        Self::try_from_pool_with_limit(rows, cols, pool, root_reference, limit)
    }

    /// Like [`try_from_pool`](Self::try_from_pool), with a limit on the number of entries, which bounds the
    /// cost of operations on the matrix.
    ///
    /// # Errors
    ///
    /// The same as for [`try_from_pool`](Self::try_from_pool).
    pub fn try_from_pool_with_limit(
        rows: usize,
        cols: usize,
        pool: &[u8],
        root_reference: u32,
        entry_limit: u64,
    ) -> Result<Self, MatrixError> {
        validate::dimensions(rows, cols)?;
        let len = pool.len() / UNIT_BYTES;
        if len == 0 || !pool.len().is_multiple_of(UNIT_BYTES) {
            return Err(MatrixError::PoolLength { bytes: pool.len() });
        }
        if len > MAX_UNITS {
            return Err(tree::too_large());
        }
        let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz: 0 };
        let mut units: Vec<Unit> = try_zeroed(len).map_err(out_of_memory)?;
        bytemuck::cast_slice_mut(&mut units).copy_from_slice(pool);
        let root = Reference(root_reference);
        Pool { units: &units, rows: rows as u64, cols: cols as u64, d: D }.check::<V>(root)?;
        let mut matrix = Self::from_tree(rows, cols, 0, BuiltTree { pool: units, root });
        // Nodes and entries have distinct positions, so there are fewer than 2⁶⁴.
        let statistics = matrix.statistics();
        let leaves = statistics.levels.last().map_or(0, |leaves| leaves.all().nodes);
        if leaves > MAX_UNITS as u64 {
            return Err(MatrixError::TooManyLeaves { leaves, limit: MAX_UNITS as u64 });
        }
        if statistics.nnz > entry_limit {
            return Err(MatrixError::TooManyEntries { entries: statistics.nnz, limit: entry_limit });
        }
        matrix.nnz = statistics.nnz as usize;
        Ok(matrix)
    }
}

impl Pool<'_> {
    /// Checks all nodes below `root`, level by level. A node is visited once per level, and its contents only after it is
    /// known not to overlap another. So the size of the pool bounds the work for any references.
    fn check<V: Value>(&self, root: Reference) -> Result<(), MatrixError> {
        if root.is_null() {
            return Ok(());
        }
        let depth = depth(self.rows as usize, self.cols as usize, self.d);
        let mut extents = BTreeMap::new();
        let mut visits = vec![Visit { reference: root, row: 0, col: 0, is_cut: (true, true) }];
        for number in 0..depth {
            let level = CheckedLevel { number, entry_span: level_span(depth - 1 - number, self.d) };
            if number + 1 == depth {
                self.check_extents::<V>(level, &visits, &mut extents)?;
                self.check_level::<V>(level, &visits)?;
            } else {
                self.check_extents::<Reference>(level, &visits, &mut extents)?;
                self.check_level::<Reference>(level, &visits)?;
                visits = self.next_level(level, &visits);
            }
        }
        Ok(())
    }

    fn fault(&self, level: CheckedLevel, visit: &Visit, fault: NodeFault) -> MatrixError {
        let span = level.entry_span * self.d as u64;
        MatrixError::HiSparseNode(Box::new(InvalidNode {
            offset: byte_offset(visit.reference),
            level: level.number,
            row: visit.row * span,
            col: visit.col * span,
            fault,
        }))
    }

    /// Checks that the nodes are inside the pool and overlap neither each other nor `extents`, then adds them to `extents`,
    /// which maps first units to last ones.
    fn check_extents<T: SlotContent>(
        &self,
        level: CheckedLevel,
        visits: &[Visit],
        extents: &mut BTreeMap<usize, (usize, usize)>,
    ) -> Result<(), MatrixError> {
        for visit in visits {
            let begin = visit.reference.unit();
            let end = self.end::<T>(visit.reference).map_err(|fault| self.fault(level, visit, fault))?;
            let overlapped = match extents.range(..end).next_back() {
                // The same node at another position, where it is cut differently.
                Some((&other, &(other_end, other_level)))
                    if other == begin && other_end == end && other_level == level.number =>
                {
                    None
                }
                Some((&other, &(other_end, _))) if other_end > begin => Some(other),
                _ => None,
            };
            if let Some(other) = overlapped {
                let other = (other * UNIT_BYTES) as u64;
                return Err(self.fault(level, visit, NodeFault::Overlap { other }));
            }
            extents.insert(begin, (end, level.number));
        }
        Ok(())
    }

    /// The unit after a node.
    fn end<T: SlotContent>(&self, reference: Reference) -> Result<usize, NodeFault> {
        let (begin, kind) = (reference.unit(), reference.kind());
        let pool = (self.units.len() * UNIT_BYTES) as u64;
        if begin == 0 {
            return Err(NodeFault::Reserved);
        }
        if begin >= self.units.len() {
            return Err(NodeFault::OutsidePool { bytes: 1, pool });
        }
        let count = match kind {
            NodeKind::Dense => 0,
            _ => node::sparse_count(&self.units[begin..]),
        };
        if kind != NodeKind::Dense {
            check_kind::<T>(kind, count, self.d)?;
        }
        let units = kind.units::<T>(count, self.d);
        if units > self.units.len() - begin {
            return Err(NodeFault::OutsidePool { bytes: (units * UNIT_BYTES) as u64, pool });
        }
        Ok(begin + units)
    }

    /// Checks the contents of nodes, which are known to be inside the pool.
    fn check_level<T: SlotContent + Send + Sync>(
        &self,
        level: CheckedLevel,
        visits: &[Visit],
    ) -> Result<(), MatrixError> {
        let fault = |visit: &Visit| {
            let content = StoredNode::<T>::at(self.units, visit.reference, self.d);
            let checked = match content {
                StoredNode::Dense(_) => check_kind::<T>(NodeKind::Dense, content.len(), self.d),
                StoredNode::Sparse(coordinates, slots) => {
                    self.check_sparse(visit.reference, coordinates, slots)
                }
            };
            let checked = checked.and_then(|()| self.check_inside(level, visit, content));
            checked.err().map(|fault| self.fault(level, visit, fault))
        };
        let error = parallel::first(visits.len(), GRAIN, |range| visits[range].iter().find_map(fault));
        error.map_or(Ok(()), Err)
    }

    fn check_sparse<T: SlotContent>(
        &self,
        reference: Reference,
        coordinates: &[u16],
        slots: &[T],
    ) -> Result<(), NodeFault> {
        for (entry, &place) in coordinates.iter().enumerate() {
            let (row, col) = unpack(place);
            if row >= self.d || col >= self.d {
                return Err(NodeFault::OutsideNode { entry, row, col, size: self.d });
            }
            if entry > 0 && coordinates[entry - 1] >= place {
                return Err(NodeFault::NotAscending { entry });
            }
            if slots[entry].is_null_reference() {
                return Err(NodeFault::NullChild { entry });
            }
        }
        let (count, kind) = (coordinates.len(), reference.kind());
        let begin = reference.unit();
        let bytes: &[u8] = bytemuck::cast_slice(&self.units[begin..begin + kind.units::<T>(count, self.d)]);
        let values = kind.values_offset::<T>(count);
        let gaps = [node::coordinates_end(count)..values, values + size_of_val(slots)..bytes.len()];
        match gaps.into_iter().flatten().find(|&byte| bytes[byte] != 0) {
            Some(byte) => Err(NodeFault::Padding { byte }),
            None => Ok(()),
        }
    }

    /// Checks that entries begin inside the matrix.
    fn check_inside<T: SlotContent>(
        &self,
        level: CheckedLevel,
        visit: &Visit,
        content: StoredNode<'_, T>,
    ) -> Result<(), NodeFault> {
        if visit.is_cut == (false, false) {
            return Ok(());
        }
        let limit = |at: u64, len: u64| len.div_ceil(level.entry_span).saturating_sub(at * self.d as u64);
        let (rows, cols) = (limit(visit.row, self.rows), limit(visit.col, self.cols));
        let is_outside = |&(row, col): &(usize, usize)| row as u64 >= rows || col as u64 >= cols;
        match content.entries(self.d).map(|(coordinates, _)| unpack(coordinates)).find(is_outside) {
            Some((row, col)) => Err(NodeFault::OutsideMatrix { row, col }),
            None => Ok(()),
        }
    }

    /// The children, each once for every way in which it is cut.
    fn next_level(&self, level: CheckedLevel, visits: &[Visit]) -> Vec<Visit> {
        let children = |visit: &Visit| {
            let visit = *visit;
            StoredNode::<Reference>::at(self.units, visit.reference, self.d).entries(self.d).map(
                move |(coordinates, reference)| {
                    let (row, col) = unpack(coordinates);
                    let (row, col) =
                        (visit.row * self.d as u64 + row as u64, visit.col * self.d as u64 + col as u64);
                    let is_cut = |at, len| (at + 1) * level.entry_span > len;
                    Visit { reference, row, col, is_cut: (is_cut(row, self.rows), is_cut(col, self.cols)) }
                },
            )
        };
        let mut next: Vec<Visit> = visits.par_iter().flat_map_iter(children).collect();
        next.par_sort_by_key(|visit| (visit.reference, visit.is_cut));
        next.dedup_by_key(|visit| (visit.reference, visit.is_cut));
        next
    }
}

/// Checks that a node of this kind may have `count` entries.
fn check_kind<T: SlotContent>(found: NodeKind, count: usize, d: usize) -> Result<(), NodeFault> {
    if count == 0 {
        return Err(NodeFault::Empty);
    }
    let expected = NodeKind::of::<T>(count, d);
    if found == expected { Ok(()) } else { Err(NodeFault::Kind { count, found, expected }) }
}

fn byte_offset(reference: Reference) -> u64 {
    (reference.unit() * UNIT_BYTES) as u64
}
