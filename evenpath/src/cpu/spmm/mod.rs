//! `C = alpha A B + beta C` with sparse A and dense B and C, row by row of C.

mod blocks;
mod bsr;
mod by_rows;
mod dense;
#[cfg(target_arch = "x86_64")]
mod halves;
mod instructions;
mod product;
mod rows;
mod semiring;
mod sums;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use bsr::spmm_bsr;
pub(super) use by_rows::ByRows;
pub(crate) use dense::{Dense, DenseMut};
pub(crate) use product::{spmm, spmm_tasks};
pub(crate) use semiring::semiring_spmm;
