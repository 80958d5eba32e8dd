//! Products by two-level sorting: all products are expanded, and sorted within tiles and then all together. And by one sort
//! of all, to compare with.

mod cut_rows;
pub(super) mod global_sort;
mod measure;
mod parts;
mod phases;
mod rows;
mod setup;
mod strategy;
#[cfg(test)]
mod tests;
mod tiles;

pub use self::phases::SpgemmPhases;
pub(super) use self::rows::required;
pub(super) use strategy::{TwoLevelSort, kernels};
