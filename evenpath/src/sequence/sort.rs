//! Sorting vectors of numbers, with or without values that belong to them, as a whole or by segments: stable, by all bits
//! or by some.
//!
//! On a GPU this is a radix sort (Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs",
//! 2022): keys and values are read and written once for each eight bits. Segments of up to about 2000 elements are sorted
//! in shared memory (Dalton et al., IPDPS 2015, section III-C): these are read and written once in all. Longer ones are
//! sorted in parts of that size, which are merged. On the CPU it is a merge sort, rayon's where a segment is long.

use std::ops::Range;

use evenpath_kernels::block::radix_rank::{KeyOrder, RadixKey};

use super::radix_sort::{self, Pairs};
use super::row_marks::check_row_offsets;
use super::scan::check_countable;
use super::segmented_radix_sort;
use crate::cpu;
use crate::device::{Device, DeviceKind, DeviceSlice, DeviceVec};
use crate::names::named;
use crate::operand::OpError;
use crate::operand::check::check_len;
use crate::scalar::Offset;
use evenpath_simt::Element as _;

use crate::element::Comparison;
pub use crate::element::{SortKey, SortValue};

/// The order that keys are sorted in.
///
/// ```
/// use evenpath::sort::{SortOptions, SortOrder, sort};
/// use evenpath::Device;
///
/// let keys = Device::cpu().upload(&[2_u32, 9, 4])?;
/// let descending = SortOptions::default().with_order(SortOrder::Descending);
/// assert_eq!(sort(&keys, descending)?.download()?, [9, 4, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SortOrder {
    /// The smallest first.
    #[default]
    Ascending,
    /// The largest first. Equal keys keep their order here too.
    Descending,
}

named! {
    SortOrder, "sort order":
    Ascending = "ascending",
    Descending = "descending",
}

/// How keys are sorted.
///
/// ```
/// use evenpath::sort::{SortOptions, SortOrder};
///
/// let options = SortOptions::default().with_order(SortOrder::Descending).with_bits(0..8);
/// assert_eq!((options.order, options.bits), (SortOrder::Descending, Some((0, 8))));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct SortOptions {
    /// Ascending, unless set.
    pub order: SortOrder,
    /// The bits that keys are compared by, from the first number to one below the second; all of them by default. Time grows with their number, eight at a time.
    /// Of signed integers and floats these are the bits of the unsigned integer that sorts as the key does, so the
    /// highest one tells the sign.
    pub bits: Option<(u32, u32)>,
}

impl SortOptions {
    /// The same, in this order.
    #[must_use]
    pub fn with_order(self, order: SortOrder) -> Self {
        Self { order, ..self }
    }

    /// The same, by these bits only, the lowest being 0. An empty range leaves the keys as they are.
    #[must_use]
    pub fn with_bits(self, bits: Range<u32>) -> Self {
        Self { bits: Some((bits.start, bits.end)), ..self }
    }

    /// The order and bits for keys of type `K`.
    fn resolve<K: SortKey>(self) -> Result<Comparison<K::Bits>, OpError> {
        let width = K::Bits::BITS;
        let (begin, end) = self.bits.unwrap_or((0, width));
        if begin > end || end > width {
            return Err(OpError::BitRange { begin, end, width });
        }
        let KeyOrder { flip_negative, flip } = K::ORDER;
        let flip = match self.order {
            SortOrder::Ascending => flip,
            SortOrder::Descending => K::Bits::from_bits(!flip.to_bits()),
        };
        Ok(Comparison { order: KeyOrder { flip_negative, flip }, begin, end })
    }
}

/// Bits of indices below `len`.
pub(crate) fn index_bits(len: usize) -> u32 {
    usize::BITS - len.saturating_sub(1).leading_zeros()
}

/// The keys, sorted, in a new vector. Equal keys, also those that differ in other bits only, keep their order.
///
/// Reads and writes the keys once for each eight bits. Beside the result it takes
/// [`temporary_bytes`] of device memory while it runs.
///
/// ```
/// use evenpath::{Device, sort};
///
/// let device = Device::cpu();
/// let keys = device.upload(&[3.0, -1.0, 2.0])?;
/// let sorted = sort::sort(&keys, sort::SortOptions::default())?;
/// assert_eq!(sorted.download()?, [-1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the bits are none of the key's, there is too little memory, or the device was lost.
pub fn sort<K: SortKey>(keys: &DeviceSlice<K>, options: SortOptions) -> Result<DeviceVec<K>, OpError> {
    let comparison = options.resolve::<K>()?;
    if is_kernel_device(keys.device()) {
        return radix_sort::sort_keys(keys, comparison);
    }
    let mut sorted = keys.copied()?;
    cpu_sort(&mut sorted, comparison);
    Ok(sorted)
}

/// Sorts the keys of a vector; otherwise like [`sort`]. On a GPU the vector may end in other memory than it
/// began: it takes [`temporary_bytes`], and never less than another copy of the keys, while it runs. If there
/// is too little memory the keys are as before.
///
/// # Errors
///
/// The same as for [`sort`].
pub fn sort_in_place<K: SortKey>(keys: &mut DeviceVec<K>, options: SortOptions) -> Result<(), OpError> {
    let comparison = options.resolve::<K>()?;
    if is_kernel_device(keys.device()) {
        return radix_sort::sort_keys_in_place(keys, comparison);
    }
    cpu_sort(keys, comparison);
    Ok(())
}

/// Keys and the values that belong to them, sorted by key, in new vectors. Values of equal keys keep their order.
///
/// Beside the results it takes [`temporary_bytes_pairs`] of device memory while it runs.
///
/// # Errors
///
/// If there are not as many values as keys, they are on different devices, and as for [`sort`].
pub fn sort_pairs<K: SortKey, V: SortValue>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<V>,
    options: SortOptions,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    check_pairs(keys, values)?;
    let comparison = options.resolve::<K>()?;
    if is_kernel_device(keys.device()) {
        return radix_sort::sort_pairs(Pairs { keys, values }, comparison);
    }
    let (mut keys, mut values) = (keys.copied()?, values.copied()?);
    cpu_sort_pairs(&mut keys, &mut values, comparison);
    Ok((keys, values))
}

/// Sorts keys and the values that belong to them; otherwise like [`sort_pairs`], in place as
/// [`sort_in_place`].
///
/// # Errors
///
/// The same as for [`sort_pairs`].
pub fn sort_pairs_in_place<K: SortKey, V: SortValue>(
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    options: SortOptions,
) -> Result<(), OpError> {
    check_pairs(keys, values)?;
    let comparison = options.resolve::<K>()?;
    if is_kernel_device(keys.device()) {
        return radix_sort::sort_pairs_in_place(keys, values, comparison);
    }
    cpu_sort_pairs(keys, values, comparison);
    Ok(())
}

/// The keys of each segment, sorted, in a new vector; segments keep their places. Equal keys keep their order. Segments
/// are given as the rows of a CSR matrix: row offsets begin with 0, do not decrease, and end with the number of keys.
/// There may be empty ones, and their lengths need not be alike.
///
/// Waits for the device. Beside the result it takes at most [`temporary_bytes_by_offsets`] of device memory while it runs.
///
/// ```
/// use evenpath::sort::{SortOptions, sort_by_offsets};
/// use evenpath::Device;
///
/// let device = Device::best()?;
/// let row_offsets = device.upload(&[0_u32, 3, 3, 5])?;
/// let keys = device.upload(&[3.0, -1.0, 2.0, 9.0, 4.0])?;
/// let sorted = sort_by_offsets(&row_offsets, &keys, SortOptions::default())?;
/// assert_eq!(sorted.download()?, [-1.0, 2.0, 3.0, 4.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the row offsets are not so, or on another device, there are 2³² keys or more, or the bits are none of
/// the key's; then nothing is written. If there is too little memory, or the device was lost.
pub fn sort_by_offsets<K: SortKey, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    keys: &DeviceSlice<K>,
    options: SortOptions,
) -> Result<DeviceVec<K>, OpError> {
    let comparison = check_segments(row_offsets, keys, options)?;
    if is_kernel_device(keys.device()) {
        return segmented_radix_sort::sort_keys(row_offsets, keys, comparison);
    }
    let mut sorted = keys.copied()?;
    if let (Some(row_offsets), Some(sorted)) = (row_offsets.host_slice(), sorted.host_slice_mut()) {
        cpu::sort_by_offsets::<K, O>(row_offsets, sorted, comparison);
    }
    Ok(sorted)
}

/// Replaces a vector by the result of [`sort_by_offsets`]. On a GPU it is then in other memory; on failure it is as before.
///
/// # Errors
///
/// The same as for [`sort_by_offsets`].
pub fn sort_by_offsets_in_place<K: SortKey, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    keys: &mut DeviceVec<K>,
    options: SortOptions,
) -> Result<(), OpError> {
    let sorted = sort_by_offsets(row_offsets, keys, options)?;
    *keys = sorted;
    Ok(())
}

/// The keys of each segment and the values that belong to them, sorted by key, in new vectors; otherwise like
/// [`sort_by_offsets`]. Values of equal keys keep their order.
///
/// # Errors
///
/// If there are not as many values as keys or they are on different devices, and as for [`sort_by_offsets`].
pub fn sort_pairs_by_offsets<K: SortKey, V: SortValue, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<V>,
    options: SortOptions,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    check_pairs(keys, values)?;
    check_segments(row_offsets, keys, options)?;
    sort_valid_pairs(row_offsets, Pairs { keys, values }, options)
}

/// Replaces two vectors by the result of [`sort_pairs_by_offsets`], as [`sort_by_offsets_in_place`].
///
/// # Errors
///
/// The same as for [`sort_pairs_by_offsets`].
pub fn sort_pairs_by_offsets_in_place<K: SortKey, V: SortValue, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    options: SortOptions,
) -> Result<(), OpError> {
    let (sorted_keys, sorted_values) = sort_pairs_by_offsets(row_offsets, keys, values, options)?;
    *keys = sorted_keys;
    *values = sorted_values;
    Ok(())
}

/// [`sort_pairs_by_offsets`] where the row offsets are known to be those of a matrix with these entries.
pub(crate) fn sort_valid_pairs<K: SortKey, V: SortValue, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    pairs: Pairs<'_, K, V>,
    options: SortOptions,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let comparison = options.resolve::<K>()?;
    check_countable(SEGMENTED, pairs.keys.len())?;
    if is_kernel_device(pairs.keys.device()) {
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

/// The most bytes of device memory that [`sort_by_offsets`] and [`sort_pairs_by_offsets`] of `len` keys in `segments` segments
/// take on a GPU while they run, beside operands and results. Segments of more than about 2000 elements take most of it: one
/// copy of all keys, with 8 bytes beside each. Without such segments it is a bit per key, and some
/// words per tile.
///
/// # Errors
///
/// If the bits are none of the key's.
pub fn temporary_bytes_by_offsets<K: SortKey>(
    segments: usize,
    len: usize,
    options: SortOptions,
) -> Result<u64, OpError> {
    Ok(segmented_radix_sort::temporary_bytes::<K>(segments, len, options.resolve::<K>()?))
}

/// Bytes of device memory that [`sort`] of `len` keys takes on a GPU while it runs, beside keys and result: a second
/// copy of the keys where there is more than one pass, and some words per tile of thousands of keys.
///
/// # Errors
///
/// If the bits are none of the key's.
pub fn temporary_bytes<K: SortKey>(len: usize, options: SortOptions) -> Result<u64, OpError> {
    Ok(radix_sort::temporary_bytes::<K>(len, None, options.resolve::<K>()?))
}

/// Bytes of device memory that [`sort_pairs`] of `len` pairs takes on a GPU while it runs, beside operands and results.
///
/// # Errors
///
/// If the bits are none of the key's.
pub fn temporary_bytes_pairs<K: SortKey, V: SortValue>(
    len: usize,
    options: SortOptions,
) -> Result<u64, OpError> {
    Ok(radix_sort::temporary_bytes::<K>(len, Some(V::SIZE), options.resolve::<K>()?))
}

fn is_kernel_device(device: &Device) -> bool {
    device.kind() != DeviceKind::Cpu
}

fn check_pairs<K: SortKey, V: SortValue>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<V>,
) -> Result<(), OpError> {
    keys.device().check_same(values.device())?;
    check_len("values", values.len(), keys.len())
}

/// Name of a sort of too many elements, for errors.
const SEGMENTED: &str = "a sort by segments";

/// Checks segments of keys before a sort, and how they are to be compared.
fn check_segments<K: SortKey, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    keys: &DeviceSlice<K>,
    options: SortOptions,
) -> Result<Comparison<K::Bits>, OpError> {
    let comparison = options.resolve::<K>()?;
    check_countable(SEGMENTED, keys.len())?;
    check_row_offsets(row_offsets, keys)?;
    Ok(comparison)
}

fn cpu_sort<K: SortKey>(keys: &mut DeviceVec<K>, comparison: Comparison<K::Bits>) {
    if let Some(keys) = keys.host_slice_mut() {
        cpu::sort::<K>(keys, comparison);
    }
}

fn cpu_sort_pairs<K: SortKey, V: SortValue>(
    keys: &mut DeviceVec<K>,
    values: &mut DeviceVec<V>,
    comparison: Comparison<K::Bits>,
) {
    if let (Some(keys), Some(values)) = (keys.host_slice_mut(), values.host_slice_mut()) {
        cpu::sort_pairs::<K, V>(keys, values, comparison);
    }
}
