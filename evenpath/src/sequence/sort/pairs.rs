//! Sorts of keys with values.

use super::options::SortOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceVec};
use crate::keys::{Comparison, PairValue, SortKey};
use crate::operand::{OpError, Pairs};
use crate::sequence::radix_sort;

/// Sorts pairs by key: `pairs` has n keys and n values, the results n elements each. Values of equal keys keep their
/// order.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (keys, values) = (device.upload(&[3_u32, 1, 2])?, device.upload(&[0.3, 0.1, 0.2])?);
/// let (keys, values) = sort::pairs(Pairs::new(&keys, &values), SortOptions::default())?;
/// assert_eq!((keys.download()?, values.download()?), (vec![1, 2, 3], vec![0.1, 0.2, 0.3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the numbers of keys and values differ, they are on different devices, or the range of bits is invalid. If
/// there is too little memory for the results and the [temporary bytes](pairs_temporary_bytes), or the device was
/// lost.
pub fn pairs<K: SortKey, V: PairValue>(
    pairs: Pairs<'_, K, V>,
    options: SortOptions,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let device = pairs.keys.device();
    pairs.check(device, "values")?;
    let comparison = options.resolve::<K>()?;
    if device.kind() != DeviceKind::Cpu {
        return radix_sort::sort_pairs(pairs, comparison);
    }
    let (mut keys, mut values) = (pairs.keys.copied()?, pairs.values.copied()?);
    sort_on_cpu(&mut keys, &mut values, comparison);
    Ok((keys, values))
}

/// Sorts pairs by key like [`pairs()`], in place: `keys` and `values` have n elements each, before and after. Memory
/// is as for [`keys_in_place`](crate::sort::keys_in_place).
///
/// ```
/// use evenpath::sort::{self, SortOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (mut keys, mut values) = (device.upload(&[3_u32, 1, 2])?, device.upload(&[0.3, 0.1, 0.2])?);
/// sort::pairs_in_place(&mut keys, &mut values, SortOptions::default())?;
/// assert_eq!((keys.download()?, values.download()?), (vec![1, 2, 3], vec![0.1, 0.2, 0.3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`pairs()`].
pub fn pairs_in_place<K: SortKey, V: PairValue>(
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    options: SortOptions,
) -> Result<(), OpError> {
    Pairs::new(keys, values).check(keys.device(), "values")?;
    let comparison = options.resolve::<K>()?;
    if keys.device().kind() != DeviceKind::Cpu {
        return radix_sort::sort_pairs_in_place(keys, values, comparison);
    }
    sort_on_cpu(keys, values, comparison);
    Ok(())
}

/// Bytes of device memory that [`pairs()`] of `len` pairs takes on a GPU beside its operands and results: a second copy
/// of the pairs if there is more than one pass, and some words per tile of thousands of pairs.
///
/// ```
/// use evenpath::sort::{self, SortOptions};
///
/// let bytes = sort::pairs_temporary_bytes::<u32, f64>(1 << 20, SortOptions::default())?;
/// assert!(bytes > 12 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the range of bits is invalid.
pub fn pairs_temporary_bytes<K: SortKey, V: PairValue>(
    len: usize,
    options: SortOptions,
) -> Result<u64, OpError> {
    Ok(radix_sort::temporary_bytes::<K>(len, Some(V::SIZE), options.resolve::<K>()?))
}

fn sort_on_cpu<K: SortKey, V: PairValue>(
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    comparison: Comparison<K::Bits>,
) {
    if let (Some(keys), Some(values)) = (keys.host_slice_mut(), values.host_slice_mut()) {
        cpu::sort_pairs::<K, V>(keys, values, comparison);
    }
}
