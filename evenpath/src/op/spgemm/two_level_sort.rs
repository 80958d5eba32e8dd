//! Products by two-level sorting: rows of C from all their products.

use std::ops::Range;

use super::{Product, RowsOfC};
use crate::op::OpError;
use crate::{Offset, Value};

/// Bytes of device memory, at most, that [`rows`] takes while it runs, its result included, for so many rows of A with
/// so many entries that make so many products.
pub(super) fn bytes<V: Value>(rows: u64, entries: u64, products: u64) -> u64 {
    let _ = (rows, entries);
    products * (V::SIZE as u64 + 16)
}

/// Some rows of C, on a device with kernels. Both matrices are canonical, and their shapes fit.
pub(super) fn rows<V: Value, O: Offset>(
    product: &Product<'_, V, O>,
    rows: Range<usize>,
) -> Result<RowsOfC<V>, OpError> {
    let _ = (product, rows);
    todo!()
}
