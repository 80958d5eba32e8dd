//! Merge path: unions, block sorts, SpMV, SpAdd and SpGEMM.

mod beyond_cache;
mod correlations;
mod measure;
mod primitives;
mod run;
mod table2;

pub(super) use run::run;
