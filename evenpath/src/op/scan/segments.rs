//! What divides elements into segments.

use super::{Element, Operator, sealed};
use crate::device::DeviceVec;
use crate::op::OpError;

/// How elements are divided into segments: not at all ([`Whole`](super::Whole)), by marks ([`Marked`](super::Marked)), or by row offsets ([`Rows`](super::Rows)).
/// Sealed.
pub trait Segments<T: Element>: sealed::SealedSegments {
    /// Scans; `result` may have another length or be on another device, which is an error.
    #[doc(hidden)]
    fn scan(
        &self,
        values: &DeviceVec<T>,
        operator: Operator,
        exclusive: bool,
        result: &mut DeviceVec<T>,
    ) -> Result<(), OpError>;

    /// Whether there is one segment.
    #[doc(hidden)]
    fn are_whole(&self) -> bool {
        false
    }
}
