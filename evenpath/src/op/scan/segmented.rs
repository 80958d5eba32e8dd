//! Scans of segments, which marks or row offsets tell.

use bytemuck::Pod;
use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::scan::{SegmentMark, SegmentedScan, SegmentedScanByBits};

use super::{Element, Operator, arguments, check_lengths, launch_over, look_back_state, state_bytes};
use crate::cpu;
use crate::device::{DeviceKind, DeviceVec};
use crate::op::row_marks::{RowMarks, check_row_offsets};
use crate::op::{OpError, variant};
use crate::scalar::Offset;

/// What can tell where segments begin: flags `u8`, not zero at a segment's first element; or keys `u32` or `u64`, equal
/// within a segment and different from the one before at its first element. Sealed.
///
/// ```
/// use evenpath::Device;
/// use evenpath::scan::{Operator, inclusive_by};
///
/// let device = Device::cpu();
/// let values = device.upload_slice(&[1_u32, 2, 3, 4])?;
/// let keys = device.upload_slice(&[7_u32, 7, 8, 8])?; // a segment each
/// assert_eq!(inclusive_by(&keys, &values, Operator::Sum)?.to_vec()?, [1, 3, 3, 7]);
/// let flags = device.upload_slice(&[1_u8, 0, 1, 0])?; // where segments begin
/// assert_eq!(inclusive_by(&flags, &values, Operator::Sum)?.to_vec()?, [1, 3, 3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Mark: SegmentMark + Pod + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! marks {
    ($($type:ident)*) => {$(
        impl sealed::Sealed for $type {}
        impl Mark for $type {}
    )*};
}
marks!(u8 u32 u64);

/// Element i of the result combines the elements from the head of its segment to i. The first element is a head
/// whatever its mark.
///
/// # Errors
///
/// If there is not one mark an element, they are on another device, or there are 2³² elements or more; then nothing is
/// written. If there is no memory for the result and [`temporary_bytes_by`], or the device was lost.
pub fn inclusive_by<T: Element, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialised(values.len())?;
    inclusive_by_into(marks, values, operator, &mut result)?;
    Ok(result)
}

/// Element i of the result combines the elements from the head of its segment to i − 1; a head's is the operator's
/// identity. The first element is a head whatever its mark.
///
/// # Errors
///
/// As for [`inclusive_by`].
pub fn exclusive_by<T: Element, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialised(values.len())?;
    exclusive_by_into(marks, values, operator, &mut result)?;
    Ok(result)
}

/// [`inclusive_by`] into a vector that is there.
///
/// # Errors
///
/// As for [`inclusive_by`], and if the lengths or devices differ; then nothing is written.
pub fn inclusive_by_into<T: Element, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    run_by_marks(marks, values, operator, false, result)
}

/// [`exclusive_by`] into a vector that is there.
///
/// # Errors
///
/// As for [`inclusive_by`], and if the lengths or devices differ; then nothing is written.
pub fn exclusive_by_into<T: Element, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    run_by_marks(marks, values, operator, true, result)
}

/// Element i of the result combines the elements from the beginning of its row to i. Row offsets are those of a CSR
/// matrix: they begin with 0, do not decrease, and end with the number of values. Checking that waits for the device.
///
/// # Errors
///
/// If the row offsets are not so, are on another device, or there are 2³² values or more; then nothing is written. If
/// there is no memory for the result and [`temporary_bytes_by_offsets`], or the device was lost.
pub fn inclusive_by_offsets<T: Element, O: Offset>(
    row_offsets: &DeviceVec<O>,
    values: &DeviceVec<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialised(values.len())?;
    inclusive_by_offsets_into(row_offsets, values, operator, &mut result)?;
    Ok(result)
}

/// Element i of the result combines the elements from the beginning of its row to i − 1; the first of each row is the
/// operator's identity. Otherwise as [`inclusive_by_offsets`].
///
/// # Errors
///
/// As for [`inclusive_by_offsets`].
pub fn exclusive_by_offsets<T: Element, O: Offset>(
    row_offsets: &DeviceVec<O>,
    values: &DeviceVec<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialised(values.len())?;
    exclusive_by_offsets_into(row_offsets, values, operator, &mut result)?;
    Ok(result)
}

/// [`inclusive_by_offsets`] into a vector that is there.
///
/// # Errors
///
/// As for [`inclusive_by_offsets`], and if the lengths or devices differ; then nothing is written.
pub fn inclusive_by_offsets_into<T: Element, O: Offset>(
    row_offsets: &DeviceVec<O>,
    values: &DeviceVec<T>,
    operator: Operator,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    run_by_offsets(row_offsets, values, operator, false, result)
}

/// [`exclusive_by_offsets`] into a vector that is there.
///
/// # Errors
///
/// As for [`inclusive_by_offsets`], and if the lengths or devices differ; then nothing is written.
pub fn exclusive_by_offsets_into<T: Element, O: Offset>(
    row_offsets: &DeviceVec<O>,
    values: &DeviceVec<T>,
    operator: Operator,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    run_by_offsets(row_offsets, values, operator, true, result)
}

/// Bytes of device memory that a scan of `len` elements by marks takes beside its operands; none on the CPU.
pub fn temporary_bytes_by<T: Element, K: Mark>(len: usize) -> u64 {
    let info = variant::<SegmentedScan<T, K>>(Operator::Sum.variant());
    state_bytes(info, len, entry_words(T::SIZE, true))
}

/// Bytes of device memory that a scan of `len` elements by the offsets of so many rows takes beside its operands: a bit
/// an element, 4 bytes a row, and some words a tile of thousands of elements. On the CPU, a byte an element of the
/// host's.
pub fn temporary_bytes_by_offsets<T: Element>(rows: usize, len: usize) -> u64 {
    let info = variant::<SegmentedScanByBits<T>>(Operator::Sum.variant());
    RowMarks::bytes(rows, len).saturating_add(state_bytes(info, len, entry_words(T::SIZE, true)))
}

fn run_by_marks<T: Element, K: Mark>(
    marks: &DeviceVec<K>,
    values: &DeviceVec<T>,
    operator: Operator,
    exclusive: bool,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    check_lengths("a segmented scan's marks and values", marks, values)?;
    check_result(values, result)?;
    let (device, len) = (values.device(), values.len());
    if device.kind() == DeviceKind::Cpu {
        if let (Some(marks), Some(values), Some(result)) =
            (marks.host_slice(), values.host_slice(), result.host_slice_mut())
        {
            let begins = |index: usize| index == 0 || marks[index].begins(marks[index - 1]);
            cpu::segmented_scan(values, begins, operator, exclusive, result);
        }
        return Ok(());
    }
    let launch = launch_over::<T, SegmentedScan<T, K>>(device, operator, 0, len)?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    let scan = arguments(values, operator, exclusive, result, &mut state, launch.grid());
    // SAFETY: source, marks and target have `len` elements, and the state is that of the tiles; buffers are freed in
    // the stream's order.
    unsafe { launch.launch(SegmentedScan { scan, marks: marks.as_global() }) }?;
    Ok(())
}

fn run_by_offsets<T: Element, O: Offset>(
    row_offsets: &DeviceVec<O>,
    values: &DeviceVec<T>,
    operator: Operator,
    exclusive: bool,
    result: &mut DeviceVec<T>,
) -> Result<(), OpError> {
    check_row_offsets(row_offsets, values)?;
    check_result(values, result)?;
    let (device, len) = (values.device(), values.len());
    if device.kind() == DeviceKind::Cpu {
        if let (Some(offsets), Some(values), Some(result)) =
            (row_offsets.host_slice(), values.host_slice(), result.host_slice_mut())
        {
            let heads = cpu::row_heads(offsets, values.len());
            cpu::segmented_scan(values, |index| heads[index], operator, exclusive, result);
        }
        return Ok(());
    }
    let launch = launch_over::<T, SegmentedScanByBits<T>>(device, operator, 0, len)?;
    let marks = RowMarks::new(row_offsets, len)?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    let scan = arguments(values, operator, exclusive, result, &mut state, launch.grid());
    // SAFETY: source and target have `len` elements, there are as many bits, and the state is that of the tiles; buffers
    // are freed in the stream's order.
    unsafe { launch.launch(SegmentedScanByBits { scan, bits: marks.bits.as_global() }) }?;
    Ok(())
}

fn check_result<T: Element>(values: &DeviceVec<T>, result: &DeviceVec<T>) -> Result<(), OpError> {
    check_lengths("a segmented scan's values and result", values, result)?;
    check_countable("a segmented scan", values.len())
}

/// Refuses more elements than heads are counted.
pub(crate) fn check_countable(what: &'static str, len: usize) -> Result<(), OpError> {
    let limit = u32::MAX as usize;
    if len > limit { Err(OpError::TooLong { what, len, limit }) } else { Ok(()) }
}
