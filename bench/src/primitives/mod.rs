//! The primitives: cases, inputs, measurements and checks.
//!
//! Inputs, counted bytes and names of cases are the same as in measurements of CUB and Thrust, so that they can be
//! [compared](peers) by case. With several inputs, n counts the elements of all.

mod bench;
mod case;
mod check;
mod groups;
pub(crate) mod peers;
mod scan;
mod segmented_sort;
mod segments;
mod sets;
mod sort;
mod sort_tiles;
mod two_pass_tiles;

pub(crate) use bench::Selection;
pub(crate) use case::{Case, Figures, Measurement, Outcome};
pub(crate) use groups::measure;
