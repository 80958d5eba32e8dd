use crate::names::named;

/// Source of the entries in a plan for products with a HiSparse matrix: a CSR copy by default. Neither is the method of
/// the thesis, which is [`plan_spmv_queued`](super::DeviceHiSparse::plan_spmv_queued).
///
/// ```
/// use evenpath::{Csr, Device, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
/// let plan = tree.plan_spmv(hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Copied))?;
/// println!("{}", plan.info()?.method); // the CPU has only `leaves`
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpmvMethod {
    /// `auto`: [`Copied`](Self::Copied), which is faster, for up to 2³² − 1 nonzeros; otherwise [`Leaves`](Self::Leaves).
    /// On the CPU always the leaves.
    #[default]
    Auto,
    /// `leaves`: from the leaves of the tree. The plan stores a list of them, 16 bytes per leaf, and divides it among
    /// warps in advance. The list is not in the thesis, which traverses the tree in each product by queues (Derler 2016,
    /// chapters 4 and 5): [`plan_spmv_queued`](super::DeviceHiSparse::plan_spmv_queued).
    Leaves,
    /// `copied`: from a CSR copy that the plan holds, and not from the tree. If row lengths are even and columns
    /// clustered, the copy has 16-bit columns
    /// ([`spmv::SpmvMethod::NarrowColumns`](crate::spmv::SpmvMethod::NarrowColumns)) and takes 2 bytes and a value per
    /// nonzero. Otherwise it takes 4 bytes and a value, and has its own [plan](crate::DeviceCsr::plan_spmv). On a
    /// GPU it is faster than the leaves, by a quarter to a half if leaves are large, and by more if they have few
    /// entries. On the CPU there is no copy: products go from leaf to leaf.
    Copied,
}

named! {
    SpmvMethod, "method for products with HiSparse matrices":
    Auto = "auto",
    Leaves = "leaves",
    Copied = "copied",
}

/// Methods of multiplying [`HiSparse`](crate::HiSparse) matrices with each other on a device.
///
/// All give the same pattern. Values differ by rounding.
///
/// ```
/// use evenpath::{Csr, Device, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0), (199, 0, 3.0)])?;
/// let tree = Device::best()?.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
/// let options = hisparse::SpgemmOptions::default().with_method(hisparse::SpgemmMethod::Leaves);
/// let square = tree.spgemm(&tree, options)?;
/// assert_eq!(square.to_csr()?.download()?.get(0, 0), Some(3.0));
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpgemmMethod {
    /// `auto`: depends on the matrices.
    #[default]
    Auto,
    /// `leaves`: leaf by leaf, for leaves with many entries. Takes up to 40 bytes per matching pair of leaves.
    Leaves,
    /// `rows`: converts to CSR and back, for leaves with few entries. The method of the CSR product depends on the free
    /// memory, as with [`spgemm::SpgemmMethod::Auto`](crate::spgemm::SpgemmMethod::Auto).
    Rows,
}

named! {
    SpgemmMethod, "SpGEMM method for HiSparse matrices":
    Auto = "auto",
    Leaves = "leaves",
    Rows = "rows",
}

/// Methods of adding [`HiSparse`](crate::HiSparse) matrices on a device. The CPU has its own.
///
/// All give the same entries with the same bits, but the nodes of the sum may be in a different order.
///
/// ```
/// use evenpath::hisparse;
///
/// assert_eq!("queues".parse(), Ok(hisparse::SpaddMethod::Queues));
/// assert_eq!(hisparse::SpaddMethod::default().to_string(), "levels");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SpaddMethod {
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
    SpaddMethod, "method for sums of HiSparse matrices":
    Levels = "levels",
    Queues = "queues",
}

/// Methods of converting CSR and COO to [`HiSparse`](crate::HiSparse) on a device. The CPU has its own.
///
/// All give the same content with the same bits, but the nodes may be in a different order.
///
/// ```
/// use evenpath::hisparse;
///
/// assert_eq!("queues".parse(), Ok(hisparse::ConversionMethod::Queues));
/// assert_eq!(hisparse::ConversionMethod::default().to_string(), "sorted");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ConversionMethod {
    /// `sorted`: sorts the runs of a row's entries in a leaf by the paths of the leaves, and makes the nodes of all levels at once.
    /// Equal matrices have equal pools.
    #[default]
    Sorted,
    /// `queues`: top-down, then bottom-up (Derler 2016, chapter 3). Blocks share the inner nodes through queues, starting at the
    /// root: they sort the entries of a node into the D × D bins that are its children, and add up the memory of all nodes. Then
    /// nodes are taken from a pool, from the leaves up, in no particular order, so the bytes of the pool, but not its content,
    /// differ from run to run. Takes, besides the matrix and the tree, 24 to 30 bytes per nonzero, 16 bytes for each leaf and 32
    /// bytes for each inner node that the matrix may have, at most one per nonzero on each level, and up to 100 MB for the queues.
    Queues,
}

named! {
    ConversionMethod, "method of converting to HiSparse":
    Sorted = "sorted",
    Queues = "queues",
}
