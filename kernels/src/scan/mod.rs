//! Scans: the sums of everything up to each element, or from its segment's head up to it.

mod kernels;
mod marks;
mod scan_tile;
mod tile;

pub use kernels::{Scan, SegmentedScan, SegmentedScanByBits};
pub use marks::SegmentMark;
pub(crate) use marks::{BitMarks, ElementMarks, Marks, WarpMarks};
pub use scan_tile::ScanArguments;
pub use tile::shared_bytes;
pub(crate) use tile::{flipped, ScannedTile};
