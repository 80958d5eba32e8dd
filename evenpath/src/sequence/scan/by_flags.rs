//! Scans of segments that begin at flags.

use super::marked::{scan_marked, temporary_bytes};
use super::options::ScanOptions;
use crate::device::{DeviceSlice, DeviceVec};
use crate::element::Element;
use crate::operand::OpError;

/// Scans segments that begin at nonzero flags: `flags` and `values` have n elements each, the result n. The first
/// value begins a segment, even if its flag is zero. Runs in the order of the device's stream; the call does not
/// wait.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let flags = device.upload(&[1_u8, 0, 1, 0])?;
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let sums = scan::by_flags(&flags, &values, ScanOptions::inclusive(Operator::Sum))?;
/// assert_eq!(sums.download()?, [1, 3, 3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is not one flag per value, they are on another device, there is an initial value, or there are 2³²
/// values or more. If there is too little memory for the result and the
/// [temporary bytes](by_flags_temporary_bytes), or the device was lost.
pub fn by_flags<T: Element>(
    flags: &DeviceSlice<u8>,
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialized(values.len())?;
    by_flags_into(flags, values, options, &mut result)?;
    Ok(result)
}

/// Scans segments that begin at flags like [`by_flags`], into an existing vector: `flags` and `values` have n
/// elements each, `result` n.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let flags = device.upload(&[1_u8, 0, 1, 0])?;
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let mut before = device.zeros(4)?;
/// scan::by_flags_into(&flags, &values, ScanOptions::exclusive(Operator::Sum), &mut before)?;
/// assert_eq!(before.download()?, [0, 1, 0, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`by_flags`], and if lengths or devices differ; then nothing is written.
pub fn by_flags_into<T: Element>(
    flags: &DeviceSlice<u8>,
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
    result: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    scan_marked(("flags", flags), values, options, result)
}

/// Bytes of device memory that [`by_flags`] of `len` values takes on a GPU beside its operands: some words per
/// tile of thousands of values.
///
/// ```
/// assert!(evenpath::scan::by_flags_temporary_bytes::<f64>(1 << 20) < 1 << 20);
/// ```
pub fn by_flags_temporary_bytes<T: Element>(len: usize) -> u64 {
    temporary_bytes::<u8, T>(len)
}
