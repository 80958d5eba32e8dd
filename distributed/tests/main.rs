//! Ranks as threads on the CPU, on simulated GPUs and on GPUs, and as processes.
//!
//! `EVENPATH_TEST_DEVICES` and `EVENPATH_REQUIRE_GPU` select the devices of the tests, as for those of one
//! device.

#[macro_use]
mod support;

mod builders;
mod cut_rows;
mod factors;
mod faults;
mod gpu_faults;
mod gpus;
mod hisparse;
mod hisparse_matrices;
mod infos;
mod market;
mod matrices;
#[cfg(feature = "mpi")]
mod mpi;
mod parts;
mod products;
mod programs;
mod tcp;
