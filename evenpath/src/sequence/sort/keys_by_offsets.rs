//! Sorts of the keys of each segment.

use super::check::check_segments;
use super::options::SortOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec};
use crate::keys::SortKey;
use crate::offset::Offset;
use crate::operand::OpError;
use crate::sequence::segmented_radix_sort;

/// Sorts the keys of each of s segments: `row_offsets` has s + 1 elements, `keys` n, the result n. Segments keep their
/// positions, and equal keys their order.
///
/// Row offsets are those of a CSR matrix: they start with 0, do not decrease, and end with n. Segments may be
/// empty and of different lengths. Waits for the device.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 3, 3, 5])?;
/// let keys = device.upload(&[3.0, -1.0, 2.0, 9.0, 4.0])?;
/// let sorted = sort::keys_by_offsets(&row_offsets, &keys, SortOptions::default())?;
/// assert_eq!(sorted.download()?, [-1.0, 2.0, 3.0, 4.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the row offsets are invalid or on another device, there are 2³² keys or more, or the range of bits is
/// invalid. If there is too little memory for the result and the
/// [temporary bytes](keys_by_offsets_temporary_bytes), or the device was lost.
pub fn keys_by_offsets<O: Offset, K: SortKey>(
    row_offsets: &DeviceSlice<O>,
    keys: &DeviceSlice<K>,
    options: SortOptions,
) -> Result<DeviceVec<K>, OpError> {
    let comparison = check_segments(row_offsets, keys, options)?;
    if keys.device().kind() != DeviceKind::Cpu {
        return segmented_radix_sort::sort_keys(row_offsets, keys, comparison);
    }
    let mut sorted = keys.copied()?;
    if let (Some(row_offsets), Some(sorted)) = (row_offsets.host_slice(), sorted.host_slice_mut()) {
        cpu::sort_by_offsets::<K, O>(row_offsets, sorted, comparison);
    }
    Ok(sorted)
}

/// Sorts the keys of each of s segments like [`keys_by_offsets`], in place: `row_offsets` has s + 1 elements, `keys` n,
/// before and after. On a GPU the keys move to other memory; on failure they are unchanged.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 4])?;
/// let mut keys = device.upload(&[3_u32, 1, 9, 4])?;
/// sort::keys_by_offsets_in_place(&row_offsets, &mut keys, SortOptions::default())?;
/// assert_eq!(keys.download()?, [1, 3, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`keys_by_offsets`].
pub fn keys_by_offsets_in_place<O: Offset, K: SortKey>(
    row_offsets: &DeviceSlice<O>,
    keys: &mut DeviceVec<K>,
    options: SortOptions,
) -> Result<(), OpError> {
    let sorted = keys_by_offsets(row_offsets, keys, options)?;
    *keys = sorted;
    Ok(())
}

/// Maximum bytes of device memory that [`keys_by_offsets`] of `len` keys in `segments` segments takes on a GPU beside
/// its operands and result.
///
/// Segments of more than about 2000 keys take most of it: one copy of all keys. Without such segments it is a bit
/// per key, and some words per tile.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
///
/// let bytes = sort::keys_by_offsets_temporary_bytes::<u32>(1000, 1 << 20, SortOptions::default())?;
/// assert!(bytes > 4 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the range of bits is invalid.
pub fn keys_by_offsets_temporary_bytes<K: SortKey>(
    segments: usize,
    len: usize,
    options: SortOptions,
) -> Result<u64, OpError> {
    Ok(segmented_radix_sort::temporary_bytes::<K>(segments, len, None, options.resolve::<K>()?))
}
