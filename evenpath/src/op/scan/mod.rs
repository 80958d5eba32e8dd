//! Scans: for each element, the sum, minimum or maximum of all elements up to it, of all or of its segment.
//!
//! [`Scan`] says what is scanned, and `run` scans.
//!
//! ```
//! use evenpath::scan::{Operator, Scan};
//! use evenpath::Device;
//!
//! let device = Device::best()?;
//! let lengths = device.upload(&[3_u32, 0, 2, 5])?;
//! assert_eq!(Scan::inclusive(Operator::Sum).run(&lengths)?.download()?, [3, 3, 5, 10]);
//! assert_eq!(Scan::exclusive(Operator::Sum).run(&lengths)?.download()?, [0, 3, 3, 5]);
//! assert_eq!(Scan::exclusive(Operator::Sum).with_initial(100).run(&lengths)?.download()?, [100, 103, 103, 105]);
//!
//! let keys = device.upload(&[7_u32, 7, 8, 8])?; // a segment each
//! assert_eq!(Scan::inclusive(Operator::Max).by_keys(&keys).run(&lengths)?.download()?, [3, 3, 2, 5]);
//! # Ok::<(), evenpath::Error>(())
//! ```
//!
//! One pass over the data: each element is read once and written once (Merrill and Garland, "Single-pass Parallel Prefix
//! Scan with Decoupled Look-back", 2016). Floating-point sums are added in an order that only the length and the kind of
//! device determine, so results are bitwise the same from run to run; they can differ between the CPU and GPUs by
//! rounding. Integer sums wrap around. A minimum or maximum ignores NaN.

use evenpath_kernels::block::tile_prefix::{entry_words, state_words};
use evenpath_kernels::scan::shared_bytes;
use evenpath_simt::kernel::KernelInfo;

use super::{OpError, tile_count, tile_items};
use crate::device::{Device, DeviceVec};

pub use crate::element::Element;
pub use crate::operation::Operator;

mod builder;
mod plain;
mod segmented;

pub use builder::Scan;
pub use plain::{Whole, temporary_bytes};
pub(super) use segmented::check_countable;
pub use segmented::{Mark, Marked, Rows, temporary_bytes_by, temporary_bytes_by_offsets};

/// What kernels ask of marks. Nothing outside can name these, so the public traits are sealed.
mod sealed {
    pub trait KernelMark: evenpath_kernels::scan::SegmentMark {}
    pub trait SealedSegments {}
}

/// Bytes of a look-back's state.
pub(super) fn state_bytes(info: &KernelInfo, len: usize, entry_words: usize) -> u64 {
    8 * state_words(len.div_ceil(tile_items(info) as usize), entry_words) as u64
}

/// The tiles that `len` elements make, and the state of their look-back; `what` is the operation.
pub(super) fn look_back_state<T: Element>(
    what: &'static str,
    device: &Device,
    info: &KernelInfo,
    len: usize,
    segmented: bool,
) -> Result<(u32, DeviceVec<u64>), OpError> {
    let tiles = tile_count(what, info, len)?;
    Ok((tiles, device.zeros(state_words(tiles as usize, entry_words(T::SIZE, segmented)))?))
}

/// Bytes of shared memory that a block of a scan takes, with marks of so many bytes, or none.
pub(super) fn tile_shared_bytes<T: Element>(info: &KernelInfo, mark_bytes: usize) -> u32 {
    shared_bytes(T::SIZE, mark_bytes, info.block_size as usize, info.items_per_thread as usize)
}
