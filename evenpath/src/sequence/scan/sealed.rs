//! Kernel types of marks and segments. They cannot be named outside the crate, so the public traits are
//! sealed.

pub trait KernelMark: evenpath_kernels::scan::SegmentMark {}
pub trait SealedSegments {}
