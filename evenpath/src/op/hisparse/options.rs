//! Options of the operations on HiSparse matrices.

use super::{HiSparseSpgemmMethod, HiSparseSpmvMethod};
use crate::op::SpmvOptions;

/// How [`DeviceHiSparse::plan_spmv`](super::DeviceHiSparse::plan_spmv) plans.
///
/// What is not given follows the device. With everything given that the method takes, GPUs, real and simulated, agree to the
/// last bit; [`HiSparseSpmvPlanInfo::options`](super::HiSparseSpmvPlanInfo::options) repeat on another GPU what a plan chose.
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
    /// Where entries are taken from; by default from a copy. The CPU takes them from the leaves.
    pub method: HiSparseSpmvMethod,
    /// How a copy is multiplied. By default its plan chooses, of all methods.
    pub spmv: SpmvOptions,
    /// Warps that leaves are divided among; by default as many as the device runs at once.
    pub warps: Option<u32>,
}

impl HiSparseSpmvOptions {
    /// The same with another method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// The same with options for products of a copy.
    #[must_use]
    pub fn with_spmv(self, spmv: SpmvOptions) -> Self {
        Self { spmv, ..self }
    }

    /// The same with leaves divided among so many warps.
    #[must_use]
    pub fn with_warps(self, warps: impl Into<Option<u32>>) -> Self {
        Self { warps: warps.into(), ..self }
    }
}

/// How [`DeviceHiSparse::plan_spmm`](super::DeviceHiSparse::plan_spmm) plans.
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
    /// Where entries are taken from; by default from a copy. The CPU takes them from the leaves.
    pub method: HiSparseSpmvMethod,
    /// Multiprocessors that products of a copy are divided for, as
    /// [`SpmmOptions::multiprocessors`](crate::spmm::SpmmOptions::multiprocessors); by default those of the device.
    pub multiprocessors: Option<u32>,
}

impl HiSparseSpmmOptions {
    /// The same with another method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// The same with products of a copy divided for so many multiprocessors.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: impl Into<Option<u32>>) -> Self {
        Self { multiprocessors: multiprocessors.into(), ..self }
    }
}

/// How [`DeviceHiSparse::multiply_with`](super::DeviceHiSparse::multiply_with) multiplies.
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
    /// The method; by default what suits the matrices.
    pub method: HiSparseSpgemmMethod,
}

impl HiSparseSpgemmOptions {
    /// The same with another method.
    #[must_use]
    pub fn with_method(self, method: HiSparseSpgemmMethod) -> Self {
        Self { method }
    }
}

/// How [`DeviceHiSparse::plan_spmv_queued`](super::DeviceHiSparse::plan_spmv_queued) sets up its queues.
///
/// ```
/// use evenpath::hisparse::{HiSparseOptions, HiSparseQueuedOptions};
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f64> = Csr::from_triplets(200, 200, [(0, 199, 1.0)])?;
/// let device = Device::best()?;
/// let tree = device.upload(&a.to_hisparse::<128>(HiSparseOptions::default())?)?;
/// // Nodes that can wait; what finds no place is walked at once.
/// let plan = tree.plan_spmv_queued(HiSparseQueuedOptions::default().with_capacity(1000))?;
/// let (x, mut y) = (device.upload(&[2.0; 200])?, device.zeros(200)?);
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.get(0)?, 2.0);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HiSparseQueuedOptions {
    /// Places of each queue; by default, by the size of the matrix. A node that finds no place is processed by the block that
    /// found it.
    pub capacity: Option<u32>,
    /// Blocks of the grid; by default as many as the device runs at once, or fewer for a small matrix.
    pub blocks: Option<u32>,
}

impl HiSparseQueuedOptions {
    /// The same with so many places in each queue.
    #[must_use]
    pub fn with_capacity(self, capacity: impl Into<Option<u32>>) -> Self {
        Self { capacity: capacity.into(), ..self }
    }

    /// The same with a grid of so many blocks.
    #[must_use]
    pub fn with_blocks(self, blocks: impl Into<Option<u32>>) -> Self {
        Self { blocks: blocks.into(), ..self }
    }
}
