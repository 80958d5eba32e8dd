//! Columns of dense operands.

use std::ops::Range;

/// Vectors of `rows` elements in columns, `stride` elements apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    pub(super) rows: usize,
    pub(super) count: usize,
    pub(super) stride: usize,
}

impl Columns {
    /// One vector.
    pub(super) fn one(rows: usize) -> Self {
        Self { rows, count: 1, stride: rows }
    }

    /// The elements of a column.
    pub(super) fn range(self, column: usize) -> Range<usize> {
        column * self.stride..column * self.stride + self.rows
    }
}
