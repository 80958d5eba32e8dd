//! Rows of C in classes.

use evenpath_kernels::spgemm::Spans;

use super::bins::Bins;
use crate::device::{DeviceSlice, DeviceVec};

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
}
