//! Sparse linear algebra over many GPUs and processes, built on [`evenpath`].
//!
//! ```
//! use evenpath::Device;
//! use evenpath_distributed::{Cluster, DistributedCsr, DistributedVec, Error, generate};
//!
//! // Four ranks: threads of this process, with a device each.
//! let mut cluster = Cluster::local((0..4).map(|_| Device::cpu()))?;
//! let grid = generate::Stencil::five_point(30);
//! let norms = cluster.run(|rank| {
//!     let a = DistributedCsr::from_fn(rank, 900, 900, |row, entries| grid.row(row, entries))?;
//!     let x = DistributedVec::from_fn(rank, a.col_partition(), |_| 1.0)?;
//!     let mut y = DistributedVec::zeros(rank, a.row_partition())?;
//!     let plan = a.plan_spmv(Default::default())?; // once per matrix
//!     plan.run(1.0, &x, 0.0, &mut y)?; // as often as needed
//!     y.dot(&x)
//! })?;
//! assert_eq!(norms, [120.0; 4]); // the missing neighbors along the edge
//! # Ok::<(), Error>(())
//! ```
//!
//! # Model
//!
//! A [`Cluster`] has ranks, each with a device. They are threads of one process ([`Cluster::local`]),
//! processes connected by TCP ([`Cluster::from_env`]), or MPI processes (`Cluster::mpi`, with the feature
//! `mpi`). All run the same function, and call the same operations in the same order.
//!
//! The rows of a [`DistributedCsr`] and the elements of a [`DistributedVec`] are in contiguous blocks, one
//! per rank, according to a [`RowPartition`]. Global indices have 64 bits, those on a device 32.
//!
//! # Faults
//!
//! No operation waits forever. If a rank returns an error, panics, loses its process, exceeds the timeout or
//! sends an invalid message, the operations of all others return an [`Error`] that names the rank and the
//! cause ([`error::Failure`]).
//!
//! # Reproducibility
//!
//! Sums over ranks are added in the order of the ranks. With the same partitions, options and devices,
//! results are the same to the last bit in every run, however the ranks are started.

// `clippy.toml` lists the methods.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cluster;
mod csr;
mod dense;
pub mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
mod gpu_exchange;
mod halo;
mod hisparse;
mod memory;
mod merge_path;
mod nccl;
mod op;
mod parallel;
mod partition;
mod rank;
mod rows;
mod transport;
mod vector;

pub use cluster::{Cluster, DEFAULT_TIMEOUT};
pub use csr::DistributedCsr;
pub use dense::DistributedDense;
pub use error::{Error, Result};
pub use halo::{ExchangeInfo, Halo};
pub use hisparse::DistributedHiSparse;
pub use nccl::{Engine, ExchangeEngine};
pub use op::{
    DistributedCutRowInfo, DistributedHiSparsePlanInfo, DistributedHiSparseSpgemmOptions,
    DistributedHiSparseSpmmPlan, DistributedHiSparseSpmmPlanInfo, DistributedHiSparseSpmvPlan,
    DistributedHiSparseSpmvPlanInfo, DistributedHiSparseSpmvTransposedPlan, DistributedPlanInfo,
    DistributedSpgemmOptions, DistributedSpmmPlan, DistributedSpmmPlanInfo, DistributedSpmvPlan,
    DistributedSpmvPlanInfo, DistributedSpmvTransposedPlan, DistributedSpmvTransposedPlanInfo,
};
pub use partition::RowPartition;
pub use rank::{Rank, Traffic};
pub use rows::RowBlock;
pub use vector::DistributedVec;
