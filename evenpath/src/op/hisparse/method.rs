use crate::names::named;

/// Where a plan of products with a HiSparse matrix takes the entries from.
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseSpmvMethod, HiSparseSpmvOptions};
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let plan = tree.plan_spmv(HiSparseSpmvOptions::default().with_method(HiSparseSpmvMethod::Copied))?;
/// println!("{}", plan.info()?.method); // the CPU has only `leaves`
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpmvMethod {
    /// `auto`: a copy, which is faster, of up to 2³² − 1 nonzeros; else the leaves.
    #[default]
    Auto,
    /// `leaves`: from the leaves, which the plan lists: 16 bytes per leaf.
    Leaves,
    /// `copied`: the plan holds a copy in rows. Where these are even and their columns lie in a few places, it has columns of
    /// 16 bits ([`SpmvMethod::NarrowColumns`](crate::spmv::SpmvMethod::NarrowColumns)) and takes 2 bytes and a value per
    /// nonzero; else 4 bytes and a value, multiplied by a [plan](crate::DeviceCsr::plan_spmv) of its own. It is faster than
    /// the leaves: by a quarter to a half where these are large, several times where they have a few entries.
    Copied,
}

named! {
    HiSparseSpmvMethod, "method of products with HiSparse matrices":
    Auto = "auto",
    Leaves = "leaves",
    Copied = "copied",
}

/// Methods of multiplying [`HiSparse`](crate::HiSparse) matrices with each other on a device.
///
/// Results have the same pattern with each, and values that differ by rounding.
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseSpgemmMethod, HiSparseSpgemmOptions};
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let options = HiSparseSpgemmOptions::default().with_method(HiSparseSpgemmMethod::Leaves);
/// let square = tree.multiply_with(&tree, options)?;
/// assert_eq!(square.to_csr::<u32>()?.download()?.get(0, 0), Some(3.0));
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpgemmMethod {
    /// `auto`: what suits the matrices.
    #[default]
    Auto,
    /// `leaves`: leaf by leaf, for leaves of many entries. Takes up to 40 bytes for each pair of leaves that meet.
    Leaves,
    /// `rows`: through compressed sparse rows, and back, for leaves of few entries. How these are multiplied follows the free
    /// memory, as with [`SpgemmMethod::Auto`](crate::spgemm::SpgemmMethod::Auto).
    Rows,
}

named! {
    HiSparseSpgemmMethod, "SpGEMM method of HiSparse matrices":
    Auto = "auto",
    Leaves = "leaves",
    Rows = "rows",
}
