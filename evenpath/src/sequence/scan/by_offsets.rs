//! Scans of segments given by row offsets.

use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::scan::SegmentedScanByBits;
use evenpath_simt::{Aligned16, GlobalMut};

use super::launch::{arguments, launch_over, look_back_state, state_bytes};
use super::marked::SEGMENTED;
use super::options::ScanOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, variant};
use crate::element::Element;
use crate::offset::Offset;
use crate::operand::OpError;
use crate::operand::aligned::{Aligned, write_aligned};
use crate::operand::check::{check_countable, check_vector};
use crate::operation::Operator;
use crate::sequence::row_marks::{RowMarks, check_row_offsets};

/// Scans s segments given by row offsets: `row_offsets` has s + 1 elements, `values` n, the result n. Row offsets
/// are those of a CSR matrix: they start with 0, do not decrease, and end with n. Checking that waits for the
/// device.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 2, 4])?;
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let sums = scan::by_offsets(&row_offsets, &values, ScanOptions::inclusive(Operator::Sum))?;
/// assert_eq!(sums.download()?, [1, 3, 3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the row offsets are invalid or on another device, there is an initial value, or there are 2³² values or
/// more. If there is too little memory for the result and the [temporary bytes](by_offsets_temporary_bytes), or
/// the device was lost.
pub fn by_offsets<O: Offset, T: Element>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialized(values.len())?;
    by_offsets_into(row_offsets, values, options, &mut result)?;
    Ok(result)
}

/// Scans s segments like [`by_offsets`], into an existing vector: `row_offsets` has s + 1 elements, `values` n,
/// `result` n.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 2, 4])?;
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let mut before = device.zeros(4)?;
/// scan::by_offsets_into(&row_offsets, &values, ScanOptions::exclusive(Operator::Sum), &mut before)?;
/// assert_eq!(before.download()?, [0, 1, 0, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`by_offsets`], and if lengths or devices differ; then nothing is written.
pub fn by_offsets_into<O: Offset, T: Element>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
    result: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    options.check_initial(true)?;
    check_row_offsets(row_offsets, values)?;
    check_vector(values.device(), ("result", result), values.len())?;
    check_countable(SEGMENTED, values.len())?;
    if values.device().kind() == DeviceKind::Cpu {
        if let (Some(row_offsets), Some(values), Some(result)) =
            (row_offsets.host_slice(), values.host_slice(), result.host_slice_mut())
        {
            let heads = cpu::row_heads(row_offsets, values.len());
            cpu::segmented_scan(values, |index| heads[index], options.operator, options.is_exclusive, result);
        }
        return Ok(());
    }
    write_aligned(result, |result| launch(row_offsets, &Aligned::new(values)?, options, result))
}

/// Scans on a device with kernels. Row offsets and lengths are checked.
fn launch<O: Offset, T: Element>(
    row_offsets: &DeviceSlice<O>,
    values: &Aligned<'_, T>,
    options: ScanOptions<T>,
    result: GlobalMut<T, Aligned16>,
) -> Result<(), OpError> {
    let device = values.device();
    let launch = launch_over::<T, SegmentedScanByBits<T>>(device, options.operator, 0, values.len())?;
    let marks = RowMarks::new(row_offsets, values.len())?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    let scan = arguments(values, options, result, &mut state, launch.grid());
    // SAFETY: source and target have `len` elements, there are as many bits, and the state is that of the tiles;
    // buffers are freed in the stream's order.
    unsafe { launch.launch(SegmentedScanByBits { scan, bits: marks.bits.as_global() }) }?;
    Ok(())
}

/// Bytes of device memory that [`by_offsets`] of `len` values in `segments` segments takes on a GPU beside its
/// operands: a bit per value, 4 bytes per segment, and some words per tile of thousands of values. On the CPU, a
/// byte of host memory per value.
///
/// ```
/// assert!(evenpath::scan::by_offsets_temporary_bytes::<f64>(1000, 1 << 20) < 1 << 20);
/// ```
pub fn by_offsets_temporary_bytes<T: Element>(segments: usize, len: usize) -> u64 {
    let info = variant::<SegmentedScanByBits<T>>(Operator::Sum.variant());
    RowMarks::bytes(segments, len).saturating_add(state_bytes(info, len, entry_words(T::SIZE, true)))
}
