//! Merge path: unions, block sorts, SpMV, SpAdd and SpGEMM.

mod beyond_cache;
mod operations;
mod run;
mod series;
mod sums;
mod tables;

pub(super) use run::run;
