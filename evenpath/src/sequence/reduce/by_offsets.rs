//! Reductions of segments given by row offsets.

use evenpath_kernels::reduce::{FillEmptyRows, ReduceRows};

use super::launch::{REDUCTION, arguments, bytes_of};
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, variant};
use crate::element::Element;
use crate::offset::Offset;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::{check_countable, check_vector};
use crate::operation::Operator;
use crate::sequence::row_marks::{RowMarks, check_row_offsets};
use crate::sequence::scan::{launch_over, look_back_state};

/// Reduces s segments given by row offsets: `row_offsets` has s + 1 elements, `values` n, the result s, which is the
/// operator's identity for an empty segment. Row offsets are those of a CSR matrix: they start with 0, do not
/// decrease, and end with n. Checking that waits for the device.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::{Device, reduce};
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 2, 4])?;
/// let values = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(reduce::by_offsets(&row_offsets, &values, Operator::Sum)?.download()?, [3.0, 0.0, 7.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The work is divided into equal parts of the values, for segments of any length.
///
/// # Errors
///
/// If the row offsets are invalid, are on another device, or there are 2³² values or more; then nothing is
/// written. If there is too little memory for the result and the [temporary bytes](by_offsets_temporary_bytes),
/// or the device was lost.
pub fn by_offsets<O: Offset, T: Element>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    operator: Operator,
) -> Result<DeviceVec<T>, OpError> {
    check_row_offsets(row_offsets, values)?;
    let mut sums = values.device().uninitialized(row_offsets.len() - 1)?;
    by_valid_offsets_into(row_offsets, values, operator, &mut sums)?;
    Ok(sums)
}

/// Reduces s segments like [`by_offsets`], into an existing vector: `row_offsets` has s + 1 elements, `values` n,
/// `sums` s.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::{Device, reduce};
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 4])?;
/// let values = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// let mut greatest = device.zeros(2)?;
/// reduce::by_offsets_into(&row_offsets, &values, Operator::Max, &mut greatest)?;
/// assert_eq!(greatest.download()?, [2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`by_offsets`], and if `sums` does not have one element per segment or is on another device;
/// then nothing is written.
pub fn by_offsets_into<O: Offset, T: Element>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    operator: Operator,
    sums: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    check_row_offsets(row_offsets, values)?;
    check_vector(values.device(), ("sums", sums), row_offsets.len() - 1)?;
    by_valid_offsets_into(row_offsets, values, operator, sums)
}

/// Bytes of device memory that [`by_offsets`] of `len` values in `segments` segments takes on a GPU beside its operands
/// and result: a bit per value, 4 bytes per segment, and some words per tile of thousands of values.
///
/// ```
/// assert!(evenpath::reduce::by_offsets_temporary_bytes::<f64>(1000, 1 << 20) < 1 << 20);
/// ```
pub fn by_offsets_temporary_bytes<T: Element>(segments: usize, len: usize) -> u64 {
    let state = bytes_of::<T>(variant::<ReduceRows<T>>(Operator::Sum.variant()), len);
    RowMarks::bytes(segments, len).saturating_add(state)
}

/// Reduces segments whose row offsets and lengths are checked.
pub(crate) fn by_valid_offsets_into<O: Offset, T: Element>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    operator: Operator,
    sums: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    let (device, len, rows) = (values.device(), values.len(), sums.len());
    check_countable(REDUCTION, len)?;
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
