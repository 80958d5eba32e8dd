//! Divisions of elements into segments.

use evenpath_simt::{Aligned16, GlobalMut};

use super::sealed;
use crate::device::DeviceSlice;
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operation::Operator;

/// Division of elements into segments: none ([`Whole`](super::Whole)), by marks ([`Marked`](super::Marked)),
/// or by row offsets ([`Rows`](super::Rows)). Sealed.
pub trait Segments<T: Element>: sealed::SealedSegments {
    /// Checks the marks or offsets that divide `values`.
    #[doc(hidden)]
    fn check(&self, values: &DeviceSlice<T>) -> Result<(), OpError>;

    /// Scans on the CPU; `result` is as long as `values`.
    #[doc(hidden)]
    fn scan_on_cpu(&self, values: &[T], operator: Operator, exclusive: bool, result: &mut [T]);

    /// Scans on a device with kernels; `result` is as long as `values` and on the same device.
    #[doc(hidden)]
    fn launch(
        &self,
        values: &Aligned<'_, T>,
        operator: Operator,
        exclusive: bool,
        result: GlobalMut<T, Aligned16>,
    ) -> Result<(), OpError>;

    /// Returns whether there is one segment.
    #[doc(hidden)]
    fn are_whole(&self) -> bool {
        false
    }
}
