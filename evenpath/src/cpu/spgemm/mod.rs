//! `C = A B` of sparse matrices, row by row of C (Gustavson, "Two fast algorithms for sparse matrices", 1978).
//!
//! A row of C is the sum of the rows of B that the row of A selects, in that order, so results do not depend
//! on the number of threads. Tasks of consecutive rows compute columns and values in one pass, in memory of
//! their thread, and copy them to C. If the pattern of C is not known, a sample of its rows predicts its
//! size, and a task's position is known once the earlier tasks have completed.

mod accumulator;
mod arrays;
mod block;
mod instructions;
mod lookup;
mod masked;
mod ordered;
mod pairs;
mod product;
mod repeated;
mod rows;
mod tasks;
#[cfg(test)]
mod tests;
mod workspace;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use arrays::SpgemmArrays;
pub(crate) use masked::MaskedSpgemm;
pub(crate) use product::{Spgemm, in_pool};
