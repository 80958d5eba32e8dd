//! Sorts of the keys of each segment with their values.

use super::check::{SEGMENTED, check_segments};
use super::options::SortOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec};
use crate::keys::{PairValue, SortKey};
use crate::offset::Offset;
use crate::operand::check::check_countable;
use crate::operand::{OpError, Pairs};
use crate::sequence::segmented_radix_sort;

/// Sorts the pairs of each of s segments by key: `row_offsets` has s + 1 elements, `pairs` n keys and n values, the
/// results n elements each. Values of equal keys keep their order.
///
/// Row offsets are as for [`keys_by_offsets`](crate::sort::keys_by_offsets). Waits for the device.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 4])?;
/// let (keys, values) = (device.upload(&[3_u32, 1, 9, 4])?, device.upload(&[0.3, 0.1, 0.9, 0.4])?);
/// let pairs = Pairs::new(&keys, &values);
/// let (keys, values) = sort::pairs_by_offsets(&row_offsets, pairs, SortOptions::default())?;
/// assert_eq!((keys.download()?, values.download()?), (vec![1, 3, 4, 9], vec![0.1, 0.3, 0.4, 0.9]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the numbers of keys and values differ, or they are on different devices; also the errors of
/// [`keys_by_offsets`](crate::sort::keys_by_offsets), with the
/// [temporary bytes of pairs](pairs_by_offsets_temporary_bytes).
pub fn pairs_by_offsets<O: Offset, K: SortKey, V: PairValue>(
    row_offsets: &DeviceSlice<O>,
    pairs: Pairs<'_, K, V>,
    options: SortOptions,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    pairs.check(pairs.keys.device(), "values")?;
    check_segments(row_offsets, pairs.keys, options)?;
    pairs_by_valid_offsets(row_offsets, pairs, options)
}

/// Sorts the pairs of each of s segments by key like [`pairs_by_offsets`], in place: `row_offsets` has s + 1 elements,
/// `keys` and `values` n each, before and after. On a GPU they move to other memory; on failure they are unchanged.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let row_offsets = device.upload(&[0_u32, 2, 4])?;
/// let (mut keys, mut values) = (device.upload(&[3_u32, 1, 9, 4])?, device.upload(&[0.3, 0.1, 0.9, 0.4])?);
/// sort::pairs_by_offsets_in_place(&row_offsets, &mut keys, &mut values, SortOptions::default())?;
/// assert_eq!((keys.download()?, values.download()?), (vec![1, 3, 4, 9], vec![0.1, 0.3, 0.4, 0.9]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`pairs_by_offsets`].
pub fn pairs_by_offsets_in_place<O: Offset, K: SortKey, V: PairValue>(
    row_offsets: &DeviceSlice<O>,
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    options: SortOptions,
) -> Result<(), OpError> {
    let (sorted_keys, sorted_values) = pairs_by_offsets(row_offsets, Pairs::new(keys, values), options)?;
    *keys = sorted_keys;
    *values = sorted_values;
    Ok(())
}

/// Maximum bytes of device memory that [`pairs_by_offsets`] of `len` pairs in `segments` segments takes on a GPU beside
/// its operands and results.
///
/// Segments of more than about 2000 pairs take most of it: one copy of all pairs. Without such segments it is a
/// bit per pair, and some words per tile.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
///
/// let bytes = sort::pairs_by_offsets_temporary_bytes::<u32, f64>(1000, 1 << 20, SortOptions::default())?;
/// assert!(bytes > 12 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the range of bits is invalid.
pub fn pairs_by_offsets_temporary_bytes<K: SortKey, V: PairValue>(
    segments: usize,
    len: usize,
    options: SortOptions,
) -> Result<u64, OpError> {
    Ok(segmented_radix_sort::temporary_bytes::<K>(segments, len, Some(V::SIZE), options.resolve::<K>()?))
}

/// Sorts like [`pairs_by_offsets`], by row offsets that are known to be those of a matrix with these entries.
pub(crate) fn pairs_by_valid_offsets<O: Offset, K: SortKey, V: PairValue>(
    row_offsets: &DeviceSlice<O>,
    pairs: Pairs<'_, K, V>,
    options: SortOptions,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let comparison = options.resolve::<K>()?;
    check_countable(SEGMENTED, pairs.keys.len())?;
    if pairs.keys.device().kind() != DeviceKind::Cpu {
        return segmented_radix_sort::sort_pairs(row_offsets, pairs, comparison);
    }
    let (mut keys, mut values) = (pairs.keys.copied()?, pairs.values.copied()?);
    if let (Some(row_offsets), Some(keys), Some(values)) =
        (row_offsets.host_slice(), keys.host_slice_mut(), values.host_slice_mut())
    {
        cpu::sort_pairs_by_offsets::<K, V, O>(row_offsets, keys, values, comparison);
    }
    Ok((keys, values))
}
