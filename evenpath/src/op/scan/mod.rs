//! Scans: for each element, the sum, minimum or maximum of all elements up to it, of all or of its segment.
//!
//! [`Scan`] says what is scanned, and `run` scans.
//!
//! ```
//! use evenpath::Device;
//! use evenpath::scan::{Operator, Scan};
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

use bytemuck::Pod;
use evenpath_kernels::block::tile_prefix::{entry_words, state_words};
use evenpath_kernels::scan::shared_bytes;
use evenpath_simt::kernel::KernelInfo;

use super::{OpError, tile_count, tile_items};
use crate::device::{Device, DeviceVec};
use crate::names::named;

mod builder;
mod plain;
mod segmented;

pub use builder::Scan;
pub use plain::{Whole, temporary_bytes};
pub(super) use segmented::check_countable;
pub use segmented::{Mark, Marked, Rows, temporary_bytes_by, temporary_bytes_by_offsets};

/// What a scan combines elements by.
///
/// ```
/// use evenpath::Device;
/// use evenpath::scan::{Operator, Scan};
///
/// let values = Device::cpu().upload(&[3_u32, 1, 4])?;
/// assert_eq!(Scan::inclusive(Operator::Max).run(&values)?.download()?, [3, 3, 4]);
/// assert_eq!(Scan::exclusive(Operator::Sum).run(&values)?.download()?, [0, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The sum; integers wrap around.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

named! {
    Operator, "scan operator":
    Sum = "sum",
    Min = "min",
    Max = "max",
}

/// Elements that can be scanned: `u32`, `i32`, `u64`, `f32`, `f64`. Sealed.
pub trait Element: sealed::KernelElement + Pod {}

/// What kernels ask of elements and marks. Nothing outside can name these, so the public traits are sealed.
mod sealed {
    use evenpath_kernels::block::operator::Number;
    use evenpath_kernels::scan::SegmentMark;

    pub trait KernelElement: Number {}
    pub trait KernelMark: SegmentMark {}
    pub trait SealedSegments {}
}

macro_rules! elements {
    ($($type:ident)*) => {$(
        impl sealed::KernelElement for $type {}
        impl Element for $type {}
    )*};
}
elements!(u32 i32 u64 f32 f64);

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

impl Operator {
    /// The kernels' variant.
    pub(super) fn variant(self) -> &'static str {
        match self {
            Self::Sum => "Sum",
            Self::Min | Self::Max => "Min",
        }
    }

    /// What changes nothing: zero, or the greatest or least value there is.
    pub fn identity<T: Element>(self) -> T {
        match self {
            Self::Sum => T::ZERO,
            Self::Min => T::GREATEST,
            Self::Max => T::LEAST,
        }
    }

    /// The kernels' parameter `flip`.
    pub(super) fn flip(self) -> u32 {
        u32::from(self == Self::Max)
    }
}
