//! From the shape of a tree to its pool: sizes, one allocation, then the nodes.

use super::super::node_fault::NodeKind;
use super::node::{self, MAX_UNITS, Reference, UNIT_BYTES, Unit};
use crate::matrix::MatrixError;
use crate::memory::try_zeroed;
use crate::{Value, parallel};

/// Nodes per task.
const GRAIN: usize = 256;

/// Inner nodes of one level.
pub(crate) struct InnerLevel {
    /// Start of each node's entries, and the end of the last node's.
    pub(crate) starts: Vec<usize>,
    /// The packed local coordinates of each entry, ascending within a node.
    pub(crate) coordinates: Vec<u16>,
    /// The child of each entry, as its index in the next level.
    pub(crate) children: Vec<u32>,
}

/// The shape of a tree: inner levels from the root down, then the number of entries of each leaf. Without leaves there
/// are no levels.
pub(crate) struct Shape {
    pub(crate) levels: Vec<InnerLevel>,
    pub(crate) leaves: Vec<u32>,
}

/// A pool and its root.
pub(crate) struct BuiltTree {
    pub(crate) pool: Vec<Unit>,
    pub(crate) root: Reference,
}

impl InnerLevel {
    fn count(&self, node: usize) -> usize {
        self.starts[node + 1] - self.starts[node]
    }

    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Shape {
    /// The number of entries of all leaves.
    pub(crate) fn entries(&self) -> usize {
        self.leaves.iter().map(|&count| count as usize).sum()
    }

    /// Lays out the nodes, level by level from the root, and writes them. `write_leaf` writes a leaf, given its index,
    /// kind and zeroed units. `rows` is for the error.
    pub(crate) fn build<V: Value, const D: usize>(
        &self,
        rows: usize,
        write_leaf: impl Fn(usize, NodeKind, &mut [Unit]) + Sync,
    ) -> Result<BuiltTree, MatrixError> {
        // The first unit belongs to no node.
        let mut end = 1;
        let mut levels = Vec::with_capacity(self.levels.len() + 1);
        for level in &self.levels {
            let counts = (0..level.nodes()).map(|node| level.count(node));
            levels.push(self.place::<Reference, D>(rows, &mut end, counts)?);
        }
        levels.push(self.place::<V, D>(rows, &mut end, self.leaves.iter().map(|&count| count as usize))?);

        let out_of_memory = |()| self.out_of_memory(rows);
        let mut pool: Vec<Unit> = try_zeroed(end).map_err(out_of_memory)?;
        let mut rest = &mut pool[1..];
        for (level, references) in levels.iter().enumerate() {
            let next_level = levels.get(level + 1).and_then(|references| references.first());
            let end = next_level.map_or(end, |first| first.unit());
            match self.levels.get(level) {
                None => rest = fill(rest, references, end, &write_leaf),
                Some(nodes) => {
                    let children = &levels[level + 1];
                    rest = fill(rest, references, end, |node, kind, units| {
                        let range = nodes.starts[node]..nodes.starts[node + 1];
                        let slots =
                            nodes.children[range.clone()].iter().map(|&child| children[child as usize]);
                        let coordinates = nodes.coordinates[range.clone()].iter().copied();
                        node::write(units, kind, range.len(), D, coordinates.zip(slots));
                    });
                }
            }
        }
        let root = levels[0].first().copied().unwrap_or(Reference::NULL);
        Ok(BuiltTree { pool, root })
    }

    fn out_of_memory(&self, rows: usize) -> MatrixError {
        MatrixError::OutOfMemory { rows, nnz: self.entries() }
    }

    /// References to nodes with these entry counts, placed starting at unit `end`, which is moved past them.
    fn place<T, const D: usize>(
        &self,
        rows: usize,
        end: &mut usize,
        counts: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Vec<Reference>, MatrixError> {
        let mut references = Vec::new();
        references.try_reserve_exact(counts.len()).map_err(|_| self.out_of_memory(rows))?;
        for count in counts {
            let kind = NodeKind::of::<T>(count, D);
            let unit = *end;
            *end += kind.units::<T>(count, D);
            if *end > MAX_UNITS {
                return Err(too_large());
            }
            references.push(Reference::new(unit, kind));
        }
        Ok(references)
    }
}

/// Number of levels of the tree of a `rows` x `cols` matrix: the fewest whose span covers both.
pub(crate) fn depth(rows: usize, cols: usize, d: usize) -> usize {
    let mut depth = 1;
    while level_span(depth, d) < rows.max(cols) as u64 {
        depth += 1;
    }
    depth
}

/// Number of rows and columns that a node covers, given its number of levels, including its own.
pub(super) fn level_span(levels: usize, d: usize) -> u64 {
    (d as u64).pow(levels as u32)
}

/// The error for more nodes than references can address.
pub(crate) fn too_large() -> MatrixError {
    MatrixError::PoolTooLarge { limit: (MAX_UNITS * UNIT_BYTES) as u64 }
}

/// Refuses a tree with at least this many entries if their values alone exceed what references can address.
pub(crate) fn check_entries<V: Value>(entries: usize) -> Result<(), MatrixError> {
    if entries > MAX_UNITS * UNIT_BYTES / size_of::<V>() { Err(too_large()) } else { Ok(()) }
}

/// Writes every node of a level. `units` begins with the first node, and the last one ends at unit `end` of the pool.
/// Returns the units after the level.
fn fill<'a>(
    mut units: &'a mut [Unit],
    references: &[Reference],
    end: usize,
    write: impl Fn(usize, NodeKind, &mut [Unit]) + Sync,
) -> &'a mut [Unit] {
    let mut tasks = Vec::with_capacity(references.len().div_ceil(GRAIN));
    for (chunk, nodes) in references.chunks(GRAIN).enumerate() {
        let first = chunk * GRAIN;
        let chunk_end = references.get(first + GRAIN).map_or(end, |reference| reference.unit());
        let own;
        (own, units) = units.split_at_mut(chunk_end - nodes[0].unit());
        tasks.push((first, nodes, chunk_end, own));
    }
    parallel::for_each(tasks, |(first, nodes, chunk_end, mut units)| {
        for (at, reference) in nodes.iter().enumerate() {
            let node_end = nodes.get(at + 1).map_or(chunk_end, |next| next.unit());
            let own;
            (own, units) = std::mem::take(&mut units).split_at_mut(node_end - reference.unit());
            write(first + at, reference.kind(), own);
        }
    });
    units
}
