//! Options of the operations on HiSparse matrices.

use super::{HiSparseSpaddMethod, HiSparseSpgemmMethod, HiSparseSpmvMethod};
use crate::op::SpmvOptions;

/// Options of [`DeviceHiSparse::plan_spmv`](super::DeviceHiSparse::plan_spmv).
///
/// Options that are not set depend on the device. If all options that the method uses are set, results are bitwise identical
/// on all GPUs, real and simulated. [`HiSparseSpmvPlanInfo::options`](super::HiSparseSpmvPlanInfo::options) returns the
/// choices of a plan, to repeat them on another GPU.
///
/// ```
/// use evenpath::hisparse::{HiSparseSpmvMethod, HiSparseSpmvOptions};
///
/// let options = HiSparseSpmvOptions::default().with_method(HiSparseSpmvMethod::Leaves); // no copy of the matrix
/// assert_ne!(options.method, HiSparseSpmvOptions::default().method);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseSpmvOptions {
    /// Source of the entries. Default: a copy. The CPU reads the leaves.
    pub method: HiSparseSpmvMethod,
    /// Options for products with a copy. Default: its plan chooses among all methods.
    pub spmv: SpmvOptions,
    /// Number of warps among which leaves are divided. Default: as many as the device runs at once.
    pub warps: Option<u32>,
}

impl HiSparseSpmvOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the options for products with a copy.
    #[must_use]
    pub fn with_spmv(self, spmv: SpmvOptions) -> Self {
        Self { spmv, ..self }
    }

    /// Sets the number of warps.
    #[must_use]
    pub fn with_warps(self, warps: impl Into<Option<u32>>) -> Self {
        Self { warps: warps.into(), ..self }
    }
}

/// Options of [`DeviceHiSparse::plan_spmm`](super::DeviceHiSparse::plan_spmm).
///
/// ```
/// use evenpath::hisparse::HiSparseSpmmOptions;
///
/// // The same bits on every GPU.
/// let options = HiSparseSpmmOptions::default().with_multiprocessors(132);
/// assert_eq!(options.multiprocessors, Some(132));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseSpmmOptions {
    /// Source of the entries. Default: a copy. The CPU reads the leaves.
    pub method: HiSparseSpmvMethod,
    /// Number of multiprocessors for which products with a copy are divided, like
    /// [`SpmmOptions::multiprocessors`](crate::spmm::SpmmOptions::multiprocessors). Default: that of the
    /// device.
    pub multiprocessors: Option<u32>,
}

impl HiSparseSpmmOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the number of multiprocessors.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: impl Into<Option<u32>>) -> Self {
        Self { multiprocessors: multiprocessors.into(), ..self }
    }
}

/// Options of [`DeviceHiSparse::multiply_with`](super::DeviceHiSparse::multiply_with).
///
/// ```
/// use evenpath::hisparse::{HiSparseSpgemmMethod, HiSparseSpgemmOptions};
///
/// let options = HiSparseSpgemmOptions::default().with_method(HiSparseSpgemmMethod::Leaves);
/// assert_eq!(options.method, HiSparseSpgemmMethod::Leaves);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseSpgemmOptions {
    /// The method. Default: depends on the matrices.
    pub method: HiSparseSpgemmMethod,
}

impl HiSparseSpgemmOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpgemmMethod) -> Self {
        Self { method }
    }
}

/// Options of [`DeviceHiSparse::add_with`](super::DeviceHiSparse::add_with).
///
/// ```
/// use evenpath::hisparse::{HiSparseQueuedOptions, HiSparseSpaddMethod, HiSparseSpaddOptions};
///
/// let options = HiSparseSpaddOptions::default()
///     .with_method(HiSparseSpaddMethod::Queues)
///     .with_queues(HiSparseQueuedOptions::default().with_capacity(1 << 16));
/// assert_eq!(options.queues.capacity, Some(1 << 16));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseSpaddOptions {
    /// The method. Default: level by level.
    pub method: HiSparseSpaddMethod,
    /// Options of the queues, for methods that use them.
    pub queues: HiSparseQueuedOptions,
}

impl HiSparseSpaddOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpaddMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the options of the queues.
    #[must_use]
    pub fn with_queues(self, queues: HiSparseQueuedOptions) -> Self {
        Self { queues, ..self }
    }
}

/// Options of the operations with the queue scheduler, such as
/// [`DeviceHiSparse::plan_spmv_queued`](super::DeviceHiSparse::plan_spmv_queued).
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseQueuedOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0)])?;
/// let device = Device::best()?;
/// let tree = device.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// // Nodes that do not fit in a queue are processed at once.
/// let plan = tree.plan_spmv_queued(HiSparseQueuedOptions::default().with_capacity(1000))?;
/// let (x, mut y) = (device.upload(&[2.0; 200])?, device.zeros(200)?);
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(0)?, 2.0);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseQueuedOptions {
    /// The capacity of each queue, in nodes. Default: depends on the size of the matrix. Nodes that do not fit are processed by
    /// the block that finds them.
    pub capacity: Option<u32>,
    /// The number of blocks in the grid. Default: as many as the device runs at once, fewer for a small matrix.
    pub blocks: Option<u32>,
}

impl HiSparseQueuedOptions {
    /// Sets the capacity of each queue, in nodes.
    #[must_use]
    pub fn with_capacity(self, capacity: impl Into<Option<u32>>) -> Self {
        Self { capacity: capacity.into(), ..self }
    }

    /// Sets the number of blocks in the grid.
    #[must_use]
    pub fn with_blocks(self, blocks: impl Into<Option<u32>>) -> Self {
        Self { blocks: blocks.into(), ..self }
    }
}
