//! Ranks as threads on the CPU, on simulated GPUs and on GPUs, and as processes.
//!
//! `EVENPATH_TEST_DEVICES` and `EVENPATH_REQUIRE_GPU` choose what tests run on, as in the tests of one device.

#[macro_use]
mod support;

mod builders;
mod faults;
mod gpu_faults;
mod gpus;
mod hisparse;
mod market;
mod matrices;
#[cfg(feature = "mpi")]
mod mpi;
mod products;
mod programs;
mod tcp;
