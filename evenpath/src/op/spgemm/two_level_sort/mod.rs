//! Products by two-level sorting: all products are expanded, and sorted within tiles and then all together. And by one sort
//! of all, to compare with.

mod batches;
mod cut_rows;
mod entries;
pub(super) mod global_sort;
#[cfg(feature = "lab")]
mod measure;
#[cfg(feature = "lab")]
mod phases;
mod recorder;
mod rows;
mod setup;
mod strategy;
#[cfg(test)]
mod tests;
mod tiles;

pub(super) use self::entries::BlockSort;
#[cfg(feature = "lab")]
pub(crate) use self::measure::measure;
#[cfg(feature = "lab")]
pub use self::phases::SpgemmPhases;
pub(super) use self::rows::required;
pub(super) use strategy::{TwoLevelSort, kernels};
