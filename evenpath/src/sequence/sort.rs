//! Sorting of vectors of numbers, with or without values, as a whole or by segments: stable, by all bits or
//! by some.
//!
//! On a GPU this is a radix sort (Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
//! for GPUs", 2022): keys and values are read and written once per eight bits. Segments of up to about 2000
//! elements are sorted in shared memory (Dalton et al., IPDPS 2015, section III-C) and are read and written
//! once in total. Longer ones are sorted in parts of that size, which are merged. On the CPU it is a merge
//! sort; long segments use rayon's.

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

/// Order of sorted keys.
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
    /// The largest first. Equal keys keep their order.
    Descending,
}

named! {
    SortOrder, "sort order":
    Ascending = "ascending",
    Descending = "descending",
}

/// Options of sorting.
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
    /// The order; ascending by default.
    pub order: SortOrder,
    /// The bits by which keys are compared, from the first number to one below the second; all of them by
    /// default. Time grows with their number, eight at a time. For signed integers and floats these are bits
    /// of the unsigned integer that has the key's order, so the highest one is the sign.
    pub bits: Option<(u32, u32)>,
}

impl SortOptions {
    /// Sets the order.
    #[must_use]
    pub fn with_order(self, order: SortOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets the bits, of which the lowest is 0. An empty range leaves the keys as they are.
    #[must_use]
    pub fn with_bits(self, bits: Range<u32>) -> Self {
        Self { bits: Some((bits.start, bits.end)), ..self }
    }

    /// Order and bits for keys of type `K`.
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

/// Number of bits of indices below `len`.
pub(crate) fn index_bits(len: usize) -> u32 {
    usize::BITS - len.saturating_sub(1).leading_zeros()
}

/// Sorts the keys into a new vector. Equal keys, including those that differ in other bits only, keep their
/// order.
///
/// Reads and writes the keys once per eight bits. Temporarily takes [`temporary_bytes`] of device memory
/// beside the result.
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
/// If the range of bits is invalid, there is too little memory, or the device was lost.
pub fn sort<K: SortKey>(keys: &DeviceSlice<K>, options: SortOptions) -> Result<DeviceVec<K>, OpError> {
    let comparison = options.resolve::<K>()?;
    if is_kernel_device(keys.device()) {
        return radix_sort::sort_keys(keys, comparison);
    }
    let mut sorted = keys.copied()?;
    cpu_sort(&mut sorted, comparison);
    Ok(sorted)
}

/// Sorts the keys of a vector; otherwise like [`sort`]. On a GPU the vector may move to other memory: it
/// temporarily takes [`temporary_bytes`], and never less than another copy of the keys. If there is too
/// little memory the keys are unchanged.
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

/// Sorts keys with their values into new vectors. Values of equal keys keep their order.
///
/// Temporarily takes [`temporary_bytes_pairs`] of device memory beside the results.
///
/// # Errors
///
/// If the numbers of keys and values differ, or they are on different devices; also the errors of [`sort`].
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

/// Sorts keys with their values; otherwise like [`sort_pairs`], in place like [`sort_in_place`].
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

/// Sorts the keys of each segment into a new vector; segments keep their positions. Equal keys keep their
/// order. Segments are given like the rows of a CSR matrix: row offsets start with 0, do not decrease, and
/// end with the number of keys. Segments may be empty and of different lengths.
///
/// Waits for the device. Temporarily takes at most [`temporary_bytes_by_offsets`] of device memory beside the
/// result.
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
/// If the row offsets are invalid or on another device, there are 2³² keys or more, or the range of bits is
/// invalid; then nothing is written. If there is too little memory, or the device was lost.
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

/// Replaces a vector by the result of [`sort_by_offsets`]. On a GPU it moves to other memory; on failure it
/// is unchanged.
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

/// Sorts the keys of each segment with their values into new vectors; otherwise like [`sort_by_offsets`].
/// Values of equal keys keep their order.
///
/// # Errors
///
/// If the numbers of keys and values differ, or they are on different devices; also the errors of
/// [`sort_by_offsets`].
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

/// Replaces two vectors by the result of [`sort_pairs_by_offsets`], like [`sort_by_offsets_in_place`].
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

/// Like [`sort_pairs_by_offsets`], for row offsets that are known to be those of a matrix with these entries.
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

/// Maximum bytes of device memory that [`sort_by_offsets`] and [`sort_pairs_by_offsets`] of `len` keys in
/// `segments` segments temporarily take on a GPU beside operands and results. Segments of more than about
/// 2000 elements take most of it: one copy of all keys, with 8 bytes beside each. Without such segments it is
/// a bit per key, and some words per tile.
///
/// # Errors
///
/// If the range of bits is invalid.
pub fn temporary_bytes_by_offsets<K: SortKey>(
    segments: usize,
    len: usize,
    options: SortOptions,
) -> Result<u64, OpError> {
    Ok(segmented_radix_sort::temporary_bytes::<K>(segments, len, options.resolve::<K>()?))
}

/// Bytes of device memory that [`sort`] of `len` keys temporarily takes on a GPU beside keys and result: a
/// second copy of the keys if there is more than one pass, and some words per tile of thousands of keys.
///
/// # Errors
///
/// If the range of bits is invalid.
pub fn temporary_bytes<K: SortKey>(len: usize, options: SortOptions) -> Result<u64, OpError> {
    Ok(radix_sort::temporary_bytes::<K>(len, None, options.resolve::<K>()?))
}

/// Bytes of device memory that [`sort_pairs`] of `len` pairs temporarily takes on a GPU beside operands and
/// results.
///
/// # Errors
///
/// If the range of bits is invalid.
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

/// Checks segments of keys before a sort, and returns their comparison.
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
