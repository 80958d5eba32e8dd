//! Reductions by segments: the sum, minimum or maximum of each.
//!
//! ```
//! use evenpath::scan::Operator;
//! use evenpath::{Device, reduce};
//!
//! let device = Device::best()?;
//! let keys = device.upload(&[7_u32, 7, 3, 3, 3, 7])?;
//! let values = device.upload(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let (keys, sums) = reduce::by_keys(&keys, &values, Operator::Sum)?;
//! assert_eq!(keys.download()?, [7, 3, 7]);
//! assert_eq!(sums.download()?, [3.0, 12.0, 6.0]);
//!
//! let row_offsets = device.upload(&[0_u32, 2, 2, 6])?;
//! assert_eq!(reduce::by_offsets(&row_offsets, &values, Operator::Sum)?.download()?, [3.0, 0.0, 18.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One pass over the data, by the look-back of [`scan`](crate::scan) and equally reproducible: floating-point
//! sums are added in an order that depends only on the length, the segments and the kind of device.

use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::reduce::{FillEmptyRows, ReduceArguments, ReduceByFlag, ReduceByKey, ReduceRows};
use evenpath_simt::kernel::KernelInfo;

use super::row_marks::{RowMarks, check_row_offsets};
use super::scan::{Element, Mark, Operator, check_countable, launch_over, look_back_state, state_bytes};
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, variant};
use crate::keys::Key;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::{check_room, check_vector};
use crate::scalar::Offset;

/// Reduces the values of neighbors with equal keys: returns the key and the sum of each segment. Waits for
/// the device to learn the number of segments.
///
/// The results are computed in memory for as many segments as values, which they keep until they are dropped:
/// [`DeviceVec::shrink_to_fit`] frees the rest at the cost of a copy.
///
/// # Errors
///
/// If there is not one key per value, they are on another device, or there are 2³² values or more; then
/// nothing is written. If there is too little memory for the results and [`temporary_bytes_by_keys`], or the
/// device was lost.
pub fn by_keys<K: Key + Mark, T: Element>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<T>,
    operator: Operator,
) -> Result<(DeviceVec<K>, DeviceVec<T>), OpError> {
    let device = values.device();
    device.refuse_in_graph(
        "`reduce::by_keys` waits for the number of segments; `reduce::by_keys_into` does not",
    )?;
    let mut segment_keys = device.uninitialized(keys.len())?;
    let mut sums = device.uninitialized(values.len())?;
    let mut segments = device.zeros(1)?;
    by_keys_into(keys, values, operator, &mut segment_keys, &mut sums, &mut segments)?;
    let count = segments.get(0)? as usize;
    segment_keys.truncate(count);
    sums.truncate(count);
    Ok((segment_keys, sums))
}

/// Like [`by_keys`], but writes to existing vectors without waiting: the first element of `segments` becomes
/// the number of segments, whose keys and sums are at the start of `segment_keys` and `sums`. The rest is
/// unchanged.
///
/// # Errors
///
/// The same as for [`by_keys`], and if `segment_keys` or `sums` is shorter than there are values, `segments`
/// is empty, or one of them is on another device; then nothing is written.
pub fn by_keys_into<K: Key + Mark, T: Element>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<T>,
    operator: Operator,
    segment_keys: &mut DeviceSlice<K>,
    sums: &mut DeviceSlice<T>,
    segments: &mut DeviceSlice<u64>,
) -> Result<(), OpError> {
    check_marks(keys, values)?;
    check_output("segment keys", values, segment_keys, values.len())?;
    check_output("sums", values, sums, values.len())?;
    check_output("the number of segments", values, segments, 1)?;
    let (device, len) = (values.device(), values.len());
    if device.kind() == DeviceKind::Cpu {
        if let (Some(keys), Some(values)) = (keys.host_slice(), values.host_slice()) {
            let begins = |index: usize| index == 0 || keys[index] != keys[index - 1];
            let (heads, own) = cpu::reduce(values, begins, operator);
            if let Some(segment_keys) = segment_keys.host_slice_mut() {
                segment_keys.iter_mut().zip(&heads).for_each(|(key, &head)| *key = keys[head]);
            }
            write_host(&own, sums, segments);
        }
        return Ok(());
    }
    let (keys, values) = (Aligned::new(keys)?, Aligned::new(values)?);
    let launch = launch_over::<T, ReduceByKey<T, K>>(device, operator, K::SIZE, len)?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    segments.set_zero()?;
    let kernel = ReduceByKey {
        reduction: arguments(&values, operator, &mut state, launch.grid()),
        keys: keys.view(),
        segment_keys: segment_keys.as_global_mut(),
        segment_sums: sums.as_global_mut(),
        segments: segments.as_global_mut(),
    };
    // SAFETY: values, keys and both outputs have `len` elements or more, and there are no more segments than that; the
    // state is that of the tiles; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Reduces the values from each one with a nonzero flag to the next; the first value starts a segment
/// whatever its flag. Waits for the device; otherwise like [`by_keys`].
///
/// # Errors
///
/// The same as for [`by_keys`].
pub fn by_flags<T: Element>(
    flags: &DeviceSlice<u8>,
    values: &DeviceSlice<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    let device = values.device();
    device.refuse_in_graph(
        "`reduce::by_flags` waits for the number of segments; `reduce::by_flags_into` does not",
    )?;
    let mut sums = device.uninitialized(values.len())?;
    let mut segments = device.zeros(1)?;
    by_flags_into(flags, values, operator, &mut sums, &mut segments)?;
    sums.truncate(segments.get(0)? as usize);
    Ok(sums)
}

/// Like [`by_flags`], but writes to existing vectors like [`by_keys_into`].
///
/// # Errors
///
/// The same as for [`by_keys_into`].
pub fn by_flags_into<T: Element>(
    flags: &DeviceSlice<u8>,
    values: &DeviceSlice<T>,
    operator: Operator,
    sums: &mut DeviceSlice<T>,
    segments: &mut DeviceSlice<u64>,
) -> Result<(), OpError> {
    check_marks(flags, values)?;
    check_output("sums", values, sums, values.len())?;
    check_output("the number of segments", values, segments, 1)?;
    let (device, len) = (values.device(), values.len());
    if device.kind() == DeviceKind::Cpu {
        if let (Some(flags), Some(values)) = (flags.host_slice(), values.host_slice()) {
            let (_, own) = cpu::reduce(values, |index| index == 0 || flags[index] != 0, operator);
            write_host(&own, sums, segments);
        }
        return Ok(());
    }
    let values = Aligned::new(values)?;
    let launch = launch_over::<T, ReduceByFlag<T>>(device, operator, 0, len)?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    segments.set_zero()?;
    let kernel = ReduceByFlag {
        reduction: arguments(&values, operator, &mut state, launch.grid()),
        flags: flags.as_global(),
        segment_sums: sums.as_global_mut(),
        segments: segments.as_global_mut(),
    };
    // SAFETY: as for keys.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Reduces the values of each row; the result of an empty row is the operator's identity. Row offsets are
/// those of a CSR matrix: they start with 0, do not decrease, and end with the number of values. Checking
/// that waits for the device.
///
/// The work is divided into equal parts of the values, for rows of any length.
///
/// # Errors
///
/// If the row offsets are invalid, are on another device, or there are 2³² values or more; then nothing is
/// written. If there is too little memory for the result and [`temporary_bytes_by_offsets`], or the device
/// was lost.
pub fn by_offsets<T: Element, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    check_row_offsets(row_offsets, values)?;
    let mut sums = values.device().uninitialized(row_offsets.len() - 1)?;
    reduce_rows(row_offsets, values, operator, &mut sums)?;
    Ok(sums)
}

/// Like [`by_offsets`], but writes to an existing vector with one element per row.
///
/// # Errors
///
/// The same as for [`by_offsets`], and if the result does not have one element per row or is on another
/// device; then nothing is written.
pub fn by_offsets_into<T: Element, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    operator: Operator,
    sums: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    check_row_offsets(row_offsets, values)?;
    check_vector(values.device(), ("sums", sums), row_offsets.len() - 1)?;
    reduce_rows(row_offsets, values, operator, sums)
}

/// Bytes of device memory that [`by_keys`] of `len` values takes beside its operands and results; none on the CPU.
pub fn temporary_bytes_by_keys<K: Key + Mark, T: Element>(len: usize) -> u64 {
    bytes_of::<T>(variant::<ReduceByKey<T, K>>(Operator::Sum.variant()), len)
}

/// Bytes of device memory that [`by_flags`] of `len` values takes beside its operands and result; none on the CPU.
pub fn temporary_bytes_by_flags<T: Element>(len: usize) -> u64 {
    bytes_of::<T>(variant::<ReduceByFlag<T>>(Operator::Sum.variant()), len)
}

/// Bytes of device memory that [`by_offsets`] of `len` values in `rows` rows takes beside its operands and result: a
/// bit per value, 4 bytes per row, and some words per tile of thousands of values.
pub fn temporary_bytes_by_offsets<T: Element>(rows: usize, len: usize) -> u64 {
    let state = bytes_of::<T>(variant::<ReduceRows<T>>(Operator::Sum.variant()), len);
    RowMarks::bytes(rows, len).saturating_add(state)
}

fn bytes_of<T: Element>(info: &KernelInfo, len: usize) -> u64 {
    state_bytes(info, len, entry_words(T::SIZE, true))
}

/// Row offsets and lengths are checked.
fn reduce_rows<T: Element, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    operator: Operator,
    sums: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    let (device, len, rows) = (values.device(), values.len(), sums.len());
    check_countable("a reduction", len)?;
    if device.kind() == DeviceKind::Cpu {
        if let (Some(offsets), Some(values), Some(sums)) =
            (row_offsets.host_slice(), values.host_slice(), sums.host_slice_mut())
        {
            cpu::reduce_rows(offsets, values, operator, sums);
        }
        return Ok(());
    }
    let values = Aligned::new(values)?;
    let fill = FillEmptyRows {
        row_offsets: row_offsets.as_global(),
        sums: sums.as_global_mut(),
        rows: rows as u32,
        identity: operator.identity(),
    };
    let fill_launch = device.kernel::<FillEmptyRows<T, O>>().threads(rows)?;
    let launch = launch_over::<T, ReduceRows<T>>(device, operator, 0, len)?;
    // SAFETY: there are `rows` + 1 offsets and `rows` sums.
    unsafe { fill_launch.launch(fill) }?;
    let marks = RowMarks::new(row_offsets, len)?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    let kernel = ReduceRows {
        reduction: arguments(&values, operator, &mut state, launch.grid()),
        bits: marks.bits.as_global(),
        filled_rows: marks.filled_rows.as_global(),
        sums: sums.as_global_mut(),
    };
    // SAFETY: the marks are those of valid row offsets: one bit per value, as many set as there are rows with values,
    // and these rows each have a sum; the state is that of the tiles; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// The parameters of a reduction of `values`, with the state of its `tiles` tiles.
fn arguments<T: Element>(
    values: &Aligned<'_, T>,
    operator: Operator,
    state: &mut DeviceSlice<u64>,
    tiles: u32,
) -> ReduceArguments<T> {
    ReduceArguments {
        source: values.view(),
        state: state.as_global_mut(),
        len: values.len() as u64,
        tiles,
        flip: operator.flip(),
    }
}

fn check_marks<K: Mark, T: Element>(marks: &DeviceSlice<K>, values: &DeviceSlice<T>) -> Result<(), OpError> {
    check_vector(values.device(), ("marks", marks), values.len())?;
    check_countable("a reduction", values.len())
}

fn check_output<T: Element, U: bytemuck::Pod>(
    output: &'static str,
    values: &DeviceSlice<T>,
    vector: &DeviceSlice<U>,
    needed: usize,
) -> Result<(), OpError> {
    values.device().check_same(vector.device())?;
    check_room(output, vector.len(), needed)
}

fn write_host<T: Element>(own: &[T], sums: &mut DeviceSlice<T>, segments: &mut DeviceSlice<u64>) {
    if let (Some(sums), Some(segments)) = (sums.host_slice_mut(), segments.host_slice_mut()) {
        sums[..own.len()].copy_from_slice(own);
        segments[0] = own.len() as u64;
    }
}
