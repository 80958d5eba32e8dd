//! Sparse matrix times sparse matrix.

#![allow(dead_code)]

mod method;
mod options;
mod two_level_sort;

pub use method::{ParseSpgemmMethodError, SpgemmMethod};
pub use options::SpgemmOptions;

use std::sync::Arc;

use crate::device::DeviceVec;
use crate::op::DeviceCsr;
use crate::{Offset, Value};

/// The operands of `C = A B`, of fitting shapes, on one device with kernels, both canonical.
struct Product<'a, V: Value, O: Offset> {
    a: &'a DeviceCsr<V, O>,
    b: &'a DeviceCsr<V, O>,
    a_values: Arc<DeviceVec<V>>,
    b_values: Arc<DeviceVec<V>>,
}

/// Some rows of C, ascending by column, without duplicates.
struct RowsOfC<V: Value> {
    /// Entries of each row.
    lengths: DeviceVec<u32>,
    /// Columns of the entries.
    column_indices: DeviceVec<u32>,
    /// Values of the entries.
    values: DeviceVec<V>,
}
