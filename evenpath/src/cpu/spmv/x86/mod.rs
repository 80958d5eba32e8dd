//! Sums of rows with the vector instructions of x86-64.

mod avx2;
mod even;
mod gathers;
mod groups;
mod lanes;

pub(super) use avx2::Avx2Rows;
pub(super) use gathers::sum as sum_by_gathers;
pub(super) use groups::{EqualRows, EvenRows, LONG};
pub(super) use lanes::{Lanes, MOST_LANES};
