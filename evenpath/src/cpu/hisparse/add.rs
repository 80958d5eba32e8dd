//! `C = A + B` of two trees, each transposed or scaled or not (thesis, chapter 6).
//!
//! Both trees are traversed together from the roots, level by level; a subtree that only one of them has is copied. This
//! determines the exact size of every node, so, unlike in the thesis, the pool is allocated at its final size. Then the
//! leaves are merged.

use crate::matrix::hisparse::node::{self, MAX_UNITS, Reference, SlotContent, StoredNode, Unit};
use crate::matrix::hisparse::tree::{InnerLevel, Shape, check_entries, too_large};
use crate::memory::{split_by, try_collect, try_zeroed};
use crate::{HiSparse, MatrixError, Value, parallel};

/// Nodes per task.
const GRAIN: usize = 64;

/// The nodes of A and B at one position. At most one of them is null.
type ReferencePair = [Reference; 2];

/// An entry of the merge of two nodes: its coordinates, and the slot of each node there.
type Merged<T> = (u16, [Option<T>; 2]);

/// One of the operands.
struct SumOperand<'a, V> {
    pool: &'a [Unit],
    /// True if it is transposed relative to the sum.
    is_transposed: bool,
    scale: V,
}

/// The sum of two trees.
struct CpuTreeSum<'a, V> {
    sides: [SumOperand<'a, V>; 2],
    rows: usize,
    /// Number of nonzeros in both operands.
    nnz: usize,
}

/// Computes `A + B`, with scale 1. The shapes must be equal. The sum is stored transposed if both operands are.
pub(crate) fn add<V: Value, const D: usize>(
    a: &HiSparse<V, D>,
    b: &HiSparse<V, D>,
) -> Result<HiSparse<V, D>, MatrixError> {
    // The sum has every entry of either operand. With shared nodes that may be far more than their bytes
    // suggest.
    check_entries::<V>(a.nnz().max(b.nnz()))?;
    let (a, b) = (&*a.with_number_as_scale()?, &*b.with_number_as_scale()?);
    let is_transposed = a.is_transposed() && b.is_transposed();
    let side = |matrix: &'_ HiSparse<V, D>| (matrix.is_transposed() != is_transposed, matrix.scale());
    let ((a_transposed, a_scale), (b_transposed, b_scale)) = (side(a), side(b));
    let sides = [
        SumOperand { pool: a.units(), is_transposed: a_transposed, scale: a_scale },
        SumOperand { pool: b.units(), is_transposed: b_transposed, scale: b_scale },
    ];
    let (rows, cols) = if is_transposed { (a.ncols(), a.nrows()) } else { a.shape() };
    let sum = CpuTreeSum { sides, rows, nnz: a.nnz().saturating_add(b.nnz()) };
    let roots = [a.root(), b.root()];
    let mut pairs: Vec<ReferencePair> = if roots == [Reference::NULL; 2] { Vec::new() } else { vec![roots] };
    let mut levels = Vec::new();
    if !pairs.is_empty() {
        for _ in 1..a.depth() {
            let level;
            (level, pairs) = sum.merge_level::<D>(&pairs)?;
            levels.push(level);
        }
    }
    let shape = Shape { levels, leaves: sum.counts::<V, D>(&pairs)? };
    let tree = shape.build::<V, D>(rows, |leaf, kind, units| {
        let mut merge = NodeMerge::default();
        merge.read::<_, D>(&sum.sides, pairs[leaf]);
        let values = merge.entries().map(|(coordinates, values)| (coordinates, sum.add(values)));
        node::write(units, kind, shape.leaves[leaf] as usize, D, values);
    })?;
    let sum = HiSparse::from_tree(rows, cols, shape.entries(), tree);
    Ok(if is_transposed { sum.transpose() } else { sum })
}

impl<V: Value> CpuTreeSum<'_, V> {
    fn out_of_memory(&self) -> MatrixError {
        MatrixError::OutOfMemory { rows: self.rows, nnz: self.nnz }
    }

    /// The sum of the values at one position; at least one is present.
    fn add(&self, values: [Option<V>; 2]) -> V {
        let [a, b] = &self.sides;
        match values {
            [Some(a_value), Some(b_value)] => a.scale * a_value + b.scale * b_value,
            [Some(value), None] => a.scale * value,
            [None, Some(value)] => b.scale * value,
            [None, None] => V::ZERO,
        }
    }

    /// The entry counts of the nodes of the sum at these positions.
    fn counts<T: SlotContent + Send, const D: usize>(
        &self,
        pairs: &[ReferencePair],
    ) -> Result<Vec<u32>, MatrixError> {
        let mut counts: Vec<u32> = try_zeroed(pairs.len()).map_err(|()| self.out_of_memory())?;
        parallel::parts_mut(&mut counts, GRAIN, |range, counts| {
            let mut merge = NodeMerge::<T>::default();
            for (count, &pair) in counts.iter_mut().zip(&pairs[range]) {
                merge.read::<_, D>(&self.sides, pair);
                *count = merge.entries().count() as u32;
            }
        });
        Ok(counts)
    }

    /// The inner nodes of the sum at these positions, and the pairs of their children. They are counted before memory is
    /// allocated, because shared operands may make a large sum.
    fn merge_level<const D: usize>(
        &self,
        pairs: &[ReferencePair],
    ) -> Result<(InnerLevel, Vec<ReferencePair>), MatrixError> {
        let counts = self.counts::<Reference, D>(pairs)?;
        let ends = counts.iter().scan(0, |end, &count| {
            *end += count as usize;
            Some(*end)
        });
        let starts = try_collect(std::iter::once(0).chain(ends)).map_err(|_| self.out_of_memory())?;
        let all = starts[pairs.len()];
        if all > MAX_UNITS {
            return Err(too_large());
        }
        let mut coordinates: Vec<u16> = try_zeroed(all).map_err(|()| self.out_of_memory())?;
        let mut children: Vec<ReferencePair> = try_zeroed(all).map_err(|()| self.out_of_memory())?;
        let lengths = || counts.chunks(GRAIN).map(|counts| counts.iter().map(|&count| count as usize).sum());
        let places = split_by(lengths(), &mut coordinates).map_err(|_| self.out_of_memory())?;
        let slots = split_by(lengths(), &mut children).map_err(|_| self.out_of_memory())?;
        let parts = try_collect(pairs.chunks(GRAIN).zip(places).zip(slots));
        parallel::for_each(parts.map_err(|_| self.out_of_memory())?, |((pairs, places), slots)| {
            let mut merge = NodeMerge::default();
            let mut slots = places.iter_mut().zip(slots);
            for &pair in pairs {
                merge.read::<_, D>(&self.sides, pair);
                for ((coordinates, children), (place, slot)) in merge.entries().zip(slots.by_ref()) {
                    *place = coordinates;
                    *slot = children.map(|child| child.unwrap_or(Reference::NULL));
                }
            }
        });
        let numbers = try_collect(0..all as u32).map_err(|_| self.out_of_memory())?;
        Ok((InnerLevel { starts, coordinates, children: numbers }, children))
    }
}

/// The entries of two nodes at one position, each in the order of the sum.
struct NodeMerge<T> {
    sides: [Vec<(u16, T)>; 2],
}

impl<T> Default for NodeMerge<T> {
    fn default() -> Self {
        Self { sides: [Vec::new(), Vec::new()] }
    }
}

impl<T: SlotContent> NodeMerge<T> {
    fn read<V: Value, const D: usize>(&mut self, sides: &[SumOperand<'_, V>; 2], pair: ReferencePair) {
        for ((entries, side), reference) in self.sides.iter_mut().zip(sides).zip(pair) {
            entries.clear();
            if reference.is_null() {
                continue;
            }
            entries.extend(StoredNode::at(side.pool, reference, D).entries(D));
            if side.is_transposed {
                for (coordinates, _) in entries.iter_mut() {
                    *coordinates = coordinates.swap_bytes();
                }
                entries.sort_unstable_by_key(|&(coordinates, _)| coordinates);
            }
        }
    }

    /// The entries of both nodes, merged by coordinates.
    fn entries(&self) -> impl Iterator<Item = Merged<T>> {
        let [mut a, mut b] = [self.sides[0].as_slice(), self.sides[1].as_slice()];
        let front = |entries: &[(u16, T)]| entries.first().map(|&(coordinates, _)| coordinates);
        std::iter::from_fn(move || {
            let next = match (front(a), front(b)) {
                (None, None) => return None,
                (Some(a), Some(b)) => a.min(b),
                (Some(next), None) | (None, Some(next)) => next,
            };
            let take = |entries: &mut &[(u16, T)]| match entries.split_first() {
                Some((&(coordinates, slot), rest)) if coordinates == next => {
                    *entries = rest;
                    Some(slot)
                }
                _ => None,
            };
            Some((next, [take(&mut a), take(&mut b)]))
        })
    }
}
