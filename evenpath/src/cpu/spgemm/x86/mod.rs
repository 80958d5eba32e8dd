//! Sorted columns with the vector instructions of x86-64.

mod avx2;
mod avx512;
mod values;

pub(super) use avx2::Avx2Sort;
pub(super) use avx512::Avx512Sort;
