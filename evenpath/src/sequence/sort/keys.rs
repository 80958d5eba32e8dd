//! Sorts of keys.

use super::options::SortOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec};
use crate::keys::{Comparison, SortKey};
use crate::operand::OpError;
use crate::sequence::radix_sort;

/// Sorts keys: `keys` has n elements, the result n. Equal keys, including those that differ in other bits only, keep
/// their order.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let keys = Device::cpu().upload(&[3.0, -1.0, 2.0])?;
/// assert_eq!(sort::keys(&keys, SortOptions::default())?.download()?, [-1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the range of bits is invalid, there is too little memory for the result and the
/// [temporary bytes](keys_temporary_bytes), or the device was lost.
pub fn keys<K: SortKey>(keys: &DeviceSlice<K>, options: SortOptions) -> Result<DeviceVec<K>, OpError> {
    let comparison = options.resolve::<K>()?;
    if keys.device().kind() != DeviceKind::Cpu {
        return radix_sort::sort_keys(keys, comparison);
    }
    let mut sorted = keys.copied()?;
    sort_on_cpu(&mut sorted, comparison);
    Ok(sorted)
}

/// Sorts keys like [`keys()`], in place: `keys` has n elements, before and after. On a GPU the vector may move to
/// other memory: it temporarily takes [`keys_temporary_bytes`], and never less than another copy of the keys. If
/// there is too little memory the keys are unchanged.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let mut keys = Device::cpu().upload(&[3_u32, 1, 2])?;
/// sort::keys_in_place(&mut keys, SortOptions::default())?;
/// assert_eq!(keys.download()?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`keys()`].
pub fn keys_in_place<K: SortKey>(keys: &mut DeviceVec<K>, options: SortOptions) -> Result<(), OpError> {
    let comparison = options.resolve::<K>()?;
    if keys.device().kind() != DeviceKind::Cpu {
        return radix_sort::sort_keys_in_place(keys, comparison);
    }
    sort_on_cpu(keys, comparison);
    Ok(())
}

/// Bytes of device memory that [`keys()`] of `len` keys takes on a GPU beside its operand and result: a second copy of
/// the keys if there is more than one pass, and some words per tile of thousands of keys.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
///
/// let one_pass = SortOptions::default().with_bits(0..8);
/// assert!(sort::keys_temporary_bytes::<u32>(1 << 20, one_pass)? < 4 << 20);
/// assert!(sort::keys_temporary_bytes::<u32>(1 << 20, SortOptions::default())? > 4 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the range of bits is invalid.
pub fn keys_temporary_bytes<K: SortKey>(len: usize, options: SortOptions) -> Result<u64, OpError> {
    Ok(radix_sort::temporary_bytes::<K>(len, None, options.resolve::<K>()?))
}

fn sort_on_cpu<K: SortKey>(keys: &mut DeviceVec<K>, comparison: Comparison<K::Bits>) {
    if let Some(keys) = keys.host_slice_mut() {
        cpu::sort::<K>(keys, comparison);
    }
}
