//! Nonzeros binned into leaves.

/// The nonzeros of D consecutive rows, leaf by leaf.
pub(super) struct LeafRow<V> {
    /// The index of this row of leaves.
    pub(super) row: u32,
    pub(super) coordinates: Vec<u16>,
    pub(super) values: Vec<V>,
    /// For each leaf its column, counted in leaves and ascending, and its number of entries.
    pub(super) leaves: Vec<(u32, u32)>,
}

/// A leaf: its path, made of the digits of its row and column from the root down, and the location of its
/// entries.
#[derive(Clone, Copy)]
pub(super) struct BinnedLeaf {
    pub(super) path: u64,
    /// Index into the array of rows of leaves.
    pub(super) row: u32,
    pub(super) start: usize,
    pub(super) count: u32,
}

impl BinnedLeaf {
    /// The coordinates and values of its entries.
    pub(super) fn entries<'a, V>(&self, rows: &'a [LeafRow<V>]) -> (&'a [u16], &'a [V]) {
        let row = &rows[self.row as usize];
        let range = self.start..self.start + self.count as usize;
        (&row.coordinates[range.clone()], &row.values[range])
    }
}
