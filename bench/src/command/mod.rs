//! The commands of the program.

mod calls;
mod conjugate_gradients;
mod csrmv;
mod distributed;
mod first_use;
mod formats;
mod hisparse;
mod hisparse_tree;
mod launch_cost;
mod matrix_market;
mod options;
mod pagerank;
mod primitives;
mod program;
mod report;
mod row_sorting;
mod scale;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod study;
mod suite;

pub use program::main;
