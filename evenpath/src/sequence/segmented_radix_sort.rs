//! Sorts of segments on devices that run kernels. Segments that fit a tile are sorted in one block each, or several in one:
//! short ones by counting, others by radix. The tiles of longer segments are sorted the same way, and then merged.
//!
//! Elements are divided into chunks. A block sorts the segments that start in its chunk, together if they
//! fit a tile, so work is even for any number of segments. Only the device knows the number of tiles of
//! longer segments: the host waits once for it.

use evenpath_kernels::block::radix_rank::{KeyOrder, RadixKey};
use evenpath_kernels::sort::{
    CutSegments, ListRuns, MarkSegments, MergeRound, MergeRunKeys, MergeRunPairs, SegmentTiles,
    SortSegmentKeys, SortSegmentPairs, Targets, merge_rounds,
};
use evenpath_simt::kernel::Kernel;
use evenpath_simt::{Element, GlobalMut};

use super::radix_sort::{self, input, output};
use super::scan::{self, ScanOptions, sum_kernel};
use crate::Offset;
use crate::device::{Device, DeviceSlice, DeviceVec, Kernels, instance, read_only};
use crate::keys::{Comparison, PairValue, SortKey};
use crate::operand::{OpError, Pairs};
use crate::operation::Operator;

/// Length of a chunk in quarters of a tile. The rest is room for the last segment that starts in it.
const CHUNK_QUARTERS: usize = 3;

/// Maximum length of a segment that is sorted by counting.
const MOST_COUNTED: u32 = 32;

/// Sorts the keys of each segment. The row offsets are valid, and there are fewer than 2³² keys.
pub(crate) fn sort_keys<K: SortKey, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    keys: &DeviceSlice<K>,
    comparison: Comparison<K::Bits>,
) -> Result<DeviceVec<K>, OpError> {
    let (device, len) = (keys.device(), keys.len());
    if len < 2 || comparison.passes().count() == 0 {
        return Ok(keys.copied()?);
    }
    device.prepare(kernels::<SortSegmentKeys<K::Bits>, O>)?;
    let cut = DividedSegments::new(row_offsets, len, tile_items::<K::Bits>())?;
    if cut.longest == len {
        return radix_sort::sort_keys(keys, comparison);
    }
    let mut sorted = device.uninitialized(len)?;
    let mut other = device.uninitialized::<K>(cut.other_len(len))?;
    let buffers = [output(&mut sorted), output(&mut other)];
    let sort = |tiles: Tiles<'_>| {
        let launch = device.kernel().blocks(tiles.ranges.len())?;
        let kernel = SortSegmentKeys {
            keys: input(keys),
            sorted_keys: targets(buffers, cut.has_long()),
            segments: cut.segment_tiles(tiles, comparison),
        };
        // SAFETY: the ranges are within the keys, disjoint and no longer than a tile; they are of whole segments or of one
        // longer one, and there is a mark per key. A range goes to the other buffer only if there are longer segments, and
        // then it is as long as the keys. Buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    };
    sort(cut.short_tiles())?;
    if let Some(runs) = &cut.runs {
        sort(runs.tiles())?;
        for left in (1..=runs.rounds).rev() {
            let (from, to) = (buffers[left as usize % 2], buffers[1 - left as usize % 2]);
            let launch = device.kernel().blocks(runs.tiles.len() / 2)?;
            let kernel =
                MergeRunKeys { keys: read_only(from), merged_keys: to, round: runs.round(left, comparison) };
            // SAFETY: the runs are within the keys and sorted, in the buffer that a round with as many rounds left reads;
            // both are as long as the keys, and freed in the stream's order.
            unsafe { launch.launch(kernel) }?;
        }
    }
    Ok(sorted)
}

/// Sorts the keys of each segment, with their values; otherwise like [`sort_keys`].
pub(crate) fn sort_pairs<K: SortKey, V: PairValue, O: Offset>(
    row_offsets: &DeviceSlice<O>,
    Pairs { keys, values }: Pairs<'_, K, V>,
    comparison: Comparison<K::Bits>,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let (device, len) = (keys.device(), keys.len());
    if len < 2 || comparison.passes().count() == 0 {
        return Ok((keys.copied()?, values.copied()?));
    }
    device.prepare(kernels::<SortSegmentPairs<K::Bits, V::Bits>, O>)?;
    let cut = DividedSegments::new(row_offsets, len, tile_items::<K::Bits>())?;
    if cut.longest == len {
        return radix_sort::sort_pairs(Pairs { keys, values }, comparison);
    }
    let (mut sorted_keys, mut sorted_values) = (device.uninitialized(len)?, device.uninitialized(len)?);
    let mut other_keys = device.uninitialized::<K>(cut.other_len(len))?;
    let mut other_values = device.uninitialized::<V>(cut.other_len(len))?;
    let key_buffers = [output(&mut sorted_keys), output(&mut other_keys)];
    let value_buffers = [output(&mut sorted_values), output(&mut other_values)];
    let sort = |tiles: Tiles<'_>| {
        let launch = device.kernel().blocks(tiles.ranges.len())?;
        let kernel = SortSegmentPairs::<_, V::Bits> {
            keys: input(keys),
            sorted_keys: targets(key_buffers, cut.has_long()),
            values: input(values),
            sorted_values: targets(value_buffers, cut.has_long()),
            segments: cut.segment_tiles(tiles, comparison),
        };
        // SAFETY: as in `sort_keys`; there is a value per key.
        unsafe { launch.launch(kernel) }
    };
    sort(cut.short_tiles())?;
    if let Some(runs) = &cut.runs {
        sort(runs.tiles())?;
        for left in (1..=runs.rounds).rev() {
            let (from, to) = (left as usize % 2, 1 - left as usize % 2);
            let launch = device.kernel().blocks(runs.tiles.len() / 2)?;
            let kernel = MergeRunPairs::<_, V::Bits> {
                keys: read_only(key_buffers[from]),
                merged_keys: key_buffers[to],
                values: read_only(value_buffers[from]),
                merged_values: value_buffers[to],
                round: runs.round(left, comparison),
            };
            // SAFETY: as in `sort_keys`; there is a value per key.
            unsafe { launch.launch(kernel) }?;
        }
    }
    Ok((sorted_keys, sorted_values))
}

/// Maximum number of bytes of device memory that a sort of `len` keys in `segments` segments, with values of
/// `value_bytes` bytes if any, takes beside operands and results.
pub(crate) fn temporary_bytes<K: SortKey>(
    segments: usize,
    len: usize,
    value_bytes: Option<usize>,
    comparison: Comparison<K::Bits>,
) -> u64 {
    let passes = comparison.passes().count();
    if len < 2 || passes == 0 {
        return 0;
    }
    let capacity = tile_items::<K::Bits>();
    let chunks = chunk_count(len, capacity);
    // Two ranges and one word about a long segment for each chunk, totals, and marks.
    let cut = 8 * (3 * chunks as u64 + 3) + 4 * len.div_ceil(32) as u64;
    let most_long = segments.min(len / (capacity + 1));
    if most_long == 0 {
        return cut;
    }
    // The sums of the words, four words per pair of tiles, and a second buffer.
    let tiles = len / (2 * capacity) + most_long;
    let sums = ScanOptions::<u64>::exclusive(Operator::Sum);
    let scan = scan::values_temporary_bytes(chunks + 1, sums).max(32 * tiles as u64);
    let other = (len as u64).saturating_mul((K::SIZE + value_bytes.unwrap_or(0)) as u64);
    let runs = (8 * (chunks as u64 + 1) + scan).saturating_add(other);
    // A single segment of everything is sorted as a whole.
    let whole = radix_sort::temporary_bytes::<K>(len, value_bytes, comparison);
    cut.saturating_add(runs.max(whole))
}

/// Number of elements in a tile, with or without values.
fn tile_items<B: RadixKey>() -> usize {
    instance::<SortSegmentKeys<B>>().tile_items()
}

fn chunk_items(capacity: usize) -> usize {
    capacity / 4 * CHUNK_QUARTERS
}

fn chunk_count(len: usize, capacity: usize) -> usize {
    len.div_ceil(chunk_items(capacity))
}

/// The kernels of every sort by the tile kernel `T`, to be compiled ahead.
fn kernels<T: Kernel, O: Offset>() -> Kernels {
    sum_kernel::<u64>().and::<CutSegments<O>>().and::<MarkSegments<O>>().and::<T>()
}

/// Destinations of sorted ranges; only the first buffer if the second is not used.
fn targets<T: Element>([usual, other]: [GlobalMut<T>; 2], has_other: bool) -> Targets<T> {
    Targets { usual, other: if has_other { other } else { usual } }
}

/// Ranges to be sorted, one per block.
#[derive(Clone, Copy)]
struct Tiles<'a> {
    ranges: &'a DeviceSlice<u64>,
    /// True if they become runs, which stay sortable until they are merged.
    are_runs: bool,
}

/// Segments divided into ranges that fit tiles.
struct DividedSegments {
    /// Two per chunk: see [`CutSegments`].
    ranges: DeviceVec<u64>,
    /// One bit per element, set at the start of a segment.
    heads: DeviceVec<u32>,
    /// Length of the longest segment that does not fit a tile.
    longest: usize,
    /// The tiles of those segments, unless one has all elements.
    runs: Option<LongRuns>,
}

impl DividedSegments {
    /// Divides segments, given by valid row offsets of `len` elements, for tiles of `capacity`. Waits for the
    /// device.
    fn new<O: Offset>(row_offsets: &DeviceSlice<O>, len: usize, capacity: usize) -> Result<Self, OpError> {
        let (device, rows) = (row_offsets.device(), row_offsets.len() - 1);
        let chunks = chunk_count(len, capacity);
        let launch = device.kernel().warps(chunks + 1)?;
        let mut ranges = device.uninitialized(2 * chunks)?;
        let mut long = device.uninitialized(chunks + 1)?;
        let mut totals = device.zeros(2)?;
        let kernel = CutSegments {
            row_offsets: row_offsets.as_global(),
            ranges: ranges.as_global_mut(),
            long: long.as_global_mut(),
            totals: totals.as_global_mut(),
            rows: rows as u32,
            len: len as u32,
            chunks: chunks as u32,
            chunk: chunk_items(capacity) as u32,
            capacity: capacity as u32,
        };
        // SAFETY: the row offsets are valid, there are two ranges per chunk and one word more than chunks, and buffers
        // are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let launch = device.kernel().threads(rows)?;
        let mut heads = device.zeros(len.div_ceil(32))?;
        let kernel = MarkSegments {
            row_offsets: row_offsets.as_global(),
            heads: heads.as_global_mut(),
            rows: rows as u32,
        };
        // SAFETY: the row offsets are valid, and there is a bit for each element, all zero.
        unsafe { launch.launch(kernel) }?;
        let [pairs, longest] = totals.first::<2>()?.map(|total: u64| total as usize);
        let has_runs = pairs > 0 && longest < len;
        let runs =
            if has_runs { Some(LongRuns::new(&ranges, &long, [pairs, longest, capacity])?) } else { None };
        Ok(Self { ranges, heads, longest, runs })
    }

    fn has_long(&self) -> bool {
        self.runs.is_some()
    }

    /// Length of the buffer beside the result.
    fn other_len(&self, len: usize) -> usize {
        if self.has_long() { len } else { 0 }
    }

    /// The segments that fit tiles.
    fn short_tiles(&self) -> Tiles<'_> {
        Tiles { ranges: &self.ranges, are_runs: false }
    }

    /// Ranges as a kernel argument.
    fn segment_tiles<B: RadixKey>(&self, tiles: Tiles<'_>, comparison: Comparison<B>) -> SegmentTiles<B> {
        let Comparison { order, begin, end } = comparison;
        SegmentTiles {
            ranges: tiles.ranges.as_global(),
            heads: self.heads.as_global(),
            order,
            stored_order: if tiles.are_runs { KeyOrder::UNSIGNED } else { order },
            begin,
            end,
            most_counted: MOST_COUNTED,
        }
    }
}

/// Segments longer than a tile, as tiles that are sorted and merged.
struct LongRuns {
    /// Two per pair: see [`ListRuns`].
    tiles: DeviceVec<u64>,
    /// The segment of each pair, and its index there.
    pairs: DeviceVec<u64>,
    /// Number of merges of the longest segment's runs.
    rounds: u32,
}

impl LongRuns {
    /// Creates the runs from the output of [`CutSegments`], given the number of pairs of tiles, the length of
    /// the longest segment and of a tile.
    fn new(
        ranges: &DeviceSlice<u64>,
        long: &DeviceSlice<u64>,
        [count, longest, capacity]: [usize; 3],
    ) -> Result<Self, OpError> {
        let device: &Device = ranges.device();
        let before = scan::values(long, ScanOptions::exclusive(Operator::Sum))?;
        let launch = device.kernel().threads(count)?;
        let (mut tiles, mut pairs) = (device.uninitialized(2 * count)?, device.uninitialized(2 * count)?);
        let kernel = ListRuns {
            before: before.as_global(),
            ranges: ranges.as_global(),
            tiles: tiles.as_global_mut(),
            pairs: pairs.as_global_mut(),
            chunks: (long.len() - 1) as u32,
            count: count as u32,
            capacity: capacity as u32,
        };
        // SAFETY: the sums say that there are `count` pairs, and the buffers have two words for each; they are freed in the
        // stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(Self { tiles, pairs, rounds: merge_rounds(longest, capacity) })
    }

    /// The tiles to be sorted.
    fn tiles(&self) -> Tiles<'_> {
        Tiles { ranges: &self.tiles, are_runs: true }
    }

    /// One round of merges, as a kernel argument.
    fn round<B: RadixKey>(&self, left: u32, comparison: Comparison<B>) -> MergeRound<B> {
        let Comparison { order, begin, end } = comparison;
        MergeRound { pairs: self.pairs.as_global(), order, begin, end, left }
    }
}
