//! Products of which some rows are computed row by row and the others by two-level sorting.

mod sorted_rows;
mod strategy;

pub(super) use strategy::{Mixed, kernels};
