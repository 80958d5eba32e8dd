//! HiSparse: nodes, memory, products and sums over the matrices of Figure 7.1, in both types.

mod bytes;
mod means;
mod nodes;
mod over;
mod run;
mod sizes;
mod tables;
mod times;

pub(super) use run::run;
