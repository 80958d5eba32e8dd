//! Kernel types of marks and segments. Other crates cannot name these traits, so the public ones are sealed.

pub trait KernelMark: evenpath_kernels::scan::SegmentMark {}
pub trait SealedSegments {}
