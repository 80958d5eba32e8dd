use crate::names::named;

/// Methods of adding COO matrices. Each has a [name](Self::name).
///
/// They differ in the operands that they take. Results are the same, but for the order in which duplicates are added up.
///
/// ```
/// use evenpath::spadd::SpaddMethod;
/// use evenpath::{Coo, Device};
///
/// let a: Coo<f64> = Coo::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?;
/// let b: Coo<f64> = Coo::from_triplets(2, 2, [(0, 0, 5.0), (0, 1, 1.0)])?;
/// let device = Device::best()?;
/// let (a, b) = (device.upload(&a)?, device.upload(&b)?);
/// for method in SpaddMethod::ALL {
///     let c = a.spadd_with(1.0, &b, 1.0, method)?.download()?;
///     assert_eq!((c.row_indices(), c.column_indices()), (&[0, 0, 1][..], &[0, 1, 1][..]));
///     assert_eq!(c.values(), [5.0, 3.0, 3.0]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpaddMethod {
    /// `auto`: `merge-path` if the columns of each row increase in both matrices, otherwise `global-sort`.
    #[default]
    Auto,
    /// `merge-path`: through CSR, like [`DeviceCsr::spadd`](crate::DeviceCsr::spadd). Row offsets are found by search, columns and values
    /// are copied. The columns of each row must increase.
    MergePath,
    /// `balanced-path`: the union of two sets of coordinates, split so that equal ones stay together (Dalton, Baxter, Merrill, Olson,
    /// Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015, section III-B). The columns of a row must
    /// not decrease; duplicates are added up after the union. Takes 8 bytes and a value for each entry of A, of B and of C. The source
    /// compares rows and columns, where here both are one key of 64 bits, and has a launch of its own that counts the union.
    BalancedPath,
    /// `global-sort`: all entries are sorted together by row and column, and those of equal coordinates are added up (the method of
    /// Cusp, with which section III-B of the same source compares). Columns may have any order, and there may be duplicates. Takes
    /// three times 8 bytes and a value per entry of A and of B.
    GlobalSort,
}

named! {
    SpaddMethod, "SpAdd method":
    Auto = "auto",
    MergePath = "merge-path",
    BalancedPath = "balanced-path",
    GlobalSort = "global-sort",
}
