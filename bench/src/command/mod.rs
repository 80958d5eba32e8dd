//! The commands of the program.

mod calls;
mod csrmv;
mod distributed;
mod first_use;
mod graphs;
mod hisparse_tree;
mod launch_cost;
mod matrix_market;
mod operations;
mod options;
mod pagerank;
mod primitives;
mod program;
mod report;
mod row_sorting;
mod scale;
mod solve;
mod study;

pub use program::main;
