//! Scans of runs of equal keys.

use super::marked::{scan_marked, temporary_bytes};
use super::options::ScanOptions;
use crate::device::{DeviceSlice, DeviceVec};
use crate::element::Element;
use crate::keys::Key;
use crate::operand::OpError;

/// Scans segments that are runs of equal keys: `keys` and `values` have n elements each, the result n. Runs in
/// the order of the device's stream; the call does not wait.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let keys = device.upload(&[7_u64, 7, 9, 9])?;
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let sums = scan::by_keys(&keys, &values, ScanOptions::inclusive(Operator::Sum))?;
/// assert_eq!(sums.download()?, [1, 3, 3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is not one key per value, they are on another device, there is an initial value, or there are 2³²
/// values or more. If there is too little memory for the result and the
/// [temporary bytes](by_keys_temporary_bytes), or the device was lost.
pub fn by_keys<K: Key, T: Element>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialized(values.len())?;
    by_keys_into(keys, values, options, &mut result)?;
    Ok(result)
}

/// Scans runs of equal keys like [`by_keys`], into an existing vector: `keys` and `values` have n elements each,
/// `result` n.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let keys = device.upload(&[7_u32, 7, 9, 9])?;
/// let values = device.upload(&[1_u32, 2, 3, 4])?;
/// let mut before = device.zeros(4)?;
/// scan::by_keys_into(&keys, &values, ScanOptions::exclusive(Operator::Sum), &mut before)?;
/// assert_eq!(before.download()?, [0, 1, 0, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`by_keys`], and if lengths or devices differ; then nothing is written.
pub fn by_keys_into<K: Key, T: Element>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
    result: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    scan_marked(("keys", keys), values, options, result)
}

/// Bytes of device memory that [`by_keys`] of `len` values takes on a GPU beside its operands: some words per tile
/// of thousands of values.
///
/// ```
/// assert!(evenpath::scan::by_keys_temporary_bytes::<u32, f64>(1 << 20) < 1 << 20);
/// ```
pub fn by_keys_temporary_bytes<K: Key, T: Element>(len: usize) -> u64 {
    temporary_bytes::<K, T>(len)
}
