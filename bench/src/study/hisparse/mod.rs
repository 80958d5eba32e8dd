//! HiSparse: nodes, memory, products and sums over the matrices of Figure 7.1, in both types.

mod run;
mod tables;

pub(super) use run::run;
