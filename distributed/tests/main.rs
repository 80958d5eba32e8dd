//! Ranks as threads on the CPU and on simulated GPUs, and as processes.

mod builders;
mod faults;
mod hisparse;
mod market;
mod matrices;
#[cfg(feature = "mpi")]
mod mpi;
mod products;
mod programs;
mod support;
mod tcp;
