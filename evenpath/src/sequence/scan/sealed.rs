//! Traits that only this module implements.

pub trait KernelMark: evenpath_kernels::scan::SegmentMark {}
pub trait SealedSegments {}
