//! Merges of two sorted sequences.
//!
//! `a` has m elements and `b` n, keys with or without values; the result has m + n.
//!
//! ```
//! use evenpath::key::Pairs;
//! use evenpath::{Device, merge};
//!
//! let device = Device::best()?;
//! let (a, b) = (device.upload(&[1_u32, 3, 3])?, device.upload(&[2_u32, 3])?);
//! assert_eq!(merge::keys(&a, &b)?.download()?, [1, 2, 3, 3, 3]);
//!
//! let (x, y) = (device.upload(&[0.1, 0.2, 0.3])?, device.upload(&[1.1, 1.2])?);
//! let (_, values) = merge::pairs(Pairs::new(&a, &x), Pairs::new(&b, &y))?;
//! assert_eq!(values.download()?, [0.1, 1.1, 0.2, 0.3, 1.2]);
//! # Ok::<(), evenpath::Error>(())
//! ```
//!
//! A function returns new vectors; with `_into` it writes to existing ones, and with `_temporary_bytes` it
//! returns the memory that it takes beside its operands.
//!
//! Stable: equal keys of A come before those of B, and each input's keys keep their order. (row, column) tuples are
//! packed into keys by [`coordinate`](crate::key::coordinate).
//!
//! The inputs must be sorted, which [`sets::check_sorted`](crate::sets::check_sorted) checks. If they are
//! not, the result is an unspecified sequence of the same length, and no other memory is written.
//!
//! Method: merge path (Green, `McColl`, Bader, "GPU Merge Path", ICS 2012): tiles of equal work for any keys.

use evenpath_kernels::block::two_sequences::Sequences;
use evenpath_kernels::merge::{MergeKeys, MergeKeysPartition, MergePairs};
use evenpath_simt::kernel::KernelInfo;
use evenpath_simt::{Aligned16, GlobalMut};

use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, instance};
use crate::keys::{Key, PairValue};
use crate::operand::OpError;
use crate::operand::aligned::{Aligned, write_aligned};
use crate::operand::check::check_len;
use crate::operand::pairs::Pairs;

/// Merges keys: `a` has m sorted keys, `b` n, the result m + n. The call does not wait for the device.
///
/// ```
/// use evenpath::{Device, merge};
///
/// let device = Device::cpu();
/// let (a, b) = (device.upload(&[1_u32, 3])?, device.upload(&[2_u32, 3, 4])?);
/// assert_eq!(merge::keys(&a, &b)?.download()?, [1, 2, 3, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the inputs are on different devices, there is too little memory for the result and the [temporary
/// bytes](keys_temporary_bytes), or the device was lost.
pub fn keys<K: Key>(a: &DeviceSlice<K>, b: &DeviceSlice<K>) -> Result<DeviceVec<K>, OpError> {
    a.device().check_same(b.device())?;
    let mut merged = a.device().uninitialized(a.len() + b.len())?;
    keys_into(a, b, &mut merged)?;
    Ok(merged)
}

/// Merges keys like [`keys()`], into an existing vector: `a` has m sorted keys, `b` n, `merged` m + n.
///
/// ```
/// use evenpath::{Device, merge};
///
/// let device = Device::cpu();
/// let (a, b) = (device.upload(&[1_u32, 3])?, device.upload(&[2_u32, 3, 4])?);
/// let mut merged = device.zeros(5)?;
/// merge::keys_into(&a, &b, &mut merged)?;
/// assert_eq!(merged.download()?, [1, 2, 3, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `merged` has a different length; then nothing is written. Otherwise the same as for [`keys()`].
pub fn keys_into<K: Key>(
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
    merged: &mut DeviceSlice<K>,
) -> Result<(), OpError> {
    let device = a.device();
    device.check_same(b.device())?;
    device.check_same(merged.device())?;
    check_len("merged", merged.len(), a.len() + b.len())?;
    if device.kind() == DeviceKind::Cpu {
        if let (Some(a), Some(b), Some(merged)) = (a.host_slice(), b.host_slice(), merged.host_slice_mut()) {
            cpu::merge_keys(a, b, merged);
        }
        return Ok(());
    }
    write_aligned(merged, |merged| launch_keys(&Aligned::new(a)?, &Aligned::new(b)?, merged))
}

fn launch_keys<K: Key>(
    a: &Aligned<'_, K>,
    b: &Aligned<'_, K>,
    merged: GlobalMut<K, Aligned16>,
) -> Result<(), OpError> {
    let launch = a.device().kernel::<MergeKeys<K>>().items(a.len() + b.len())?;
    let starts = partition(a, b, launch.info(), launch.grid())?;
    let kernel = MergeKeys { inputs: sequences(a, b), starts: starts.as_global(), merged };
    // SAFETY: the views are of buffers on this device whose lengths were checked; `starts` has one element more than
    // there are tiles, each inside the inputs whatever these hold; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Merges pairs by key: `a` has m pairs with sorted keys, `b` n, the results m + n elements each. The call does not wait
/// for the device.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::{Device, merge};
///
/// let device = Device::cpu();
/// let (a, x) = (device.upload(&[1_u32, 3])?, device.upload(&[0.1, 0.3])?);
/// let (b, y) = (device.upload(&[2_u32, 3])?, device.upload(&[1.2, 1.3])?);
/// let (keys, values) = merge::pairs(Pairs::new(&a, &x), Pairs::new(&b, &y))?;
/// assert_eq!((keys.download()?, values.download()?), (vec![1, 2, 3, 3], vec![0.1, 1.2, 0.3, 1.3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the inputs are on different devices, the numbers of keys and values differ, there is too little memory
/// for the result and the [temporary bytes](pairs_temporary_bytes), or the device was lost.
pub fn pairs<K: Key, V: PairValue>(
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let device = a.keys.device();
    a.check(device, "values of a")?;
    b.check(device, "values of b")?;
    let len = a.keys.len() + b.keys.len();
    let (mut keys, mut values) = (device.uninitialized(len)?, device.uninitialized(len)?);
    pairs_into(a, b, &mut keys, &mut values)?;
    Ok((keys, values))
}

/// Merges pairs by key like [`pairs()`], into existing vectors: `a` has m pairs with sorted keys, `b` n, `keys` and
/// `values` m + n elements each.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::{Device, merge};
///
/// let device = Device::cpu();
/// let (a, x) = (device.upload(&[1_u32, 3])?, device.upload(&[0.1, 0.3])?);
/// let (b, y) = (device.upload(&[2_u32, 3])?, device.upload(&[1.2, 1.3])?);
/// let (mut keys, mut values) = (device.zeros(4)?, device.zeros(4)?);
/// merge::pairs_into(Pairs::new(&a, &x), Pairs::new(&b, &y), &mut keys, &mut values)?;
/// assert_eq!((keys.download()?, values.download()?), (vec![1, 2, 3, 3], vec![0.1, 1.2, 0.3, 1.3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If an output has a different length; then nothing is written. Otherwise the same as for [`pairs()`].
pub fn pairs_into<K: Key, V: PairValue>(
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
    keys: &mut DeviceSlice<K>,
    values: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    let device = a.keys.device();
    a.check(device, "values of a")?;
    b.check(device, "values of b")?;
    device.check_same(keys.device())?;
    device.check_same(values.device())?;
    let len = a.keys.len() + b.keys.len();
    check_len("keys", keys.len(), len)?;
    check_len("values", values.len(), len)?;
    if device.kind() == DeviceKind::Cpu {
        let outputs = keys.host_slice_mut().zip(values.host_slice_mut());
        if let (Some(a), Some(b), Some((keys, values))) = (a.host(), b.host(), outputs) {
            cpu::merge_pairs(a, b, keys, values);
        }
        return Ok(());
    }
    let a = (&Aligned::new(a.keys)?, &Aligned::new(a.values)?);
    let b = (&Aligned::new(b.keys)?, &Aligned::new(b.values)?);
    write_aligned(keys, |keys| write_aligned(values, |values| launch_pairs(a, b, keys, values)))
}

/// Keys and their values.
type AlignedPairs<'a, K, V> = (&'a Aligned<'a, K>, &'a Aligned<'a, V>);

fn launch_pairs<K: Key, V: PairValue>(
    (a_keys, a_values): AlignedPairs<'_, K, V>,
    (b_keys, b_values): AlignedPairs<'_, K, V>,
    keys: GlobalMut<K, Aligned16>,
    values: GlobalMut<V, Aligned16>,
) -> Result<(), OpError> {
    let launch = a_keys.device().kernel::<MergePairs<K, V::Bits>>().items(a_keys.len() + b_keys.len())?;
    let starts = partition(a_keys, b_keys, launch.info(), launch.grid())?;
    let kernel = MergePairs {
        inputs: sequences(a_keys, b_keys),
        a_values: a_values.view().reinterpret(),
        b_values: b_values.view().reinterpret(),
        starts: starts.as_global(),
        keys,
        values: values.reinterpret(),
    };
    // SAFETY: as for keys alone; there are as many values as keys, of the width that the kernel expects.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Bytes of device memory that [`keys()`] takes on a GPU beside its operands and result: 8 per tile of about 3000 keys or
/// more.
///
/// ```
/// assert!(evenpath::merge::keys_temporary_bytes::<u32>(1 << 20, 1000) < 1 << 20);
/// ```
pub fn keys_temporary_bytes<K: Key>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<MergeKeys<K>>(), (a_len as u64).saturating_add(b_len as u64))
}

/// Bytes of device memory that [`pairs()`] takes on a GPU beside its operands and results: 8 per tile of about 3000 pairs
/// or more.
///
/// ```
/// assert!(evenpath::merge::pairs_temporary_bytes::<u32, f64>(1 << 20, 1000) < 1 << 20);
/// ```
pub fn pairs_temporary_bytes<K: Key, V: PairValue>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<MergePairs<K, V::Bits>>(), (a_len as u64).saturating_add(b_len as u64))
}

fn temporary_bytes(info: &KernelInfo, elements: u64) -> u64 {
    (elements.div_ceil(info.tile_items() as u64) + 1) * 8
}

/// Both inputs as kernel arguments.
pub(crate) fn sequences<K: evenpath_kernels::Key + bytemuck::Pod>(
    a: &Aligned<'_, K>,
    b: &Aligned<'_, K>,
) -> Sequences<K> {
    Sequences { a: a.view(), b: b.view(), a_len: a.len() as u64, b_len: b.len() as u64 }
}

/// Divides the merge into `tiles` tiles of a kernel: the number of elements of A before each.
fn partition<K: Key>(
    a: &Aligned<'_, K>,
    b: &Aligned<'_, K>,
    info: &KernelInfo,
    tiles: u32,
) -> Result<DeviceVec<u64>, OpError> {
    let device = a.device();
    let launch = device.kernel::<MergeKeysPartition<K>>().threads(tiles as usize + 1)?;
    let mut starts = device.uninitialized(tiles as usize + 1)?;
    let kernel = MergeKeysPartition {
        inputs: sequences(a, b),
        starts: starts.as_global_mut(),
        tiles,
        tile_items: info.tile_items() as u32,
    };
    // SAFETY: the views are of live buffers on this device, `starts` with one element more than there are tiles.
    unsafe { launch.launch(kernel) }?;
    Ok(starts)
}
