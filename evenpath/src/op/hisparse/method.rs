/// Ways to multiply [`HiSparse`](crate::HiSparse) matrices on a device.
///
/// Results have the same pattern with each, and values that differ by rounding.
///
/// ```
/// use evenpath::{Csr, Device, HiSparseOptions, HiSparseSpgemmMethod};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload_hisparse(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let square = tree.multiply_with(&tree, HiSparseSpgemmMethod::Leaves)?;
/// assert_eq!(square.to_csr::<u32>()?.download()?.get(0, 0), Some(3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpgemmMethod {
    /// What suits the matrices.
    #[default]
    Auto,
    /// Leaf by leaf: for leaves of many entries. Takes up to 40 bytes for each pair of leaves that meet.
    Leaves,
    /// Through compressed sparse rows, and back: for leaves of few entries. How these are multiplied follows the free memory,
    /// as with [`SpgemmMethod::Auto`](crate::SpgemmMethod::Auto).
    Rows,
}
