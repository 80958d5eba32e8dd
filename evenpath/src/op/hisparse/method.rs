/// Ways to multiply [`HiSparse`](crate::HiSparse) matrices on a device.
///
/// Results have the same pattern with each, and values that differ by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpgemmMethod {
    /// What suits the matrices.
    #[default]
    Auto,
    /// Leaf by leaf: for leaves of many entries. Takes up to 40 bytes for each pair of leaves that meet.
    Leaves,
    /// Through compressed sparse rows, and back: for leaves of few entries.
    Rows,
}
