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
use evenpath_kernels::block::operator::{Number, OperatorCode};
use evenpath_kernels::block::tile_prefix::{entry_words, state_words};
use evenpath_kernels::scan::{Scan, SegmentMark, SegmentedScan};
use evenpath_simt::kernel::Kernel;

use super::{OpError, instance, tile_count, tile_items};
use crate::cpu;
use crate::device::{DeviceKind, DeviceVec};

/// What a scan combines elements by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The sum; integers wrap around.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// Elements that can be scanned: `u32`, `i32`, `u64`, `f32`, `f64`. Sealed.
pub trait Element: Number + Pod + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ident)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {}
    )*};
}
elements!(u32 i32 u64 f32 f64);

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

/// Elements that can be scanned by segments: `u32`, `f32`, `f64`. Sealed.
pub trait SegmentedElement: Element {}
impl SegmentedElement for u32 {}
impl SegmentedElement for f32 {}
impl SegmentedElement for f64 {}

/// What can tell where segments begin: flags `u8`, not zero at a segment's first element; or keys `u32` or `u64`, equal
/// within a segment and different from the one before at its first element. Sealed.
pub trait Mark: SegmentMark + Pod + sealed::Sealed {}
impl sealed::Sealed for u8 {}
impl Mark for u8 {}
impl Mark for u32 {}
impl Mark for u64 {}

/// Element i of the result combines the elements from the head of its segment to i. The first element is a head
/// whatever its mark.
///
/// # Errors
///
/// If there is not one mark an element, they are on another device, or there are 2³² elements or more; then nothing is
/// written. If there is no memory for the result and [`temporary_bytes`], or the device was lost.
pub fn inclusive_by<T: SegmentedElement, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    run_segmented(marks, values, operator, false)
}

/// Element i of the result combines the elements from the head of its segment to i − 1; a head's is the operator's
/// identity. The first element is a head whatever its mark.
///
/// # Errors
///
/// As for [`inclusive_by`].
pub fn exclusive_by<T: SegmentedElement, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    run_segmented(marks, values, operator, true)
}

/// Bytes of device memory that a scan of `len` elements takes beside its operands, at most; none on the CPU.
pub fn temporary_bytes<T: Element>(len: usize) -> u64 {
    // The smallest tile of any kernel, and the widest entries.
    let kernels = Scan::<f32>::INSTANCES.iter().chain(SegmentedScan::<f32, u32>::INSTANCES);
    let tile = kernels.map(|info| tile_items(info)).min().unwrap_or(1);
    8 * state_words(len.div_ceil(tile as usize), entry_words(T::SIZE, true)) as u64
}

fn run<T: Element>(
    values: &DeviceVec<T>,
    operator: Operator,
    exclusive: bool,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    let device = values.device();
    device.check_same(result.device())?;
    if values.len() != result.len() {
        let (left, right) = (values.len(), result.len());
        return Err(OpError::Lengths { what: "a scan's input and result", left, right });
    }
    if device.kind() == DeviceKind::Cpu {
        if let (Some(values), Some(result)) = (values.host_slice(), result.host_slice_mut()) {
            cpu::scan(values, operator, exclusive, result);
        }
        return Ok(());
    }
    let len = values.len();
    let info = instance::<Scan<T>>();
    let tiles = tile_count("a scan", info, len)?;
    let mut state = device.zeros(state_words(tiles as usize, entry_words(T::SIZE, false)))?;
    let kernel = Scan {
        source: values.as_global(),
        target: result.as_global_mut(),
        state: state.as_global_mut(),
        len: len as u64,
        tiles,
        operator: operator.code(),
        exclusive: u32::from(exclusive),
    };
    // SAFETY: source and target have `len` elements, the state as many words as its tiles need, all zero; buffers are
    // freed in the stream's order.
    unsafe { device.launch(kernel, info, tiles, 0) }?;
    Ok(())
}

fn run_segmented<T: SegmentedElement, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
    exclusive: bool,
) -> Result<DeviceVec<T>, OpError> {
    let device = values.device();
    device.check_same(marks.device())?;
    let len = values.len();
    if marks.len() != len {
        return Err(OpError::Lengths {
            what: "a segmented scan's marks and values",
            left: marks.len(),
            right: len,
        });
    }
    if u32::try_from(len).is_err() {
        return Err(OpError::TooLong { what: "a segmented scan", len, limit: u32::MAX as usize });
    }
    let mut result = device.uninitialised(len)?;
    if device.kind() == DeviceKind::Cpu {
        if let (Some(marks), Some(values), Some(result)) =
            (marks.host_slice(), values.host_slice(), result.host_slice_mut())
        {
            let begins = |index: usize| index == 0 || marks[index].begins(marks[index - 1]);
            cpu::segmented_scan(values, begins, operator, exclusive, result);
        }
        return Ok(result);
    }
    let info = instance::<SegmentedScan<T, K>>();
    let tiles = tile_count("a segmented scan", info, len)?;
    let mut state = device.zeros(state_words(tiles as usize, entry_words(T::SIZE, true)))?;
    let kernel = SegmentedScan {
        source: values.as_global(),
        marks: marks.as_global(),
        target: result.as_global_mut(),
        state: state.as_global_mut(),
        len: len as u64,
        tiles,
        operator: operator.code(),
        exclusive: u32::from(exclusive),
    };
    // SAFETY: source, marks and target have `len` elements, the state as many words as its tiles need, all zero;
    // buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, tiles, 0) }?;
    Ok(result)
}

impl Operator {
    fn code(self) -> u32 {
        let code = match self {
            Self::Sum => OperatorCode::Sum,
            Self::Min => OperatorCode::Min,
            Self::Max => OperatorCode::Max,
        };
        code as u32
    }
}
