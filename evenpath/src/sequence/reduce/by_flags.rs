//! Reductions of segments that begin at flags.

use evenpath_kernels::reduce::ReduceByFlag;

use super::launch::{arguments, bytes_of, check_marks, check_output, write_host};
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, variant};
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operation::Operator;
use crate::sequence::scan::{launch_over, look_back_state};

/// Reduces segments that begin at nonzero flags: `flags` and `values` have n elements each, the result one per
/// segment. The first value begins a segment, even if its flag is zero. Waits for the device to learn the number
/// of segments.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::{Device, reduce};
///
/// let device = Device::cpu();
/// let flags = device.upload(&[1_u8, 0, 1, 1])?;
/// let values = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(reduce::by_flags(&flags, &values, Operator::Sum)?.download()?, [3.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The result is computed in memory for as many segments as values, like that of
/// [`by_keys`](crate::reduce::by_keys).
///
/// # Errors
///
/// If there is not one flag per value, they are on another device, or there are 2³² values or more; then
/// nothing is written. If there is too little memory for the result and the
/// [temporary bytes](by_flags_temporary_bytes), or the device was lost.
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

/// Reduces segments that begin at flags like [`by_flags`], into existing vectors, without waiting: `flags` and
/// `values` have n elements each, `sums` n or more, `segments` 1 or more.
///
/// The first element of `segments` becomes the number of segments, whose sums are at the start of `sums`. The
/// rest is unchanged.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::{Device, reduce};
///
/// let device = Device::cpu();
/// let flags = device.upload(&[1_u8, 0, 1])?;
/// let values = device.upload(&[1.0, 2.0, 3.0])?;
/// let (mut sums, mut segments) = (device.zeros(3)?, device.zeros(1)?);
/// reduce::by_flags_into(&flags, &values, Operator::Sum, &mut sums, &mut segments)?;
/// assert_eq!((segments.download()?, sums.download()?), (vec![2], vec![3.0, 3.0, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`by_flags`], and if `sums` is shorter than there are values, `segments` is empty, or one of
/// them is on another device; then nothing is written.
pub fn by_flags_into<T: Element>(
    flags: &DeviceSlice<u8>,
    values: &DeviceSlice<T>,
    operator: Operator,
    sums: &mut DeviceSlice<T>,
    segments: &mut DeviceSlice<u64>,
) -> Result<(), OpError> {
    check_marks(("flags", flags), values)?;
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
    // SAFETY: values, flags and sums have `len` elements or more, and there are no more segments than that; the state
    // is that of the tiles; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Bytes of device memory that [`by_flags`] of `len` values takes on a GPU beside its operands and result: some words
/// per tile of thousands of values.
///
/// ```
/// assert!(evenpath::reduce::by_flags_temporary_bytes::<f64>(1 << 20) < 1 << 20);
/// ```
pub fn by_flags_temporary_bytes<T: Element>(len: usize) -> u64 {
    bytes_of::<T>(variant::<ReduceByFlag<T>>(Operator::Sum.variant()), len)
}
