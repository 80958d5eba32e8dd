//! Scans: the sums of everything up to each element, or from its segment's head up to it.

mod marks;
mod plain;
mod scan_tile;
mod segmented;
mod tile;

pub use marks::SegmentMark;
pub(crate) use marks::{BitMarks, ElementMarks, Marks, WarpMarks};
pub use plain::Scan;
pub use scan_tile::ScanArguments;
pub use segmented::{SegmentedScan, SegmentedScanByBits};
pub use tile::shared_bytes;
pub(crate) use tile::{flipped, Tile};
