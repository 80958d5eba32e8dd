//! The layout of a node in the pool. All code that reads or writes nodes is here.

use bytemuck::{Pod, Zeroable};
use evenpath_kernels::hisparse::layout;

use super::super::node_fault::NodeKind;
use crate::Value;

/// 16 bytes of a pool: the alignment of nodes and the unit of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C, align(16))]
pub(crate) struct Unit([u32; 4]);

/// Bytes of a unit.
pub(crate) const UNIT_BYTES: usize = layout::UNIT_BYTES as usize;

/// Units that references can address.
pub(crate) const MAX_UNITS: usize = 1 << 30;

/// Bytes of the entry count before a sparse node's coordinates.
const COUNT_BYTES: usize = layout::COUNT_BYTES as usize;

/// Offset in bytes of the end of a sparse node's coordinates.
pub(crate) fn coordinates_end(count: usize) -> usize {
    COUNT_BYTES + size_of::<u16>() * count
}

/// Position and kind of a node: its offset in units, and the [`NodeKind`] in the two lowest bits. No node is in the first
/// unit, so 0 is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Reference(pub(crate) u32);

impl Reference {
    pub(crate) const NULL: Self = Self(0);

    /// `unit` is below [`MAX_UNITS`].
    pub(crate) fn new(unit: usize, kind: NodeKind) -> Self {
        debug_assert!((1..MAX_UNITS).contains(&unit));
        Self(layout::reference(unit as u32, kind as u32))
    }

    pub(crate) fn unit(self) -> usize {
        layout::unit(self.0) as usize
    }

    pub(crate) fn kind(self) -> NodeKind {
        NodeKind::ALL[layout::kind(self.0) as usize]
    }

    pub(crate) fn is_null(self) -> bool {
        self == Self::NULL
    }
}

/// Packs local coordinates, with the row in the high byte, so that they ascend row by row. Swapping the bytes transposes.
pub(crate) fn pack(row: usize, col: usize) -> u16 {
    layout::pack(row as u32, col as u32) as u16
}

/// Unpacks local coordinates into row and column.
pub(crate) fn unpack(coordinates: u16) -> (usize, usize) {
    let (row, col) = layout::unpack(u32::from(coordinates));
    (row as usize, col as usize)
}

/// The contents of a slot: a reference to a child, or a value. In a dense node, a slot without an entry has all bits 0.
pub(crate) trait SlotContent: Pod {
    fn is_absent(self) -> bool;

    /// Converts the slot for a dense node, where it must not look absent.
    fn in_dense(self) -> Self;

    /// Returns whether this is a null reference, which even a sparse node must not have.
    fn is_null_reference(self) -> bool;
}

impl SlotContent for Reference {
    fn is_absent(self) -> bool {
        self.is_null()
    }

    fn in_dense(self) -> Self {
        self
    }

    fn is_null_reference(self) -> bool {
        self.is_null()
    }
}

impl<V: Value> SlotContent for V {
    fn is_absent(self) -> bool {
        if size_of::<V>() == 4 {
            bytemuck::cast::<V, u32>(self) == 0
        } else {
            bytemuck::cast::<V, u64>(self) == 0
        }
    }

    /// A stored zero becomes −0 in a dense leaf.
    fn in_dense(self) -> Self {
        if self.is_absent() { -self } else { self }
    }

    fn is_null_reference(self) -> bool {
        false
    }
}

/// A node of a valid pool.
#[derive(Clone, Copy)]
pub(crate) enum StoredNode<'a, T> {
    /// The d² slots.
    Dense(&'a [T]),
    /// Packed coordinates and slots, of equal length.
    Sparse(&'a [u16], &'a [T]),
}

impl<'a, T: SlotContent> StoredNode<'a, T> {
    /// The node at a valid reference.
    pub(crate) fn at(pool: &'a [Unit], reference: Reference, d: usize) -> Self {
        let units = &pool[reference.unit()..];
        let kind = reference.kind();
        if kind == NodeKind::Dense {
            return Self::Dense(&bytemuck::cast_slice(units)[..d * d]);
        }
        let count = sparse_count(units);
        let first = kind.values_offset::<T>(count) / size_of::<T>();
        Self::Sparse(&coordinates(units)[..count], &bytemuck::cast_slice(units)[first..first + count])
    }

    /// The number of entries.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Dense(slots) => slots.iter().filter(|slot| !slot.is_absent()).count(),
            Self::Sparse(coordinates, _) => coordinates.len(),
        }
    }

    /// The number of slots to visit to find all entries.
    pub(crate) fn work(self) -> usize {
        match self {
            Self::Dense(slots) | Self::Sparse(_, slots) => slots.len(),
        }
    }

    /// The entry at local coordinates.
    pub(crate) fn get(self, coordinates: u16, d: usize) -> Option<T> {
        match self {
            Self::Dense(slots) => {
                let (row, col) = unpack(coordinates);
                Some(slots[row * d + col]).filter(|slot| !slot.is_absent())
            }
            Self::Sparse(all, slots) => all.binary_search(&coordinates).ok().map(|at| slots[at]),
        }
    }

    /// Packed coordinates and slot of every entry, row by row.
    pub(crate) fn entries(self, d: usize) -> NodeEntries<'a, T> {
        NodeEntries { node: self, at: 0, d }
    }
}

/// The entry count stored at the start of a sparse node.
pub(crate) fn sparse_count(units: &[Unit]) -> usize {
    units[0].0[0] as usize
}

/// The coordinates of a sparse node, and everything after them.
pub(crate) fn coordinates(units: &[Unit]) -> &[u16] {
    &bytemuck::cast_slice(units)[COUNT_BYTES / size_of::<u16>()..]
}

/// Writes a node into its zeroed units. There are `count` entries, row by row.
pub(crate) fn write<T: SlotContent>(
    units: &mut [Unit],
    kind: NodeKind,
    count: usize,
    d: usize,
    entries: impl IntoIterator<Item = (u16, T)>,
) {
    if kind == NodeKind::Dense {
        let slots: &mut [T] = bytemuck::cast_slice_mut(units);
        for (coordinates, slot) in entries {
            let (row, col) = unpack(coordinates);
            slots[row * d + col] = slot.in_dense();
        }
        return;
    }
    units[0].0[0] = count as u32;
    let first = kind.values_offset::<T>(count) / size_of::<T>();
    for (at, (coordinates, slot)) in entries.into_iter().enumerate() {
        bytemuck::cast_slice_mut::<_, u16>(units)[COUNT_BYTES / size_of::<u16>() + at] = coordinates;
        bytemuck::cast_slice_mut::<_, T>(units)[first + at] = slot;
    }
}

/// Iterator over a node's entries.
#[derive(Clone)]
pub(crate) struct NodeEntries<'a, T> {
    node: StoredNode<'a, T>,
    at: usize,
    d: usize,
}

impl<T: SlotContent> Iterator for NodeEntries<'_, T> {
    type Item = (u16, T);

    fn next(&mut self) -> Option<Self::Item> {
        match self.node {
            StoredNode::Sparse(coordinates, slots) => {
                let entry = (*coordinates.get(self.at)?, slots[self.at]);
                self.at += 1;
                Some(entry)
            }
            StoredNode::Dense(slots) => {
                let at = self.at + slots[self.at..].iter().position(|slot| !slot.is_absent())?;
                self.at = at + 1;
                Some((pack(at / self.d, at % self.d), slots[at]))
            }
        }
    }
}
