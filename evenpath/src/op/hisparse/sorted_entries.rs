//! Entries that are converted to a tree.

use crate::Value;
use crate::device::{DeviceSlice, DeviceVec};

/// Entries of a matrix on a machine, sorted by row.
#[derive(Clone, Copy)]
pub(super) struct SortedEntries<'m, V: Value> {
    pub(super) shape: (usize, usize),
    pub(super) rows: &'m DeviceVec<u32>,
    pub(super) cols: &'m DeviceVec<u32>,
    pub(super) values: &'m DeviceSlice<V>,
}
