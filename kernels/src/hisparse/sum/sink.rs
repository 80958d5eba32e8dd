//! Destinations for the entries of a merged pair of nodes.

/// The position of an entry in the sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct SumPlace {
    /// Its index in the union of both nodes' entries.
    pub(super) index: u32,
    /// Its coordinates.
    pub(super) coordinates: u32,
}

/// Takes a pair's entries.
pub(super) trait Sink<T> {
    /// Returns whether the indices of entries matter.
    fn is_ordered(&self) -> bool;

    /// Takes an entry of the union, with its slots in the nodes that have it.
    fn put(&self, place: SumPlace, a: Option<T>, b: Option<T>);

    /// Adds a slot of A's node, or of B's, to an entry that the block has put with the other one's slot alone.
    fn join(&self, place: SumPlace, slot: T, is_of_b: bool);
}
