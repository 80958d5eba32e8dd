//! Multigrid of matrices over ranks.

mod hierarchies;
mod partitions;
mod refused;
mod solves;
mod support;
