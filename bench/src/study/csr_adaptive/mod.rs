//! CSR-Adaptive and LightSpMV.

mod block_sizes;
mod methods;
mod run;
mod stand_ins;
mod sweep;

pub(super) use run::run;
