//! Radix sort of segments on devices that run kernels. Segments that fit a tile are sorted in one block each, or several
//! in one; the elements of longer ones are collected and sorted by key, then by segment, by the passes of onesweep.
//!
//! Elements are cut into windows. The segments that begin in a window are its block's, together where they fit a tile,
//! so work is even however many segments there are. How many elements are in longer ones is known on the device alone:
//! the host waits once for their number.

use bytemuck::Pod;
use evenpath_kernels::block::radix_rank::{KeyOrder, RadixKey};
use evenpath_kernels::block::radix_sort::bits_of;
use evenpath_kernels::reduce::MarkRows;
use evenpath_kernels::sort::{
    CollectSegments, CutSegments, LongSegments, PlaceSegmentKeys, PlaceSegmentValues, SegmentTiles,
    SortSegmentKeys, SortSegmentPairs,
};
use evenpath_simt::kernel::Kernel;

use super::radix_sort::{self, Pairs, in_place_bytes, input, output, sort_bits_in_place};
use super::row_marks::RowMarks;
use super::scan::{self, Operator, Scan, sum_kernel};
use super::{OpError, copy, instance};
use crate::Offset;
use crate::device::{Device, DeviceVec, Kernels};
use crate::element::{Comparison, Key, MovedValue, SortKey, SortValue};

/// Elements of a window in quarters of a tile. The rest is room for the last segment that begins in it.
const WINDOW_QUARTERS: usize = 3;

/// Sorts the keys of each segment. The row offsets are valid, and there are fewer than 2³² keys.
pub(super) fn sort_keys<K: SortKey, O: Offset>(
    row_offsets: &DeviceVec<O>,
    keys: &DeviceVec<K>,
    comparison: Comparison<<K as Key>::Bits>,
) -> Result<DeviceVec<K>, OpError> {
    let (device, len) = (keys.device(), keys.len());
    if len < 2 || comparison.passes().count() == 0 {
        return copy(keys);
    }
    device.prepare(kernels::<SortSegmentKeys<<K as Key>::Bits>, O>)?;
    let cut = Cut::new(row_offsets, len, tile_items::<<K as Key>::Bits>())?;
    if cut.is_one_long_segment(len) {
        return radix_sort::sort_keys(keys, comparison);
    }
    let mut sorted = device.uninitialized(len)?;
    let marks = RowMarks::new(row_offsets, len)?;
    let launch = device.kernel().blocks(cut.parts.len())?;
    let kernel = SortSegmentKeys {
        keys: input(keys),
        sorted_keys: output(&mut sorted),
        segments: cut.tiles(&marks, comparison),
    };
    // SAFETY: the parts are within the keys, disjoint, of whole segments and no longer than a tile; there is a mark per key,
    // and one where each part begins. Buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    drop(marks);
    if cut.long_elements > 0 {
        Collected::new(&cut, keys, comparison)?.place_keys(&cut, &mut sorted)?;
    }
    Ok(sorted)
}

/// Sorts the keys of each segment, with their values; otherwise as [`sort_keys`].
pub(super) fn sort_pairs<K: SortKey, V: SortValue, O: Offset>(
    row_offsets: &DeviceVec<O>,
    Pairs { keys, values }: Pairs<'_, K, V>,
    comparison: Comparison<<K as Key>::Bits>,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let (device, len) = (keys.device(), keys.len());
    if len < 2 || comparison.passes().count() == 0 {
        return Ok((copy(keys)?, copy(values)?));
    }
    device.prepare(kernels::<SortSegmentPairs<<K as Key>::Bits, <V as MovedValue>::Bits>, O>)?;
    let cut = Cut::new(row_offsets, len, tile_items::<<K as Key>::Bits>())?;
    if cut.is_one_long_segment(len) {
        return radix_sort::sort_pairs(Pairs { keys, values }, comparison);
    }
    let (mut sorted_keys, mut sorted_values) = (device.uninitialized(len)?, device.uninitialized(len)?);
    let marks = RowMarks::new(row_offsets, len)?;
    let launch = device.kernel().blocks(cut.parts.len())?;
    let kernel = SortSegmentPairs::<_, <V as MovedValue>::Bits> {
        keys: input(keys),
        sorted_keys: output(&mut sorted_keys),
        values: input(values),
        sorted_values: output(&mut sorted_values),
        segments: cut.tiles(&marks, comparison),
    };
    // SAFETY: as in `sort_keys`; there is a value per key.
    unsafe { launch.launch(kernel) }?;
    drop(marks);
    if cut.long_elements > 0 {
        let collected = Collected::new(&cut, keys, comparison)?;
        collected.place_keys(&cut, &mut sorted_keys)?;
        collected.place_values(&cut, values, &mut sorted_values)?;
    }
    Ok((sorted_keys, sorted_values))
}

/// The most bytes of device memory that a sort of `len` keys, or pairs, in `segments` segments takes beside operands and results.
pub(super) fn temporary_bytes<K: SortKey>(
    segments: usize,
    len: usize,
    comparison: Comparison<<K as Key>::Bits>,
) -> u64 {
    let passes = comparison.passes().count();
    if len < 2 || passes == 0 {
        return 0;
    }
    let capacity = tile_items::<<K as Key>::Bits>();
    let windows = window_count(len, capacity);
    // Two parts, one word about a long segment, and the sum of these.
    let cut = 8 * (4 * windows as u64 + 2);
    let scan = scan::temporary_bytes::<u64>(windows + 1);
    let most_long = segments.min(len / (capacity + 1));
    if most_long == 0 {
        return cut + scan.max(RowMarks::bytes(segments, len));
    }
    let pairs = len.saturating_mul(K::SIZE + 8) as u64;
    let by_key = in_place_bytes::<<K as Key>::Bits, u64>(len, comparison);
    let by_segment = in_place_bytes::<u64, <K as Key>::Bits>(len, by_segment(most_long as u32));
    let collected = pairs.saturating_add(by_key.max(by_segment));
    cut + scan.max(RowMarks::bytes(segments, len)).max(collected)
}

/// Elements of a tile, with values or without.
fn tile_items<B: RadixKey>() -> usize {
    instance::<SortSegmentKeys<B>>().tile_items()
}

fn window_items(capacity: usize) -> usize {
    capacity / 4 * WINDOW_QUARTERS
}

fn window_count(len: usize, capacity: usize) -> usize {
    len.div_ceil(window_items(capacity))
}

/// The kernels that every sort by the tile kernel `T` takes, to be compiled ahead.
fn kernels<T: Kernel, O: Offset>() -> Kernels {
    sum_kernel::<u64>().and::<CutSegments<O>>().and::<MarkRows<O>>().and::<T>()
}

/// How origins of `segments` collected segments are sorted by segment.
fn by_segment(segments: u32) -> Comparison<u64> {
    Comparison { order: KeyOrder::UNSIGNED, begin: 32, end: 32 + bits_of(segments - 1) }
}

/// Segments cut into parts that fit tiles, and those that are longer than a tile.
struct Cut {
    /// Two per window: see [`CutSegments`].
    parts: DeviceVec<u64>,
    /// For each window the long segments, and their elements, in those before: see [`LongSegments`].
    long_before: DeviceVec<u64>,
    windows: u32,
    long_segments: u32,
    long_elements: u32,
}

impl Cut {
    /// From valid row offsets of `len` elements, for tiles of `capacity`. Waits for the device.
    fn new<O: Offset>(row_offsets: &DeviceVec<O>, len: usize, capacity: usize) -> Result<Self, OpError> {
        let device = row_offsets.device();
        let windows = window_count(len, capacity);
        let launch = device.kernel().threads(windows + 1)?;
        let mut parts = device.uninitialized(2 * windows)?;
        let mut long = device.uninitialized(windows + 1)?;
        let kernel = CutSegments {
            row_offsets: row_offsets.as_global(),
            parts: parts.as_global_mut(),
            long: long.as_global_mut(),
            rows: (row_offsets.len() - 1) as u32,
            len: len as u32,
            windows: windows as u32,
            window: window_items(capacity) as u32,
            capacity: capacity as u32,
        };
        // SAFETY: the row offsets are valid, there are two parts per window and one word more than windows, and buffers
        // are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let long_before = Scan::exclusive(Operator::Sum).run(&long)?;
        let total = long_before.get(windows)?;
        Ok(Self {
            parts,
            long_before,
            windows: windows as u32,
            long_segments: (total >> 32) as u32,
            long_elements: total as u32,
        })
    }

    /// Whether all of `len` elements are in one segment that is longer than a tile.
    fn is_one_long_segment(&self, len: usize) -> bool {
        self.long_segments == 1 && self.long_elements as usize == len
    }

    /// The segments that fit tiles, as kernels take them.
    fn tiles<B: RadixKey>(&self, marks: &RowMarks, comparison: Comparison<B>) -> SegmentTiles<B> {
        let Comparison { order, begin, end } = comparison;
        let (parts, heads) = (self.parts.as_global(), marks.bits.as_global());
        SegmentTiles { parts, heads, order, begin, end }
    }

    /// The segments that do not, as kernels take them.
    fn long(&self) -> LongSegments {
        LongSegments {
            before: self.long_before.as_global(),
            parts: self.parts.as_global(),
            windows: self.windows,
            len: self.long_elements,
        }
    }
}

/// The keys of long segments, sorted by segment and key.
struct Collected<B: Pod> {
    device: Device,
    keys: DeviceVec<B>,
    /// Where each was before, in the low half, and the number of its segment.
    origins: DeviceVec<u64>,
}

impl<B: RadixKey + Pod> Collected<B> {
    fn new<K: SortKey + Key<Bits = B>>(
        cut: &Cut,
        keys: &DeviceVec<K>,
        comparison: Comparison<B>,
    ) -> Result<Self, OpError> {
        let (device, len) = (keys.device(), cut.long_elements as usize);
        let launch = device.kernel().items(len)?;
        let mut collected = device.uninitialized::<B>(len)?;
        let mut origins = device.uninitialized::<u64>(len)?;
        let kernel = CollectSegments {
            keys: input(keys),
            collected: collected.as_global_mut(),
            origins: origins.as_global_mut(),
            segments: cut.long(),
        };
        // SAFETY: the long segments are within the keys and have `len` elements; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        sort_bits_in_place::<B, B, u64, u64>(&mut collected, &mut origins, comparison)?;
        let by_segment = by_segment(cut.long_segments);
        sort_bits_in_place::<u64, u64, B, B>(&mut origins, &mut collected, by_segment)?;
        Ok(Self { device: device.clone(), keys: collected, origins })
    }

    /// Writes the keys of long segments.
    fn place_keys<K: SortKey + Key<Bits = B>>(
        &self,
        cut: &Cut,
        sorted: &mut DeviceVec<K>,
    ) -> Result<(), OpError> {
        let launch = self.device.kernel().items(self.keys.len())?;
        let kernel = PlaceSegmentKeys {
            collected: self.keys.as_global(),
            sorted_keys: output(sorted),
            segments: cut.long(),
        };
        // SAFETY: the long segments are within the keys, and there are as many collected keys as they have elements.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }

    /// Writes the values of long segments.
    fn place_values<V: SortValue>(
        &self,
        cut: &Cut,
        values: &DeviceVec<V>,
        sorted: &mut DeviceVec<V>,
    ) -> Result<(), OpError> {
        let launch = self.device.kernel().items(self.origins.len())?;
        let kernel = PlaceSegmentValues::<<V as MovedValue>::Bits> {
            values: input(values),
            origins: self.origins.as_global(),
            sorted_values: output(sorted),
            segments: cut.long(),
        };
        // SAFETY: as in `place_keys`; the origins are places of keys, each of which has a value.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}
