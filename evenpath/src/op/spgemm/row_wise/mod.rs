//! Products row by row: rows are put into classes, and each class has a launch.

mod destinations;
mod fill;
mod strategy;
mod target;

pub(super) use fill::Fill;
pub(super) use strategy::{RowWise, kernels};
