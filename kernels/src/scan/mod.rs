//! Scans: the sums of everything up to each element, or from its segment's head up to it.

mod plain;
mod segmented;

pub use plain::Scan;
pub use segmented::{SegmentMark, SegmentedScan};
