//! Rows of C in classes.

use evenpath_kernels::spgemm::Spans;

use super::bins::Bins;
use super::work::RowProducts;
use super::zeroed::Zeroed;
use crate::Offset;
use crate::device::{DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;

/// The rows of C, by class.
pub(in crate::op::spgemm) struct ClassifiedRows {
    pub(in crate::op::spgemm) bins: Bins,
    /// First and last column of each row that may use windows.
    pub(in crate::op::spgemm) firsts: DeviceVec<u32>,
    pub(in crate::op::spgemm) lasts: DeviceVec<u32>,
    /// Mean length of the rows of B that are added.
    pub(in crate::op::spgemm) mean: f64,
}

/// A view of the spans of rows.
pub(super) fn spans(firsts: &DeviceSlice<u32>, lasts: &DeviceSlice<u32>) -> Spans {
    Spans { firsts: firsts.as_global(), lasts: lasts.as_global() }
}

impl ClassifiedRows {
    /// The columns that the rows span.
    pub(in crate::op::spgemm) fn spans(&self) -> Spans {
        spans(&self.firsts, &self.lasts)
    }

    /// The rows of a pattern that is given, for a product with B.
    pub(in crate::op::spgemm) fn of_pattern<O: Offset>(
        pattern: &DevicePattern<O>,
        b: &DevicePattern<O>,
    ) -> Result<Self, OpError> {
        let RowProducts { sizes, firsts, lasts } = RowProducts::of_pattern(pattern)?;
        let mut zeroed = Zeroed::new(b.row_offsets.device(), 1, 0)?;
        let bins = Bins::find(&sizes, spans(&firsts, &lasts), pattern.rows, zeroed.next_count())?;
        let mean = b.column_indices.len() as f64 / b.rows.max(1) as f64;
        Ok(Self { bins, firsts, lasts, mean })
    }
}
