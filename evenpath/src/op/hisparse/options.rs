//! Options of the operations on HiSparse matrices.

use super::{ConversionMethod, SpaddMethod, SpgemmMethod, SpmvMethod};
use crate::matrix::hisparse::Options;
use crate::op::spmv;

/// Options of [`DeviceHiSparse::plan_spmv`](super::DeviceHiSparse::plan_spmv).
///
/// Options that are not set depend on the device. If all options that the method uses are set, results are bitwise identical
/// on all GPUs, real and simulated. [`SpmvPlanInfo::options`](super::SpmvPlanInfo::options) returns the
/// choices of a plan, to repeat them on another GPU.
///
/// ```
/// use evenpath::hisparse;
///
/// let options = hisparse::SpmvOptions::default().with_method(hisparse::SpmvMethod::Leaves); // no copy of the matrix
/// assert_ne!(options.method, hisparse::SpmvOptions::default().method);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpmvOptions {
    /// Source of the entries. Default: a CSR copy ([`SpmvMethod::Copied`]). The CPU reads the leaves.
    pub method: SpmvMethod,
    /// Options for products with a copy. Default: its plan chooses among all methods.
    pub spmv: spmv::SpmvOptions,
    /// Number of warps among which leaves are divided. Default: as many as the device runs at once.
    pub warps: Option<u32>,
}

impl SpmvOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the options for products with a copy.
    #[must_use]
    pub fn with_spmv(self, spmv: spmv::SpmvOptions) -> Self {
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
/// use evenpath::hisparse;
///
/// // The same bits on every GPU.
/// let options = hisparse::SpmmOptions::default().with_multiprocessors(132);
/// assert_eq!(options.multiprocessors, Some(132));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpmmOptions {
    /// Source of the entries. Default: a CSR copy ([`SpmvMethod::Copied`]). The CPU reads the leaves.
    pub method: SpmvMethod,
    /// Number of multiprocessors for which products with a copy are divided, like
    /// [`spmm::SpmmOptions::multiprocessors`](crate::spmm::SpmmOptions::multiprocessors). Default: that of the
    /// device.
    pub multiprocessors: Option<u32>,
}

impl SpmmOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the number of multiprocessors.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: impl Into<Option<u32>>) -> Self {
        Self { multiprocessors: multiprocessors.into(), ..self }
    }
}

/// Options of [`DeviceHiSparse::spgemm`](super::DeviceHiSparse::spgemm).
///
/// ```
/// use evenpath::hisparse;
///
/// let options = hisparse::SpgemmOptions::default().with_method(hisparse::SpgemmMethod::Leaves);
/// assert_eq!(options.method, hisparse::SpgemmMethod::Leaves);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpgemmOptions {
    /// The method. Default: depends on the matrices.
    pub method: SpgemmMethod,
}

impl SpgemmOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpgemmMethod) -> Self {
        Self { method }
    }
}

/// Options of [`DeviceHiSparse::spadd`](super::DeviceHiSparse::spadd).
///
/// ```
/// use evenpath::hisparse;
///
/// let options = hisparse::SpaddOptions::default()
///     .with_method(hisparse::SpaddMethod::Queues)
///     .with_queues(hisparse::QueuedOptions::default().with_capacity(1 << 16));
/// assert_eq!(options.queues.capacity, Some(1 << 16));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpaddOptions {
    /// The method. Default: level by level.
    pub method: SpaddMethod,
    /// Options of the queues, for methods that use them.
    pub queues: QueuedOptions,
}

impl SpaddOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpaddMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the options of the queues.
    #[must_use]
    pub fn with_queues(self, queues: QueuedOptions) -> Self {
        Self { queues, ..self }
    }
}

/// Options of [`DeviceCsr::to_hisparse`](crate::DeviceCsr::to_hisparse) and
/// [`DeviceCoo::to_hisparse`](crate::coo::DeviceCoo::to_hisparse), which also take the [`Options`] of the conversion on the host.
///
/// ```
/// use evenpath::hisparse;
///
/// let options = hisparse::ConversionOptions::default()
///     .with_method(hisparse::ConversionMethod::Queues)
///     .with_queues(hisparse::QueuedOptions::default().with_capacity(1 << 16));
/// assert_eq!(options.queues.capacity, Some(1 << 16));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ConversionOptions {
    /// True to store equal subtrees once, as [`Options::share`]: then the host converts. Off by default.
    pub share: bool,
    /// The method. Default: from sorted runs. The CPU has its own.
    pub method: ConversionMethod,
    /// Options of the queues, for methods that use them.
    pub queues: QueuedOptions,
}

impl ConversionOptions {
    /// Sets if equal subtrees are stored once.
    #[must_use]
    pub fn with_share(self, share: bool) -> Self {
        Self { share, ..self }
    }

    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: ConversionMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the options of the queues.
    #[must_use]
    pub fn with_queues(self, queues: QueuedOptions) -> Self {
        Self { queues, ..self }
    }

    /// Options of the conversion on the host.
    pub(super) fn on_host(self) -> Options {
        Options::default().with_share(self.share)
    }
}

/// The default method.
impl From<Options> for ConversionOptions {
    fn from(options: Options) -> Self {
        Self::default().with_share(options.share)
    }
}

/// Options of the operations with the queue scheduler, such as
/// [`DeviceHiSparse::plan_spmv_queued`](super::DeviceHiSparse::plan_spmv_queued).
///
/// ```
/// use evenpath::{Csr, Device, hisparse};
///
/// let a = Csr::from_triplets(200, 200, [(0, 199, 1.0)])?;
/// let device = Device::best()?;
/// let tree = device.upload(&a.to_hisparse::<128>(hisparse::Options::default())?)?;
/// // Nodes that do not fit in a queue are processed at once.
/// let plan = tree.plan_spmv_queued(hisparse::QueuedOptions::default().with_capacity(1000))?;
/// let (x, mut y) = (device.upload(&[2.0; 200])?, device.zeros(200)?);
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(0)?, 2.0);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueuedOptions {
    /// The capacity of each queue, in nodes. Default: depends on the size of the matrix. Nodes that do not fit are processed by
    /// the block that finds them.
    pub capacity: Option<u32>,
    /// The number of blocks in the grid. Default: as many as the device runs at once, fewer for a small matrix.
    pub blocks: Option<u32>,
}

impl QueuedOptions {
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
