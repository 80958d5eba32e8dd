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
use evenpath_kernels::scan::{ScanArguments, shared_bytes};
use evenpath_simt::kernel::{Kernel, KernelInfo};
use evenpath_simt::{Aligned16, GlobalMut};

use crate::device::{Device, DeviceError, DeviceSlice, DeviceVec, Launch};
pub use crate::element::Element;
use crate::operand::aligned::Aligned;
pub use crate::operation::Operator;

mod builder;
mod plain;
mod segmented;
mod segments;

pub use builder::Scan;
pub(crate) use plain::sum_kernel;
pub use plain::{Whole, temporary_bytes};
pub(crate) use segmented::check_countable;
pub use segmented::{Mark, Marked, Rows, temporary_bytes_by, temporary_bytes_by_offsets};

/// What kernels ask of marks. Nothing outside can name these, so the public traits are sealed.
mod sealed {
    pub trait KernelMark: evenpath_kernels::scan::SegmentMark {}
    pub trait SealedSegments {}
}

/// Bytes of a look-back's state.
pub(crate) fn state_bytes(info: &KernelInfo, len: usize, entry_words: usize) -> u64 {
    8 * state_words(len.div_ceil(info.tile_items()), entry_words) as u64
}

/// A launch of a scan or reduction over `len` elements, one block per tile, with marks of `mark_bytes` bytes in shared
/// memory.
pub(crate) fn launch_over<T: Element, K: Kernel>(
    device: &Device,
    operator: Operator,
    mark_bytes: usize,
    len: usize,
) -> Result<Launch<K>, DeviceError> {
    let launcher = device.variant::<K>(operator.variant());
    let (block, items) = (launcher.info().block_size as usize, launcher.info().items_per_thread as usize);
    launcher.shared_bytes(shared_bytes(T::SIZE, mark_bytes, block, items)).items(len)
}

/// The state of a look-back over `tiles` tiles.
pub(crate) fn look_back_state<T: Element>(
    device: &Device,
    tiles: u32,
    segmented: bool,
) -> Result<DeviceVec<u64>, DeviceError> {
    device.zeros(state_words(tiles as usize, entry_words(T::SIZE, segmented)))
}

/// The parameters of a scan of vectors of the same length, with the state of its `tiles` tiles.
fn arguments<T: Element>(
    values: &Aligned<'_, T>,
    operator: Operator,
    exclusive: bool,
    result: GlobalMut<T, Aligned16>,
    state: &mut DeviceSlice<u64>,
    tiles: u32,
) -> ScanArguments<T> {
    ScanArguments {
        source: values.view(),
        target: result,
        state: state.as_global_mut(),
        len: values.len() as u64,
        tiles,
        flip: operator.flip(),
        exclusive: u32::from(exclusive),
    }
}
