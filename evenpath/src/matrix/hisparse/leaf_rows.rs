//! Nonzeros, binned into leaves.

/// The nonzeros of D consecutive rows, leaf by leaf.
pub(super) struct LeafRow<V> {
    /// Which row of leaves it is.
    pub(super) row: u32,
    pub(super) coordinates: Vec<u16>,
    pub(super) values: Vec<V>,
    /// Columns of the leaves, counted in leaves and ascending, and their entries.
    pub(super) leaves: Vec<(u32, u32)>,
}

/// A leaf: digits of its row and column, counted in leaves, from the root down, and where its entries are.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    pub(super) path: u64,
    /// Which of the rows of leaves that there are.
    pub(super) row: u32,
    pub(super) start: usize,
    pub(super) count: u32,
}

impl Leaf {
    /// Coordinates and values of its entries.
    pub(super) fn entries<'a, V>(&self, rows: &'a [LeafRow<V>]) -> (&'a [u16], &'a [V]) {
        let row = &rows[self.row as usize];
        let range = self.start..self.start + self.count as usize;
        (&row.coordinates[range.clone()], &row.values[range])
    }
}
