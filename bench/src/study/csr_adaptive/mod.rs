//! CSR-Adaptive and LightSpMV.

mod blocks;
mod rates;
mod results;
mod row_blocks;
mod run;
mod stand_ins;
mod tables;

pub(super) use run::run;
