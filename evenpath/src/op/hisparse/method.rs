use crate::names::named;

/// Source of the entries in a plan for products with a HiSparse matrix.
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseSpmvMethod, HiSparseSpmvOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let plan = tree.plan_spmv(HiSparseSpmvOptions::default().with_method(HiSparseSpmvMethod::Copied))?;
/// println!("{}", plan.info()?.method); // the CPU has only `leaves`
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpmvMethod {
    /// `auto`: a copy, which is faster, for up to 2³² − 1 nonzeros; otherwise the leaves.
    #[default]
    Auto,
    /// `leaves`: from the leaves. The plan stores a list of them, 16 bytes per leaf.
    Leaves,
    /// `copied`: from a CSR copy that the plan holds. If row lengths are even and columns clustered, the copy has 16-bit
    /// columns ([`SpmvMethod::NarrowColumns`](crate::spmv::SpmvMethod::NarrowColumns)) and takes 2 bytes and a value per
    /// nonzero. Otherwise it takes 4 bytes and a value, and has its own [plan](crate::DeviceCsr::plan_spmv). On a GPU it is faster
    /// than the leaves, by a quarter to a half if leaves are large, and by more if they have few entries. On the CPU there is no copy:
    /// products go from leaf to leaf.
    Copied,
}

named! {
    HiSparseSpmvMethod, "method for products with HiSparse matrices":
    Auto = "auto",
    Leaves = "leaves",
    Copied = "copied",
}

/// Methods of multiplying [`HiSparse`](crate::HiSparse) matrices with each other on a device.
///
/// All give the same pattern. Values differ by rounding.
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseSpgemmMethod, HiSparseSpgemmOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// let options = HiSparseSpgemmOptions::default().with_method(HiSparseSpgemmMethod::Leaves);
/// let square = tree.multiply_with(&tree, options)?;
/// assert_eq!(square.to_csr()?.download()?.get(0, 0), Some(3.0));
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpgemmMethod {
    /// `auto`: depends on the matrices.
    #[default]
    Auto,
    /// `leaves`: leaf by leaf, for leaves with many entries. Takes up to 40 bytes per matching pair of leaves.
    Leaves,
    /// `rows`: converts to CSR and back, for leaves with few entries. The method of the CSR product depends on the free
    /// memory, as with [`SpgemmMethod::Auto`](crate::spgemm::SpgemmMethod::Auto).
    Rows,
}

named! {
    HiSparseSpgemmMethod, "SpGEMM method for HiSparse matrices":
    Auto = "auto",
    Leaves = "leaves",
    Rows = "rows",
}

/// Methods of adding [`HiSparse`](crate::HiSparse) matrices on a device. The CPU has its own.
///
/// All give the same entries with the same bits, but the nodes of the sum may be in a different order.
///
/// ```
/// use evenpath::hisparse::HiSparseSpaddMethod;
///
/// assert_eq!("queues".parse(), Ok(HiSparseSpaddMethod::Queues));
/// assert_eq!(HiSparseSpaddMethod::default().to_string(), "levels");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum HiSparseSpaddMethod {
    /// `levels`: one kernel per level. The host waits once, and equal matrices have equal pools.
    #[default]
    Levels,
    /// `queues`: one kernel for all levels, whose blocks share work through queues (Derler 2016, chapter 6). The host waits
    /// once. Nodes are taken from a pool in no particular order, so the bytes of the pool, but not its content, differ from run
    /// to run. During the sum the pool is as large as those of both operands together, and the queues take 1.6 times as much by
    /// default, 0.2 to 210 MB. If the pool is too small, because the operands share subtrees, the sum is repeated with a pool of
    /// twice the size.
    Queues,
}

named! {
    HiSparseSpaddMethod, "method for sums of HiSparse matrices":
    Levels = "levels",
    Queues = "queues",
}
