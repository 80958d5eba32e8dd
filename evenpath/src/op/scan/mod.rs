//! Scans: for each element, the sum, minimum or maximum of all elements up to it.
//!
//! ```
//! use evenpath::{Device, scan};
//!
//! let device = Device::best()?;
//! let lengths = device.upload_slice(&[3_u32, 0, 2, 5])?;
//! assert_eq!(scan::inclusive(&lengths, scan::Operator::Sum)?.to_vec()?, [3, 3, 5, 10]);
//! assert_eq!(scan::exclusive(&lengths, scan::Operator::Sum)?.to_vec()?, [0, 3, 3, 5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One pass over the data: each element is read once and written once (Merrill and Garland, "Single-pass Parallel Prefix
//! Scan with Decoupled Look-back", 2016). Floating-point sums are added in an order that only the length and the kind of
//! device determine, so results are bitwise the same from run to run; they can differ between the CPU and GPUs by
//! rounding. Integer sums wrap around. A minimum or maximum passes over NaN.

use bytemuck::Pod;
use evenpath_kernels::block::tile_prefix::{entry_words, state_words};
use evenpath_kernels::scan::{Scan, ScanArguments, shared_bytes};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::{OpError, variant};
use crate::cpu;
use crate::device::{Device, DeviceError, DeviceKind, DeviceVec, Launch};
pub use crate::element::Element;
pub use crate::operation::Operator;

mod segmented;

pub(super) use segmented::check_countable;
pub use segmented::{
    Mark, exclusive_by, exclusive_by_into, exclusive_by_offsets, exclusive_by_offsets_into, inclusive_by,
    inclusive_by_into, inclusive_by_offsets, inclusive_by_offsets_into, temporary_bytes_by,
    temporary_bytes_by_offsets,
};

/// Element i of the result combines elements 0 to i.
///
/// # Errors
///
/// If there is no memory for the result and [`temporary_bytes`], or the device was lost.
pub fn inclusive<T: Element>(values: &DeviceVec<T>, operator: Operator) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialised(values.len())?;
    run(values, operator, false, &mut result)?;
    Ok(result)
}

/// Element i of the result combines elements 0 to i − 1; element 0 is the operator's identity: zero, or the greatest
/// or least value there is.
///
/// # Errors
///
/// As for [`inclusive`].
pub fn exclusive<T: Element>(values: &DeviceVec<T>, operator: Operator) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialised(values.len())?;
    run(values, operator, true, &mut result)?;
    Ok(result)
}

/// [`inclusive`] into a vector that is there.
///
/// # Errors
///
/// As for [`inclusive`], and if the lengths or devices differ; then nothing is written.
pub fn inclusive_into<T: Element>(
    values: &DeviceVec<T>,
    operator: Operator,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    run(values, operator, false, result)
}

/// [`exclusive`] into a vector that is there.
///
/// # Errors
///
/// As for [`inclusive`], and if the lengths or devices differ; then nothing is written.
pub fn exclusive_into<T: Element>(
    values: &DeviceVec<T>,
    operator: Operator,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    run(values, operator, true, result)
}

/// Bytes of device memory that a plain scan of `len` elements takes beside its operands; none on the CPU.
pub fn temporary_bytes<T: Element>(len: usize) -> u64 {
    state_bytes(variant::<Scan<T>>(Operator::Sum.variant()), len, entry_words(T::SIZE, false))
}

/// Bytes of a look-back's state.
pub(super) fn state_bytes(info: &KernelInfo, len: usize, entry_words: usize) -> u64 {
    8 * state_words(len.div_ceil(info.tile_items()), entry_words) as u64
}

fn run<T: Element>(
    values: &DeviceVec<T>,
    operator: Operator,
    exclusive: bool,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    check_lengths("a scan's input and result", values, result)?;
    let device = values.device();
    if device.kind() == DeviceKind::Cpu {
        if let (Some(values), Some(result)) = (values.host_slice(), result.host_slice_mut()) {
            cpu::scan(values, operator, exclusive, result);
        }
        return Ok(());
    }
    let launch = launch_over::<T, Scan<T>>(device, operator, 0, values.len())?;
    let mut state = look_back_state::<T>(device, launch.grid(), false)?;
    let scan = arguments(values, operator, exclusive, result, &mut state, launch.grid());
    // SAFETY: source and target have `len` elements, and the state is that of the tiles; buffers are freed in the
    // stream's order.
    unsafe { launch.launch(Scan { scan }) }?;
    Ok(())
}

/// Refuses two vectors that are on different devices or have different lengths.
pub(super) fn check_lengths<A: Pod, B: Pod>(
    what: &'static str,
    left: &DeviceVec<A>,
    right: &DeviceVec<B>,
) -> Result<(), OpError> {
    left.device().check_same(right.device())?;
    let (left, right) = (left.len(), right.len());
    if left == right { Ok(()) } else { Err(OpError::Lengths { what, left, right }) }
}

/// A launch of a scan or reduction over `len` elements, one block per tile, with marks of `mark_bytes` bytes in shared
/// memory.
pub(super) fn launch_over<T: Element, K: Kernel>(
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
pub(super) fn look_back_state<T: Element>(
    device: &Device,
    tiles: u32,
    segmented: bool,
) -> Result<DeviceVec<u64>, DeviceError> {
    device.zeros(state_words(tiles as usize, entry_words(T::SIZE, segmented)))
}

/// The parameters of a scan of vectors of the same length, with the state of its `tiles` tiles.
fn arguments<T: Element>(
    values: &DeviceVec<T>,
    operator: Operator,
    exclusive: bool,
    result: &mut DeviceVec<T>,
    state: &mut DeviceVec<u64>,
    tiles: u32,
) -> ScanArguments<T> {
    ScanArguments {
        source: values.as_global(),
        target: result.as_global_mut(),
        state: state.as_global_mut(),
        len: values.len() as u64,
        tiles,
        flip: operator.flip(),
        exclusive: u32::from(exclusive),
    }
}
