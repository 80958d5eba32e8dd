//! How segments are cut into parts that a block sorts, and how those too long for a block are collected and put back.

use evenpath_simt::{kernel, parameters, thread, Arena, Element, Global, GlobalMut};

use crate::block::radix_rank::RadixKey;
use crate::block::search::partition_point;
use crate::block::warp_search;
use crate::Offset;

/// Consecutive whole segments. Packed, the first element is in the low half of a word and the length in the high one.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) first: usize,
    pub(super) len: usize,
}

impl Part {
    #[inline(always)]
    fn pack(self) -> u64 {
        self.first as u64 | (self.len as u64) << 32
    }

    #[inline(always)]
    pub(super) fn unpack(word: u64) -> Self {
        Self { first: word as u32 as usize, len: (word >> 32) as usize }
    }
}

kernel! {
    /// Cuts segments into parts that fit a tile. Each window of `window` elements has two parts, of the segments that begin
    /// in it: the first has all of them if they fit a tile together, and otherwise all but the last, which is then the
    /// second. One thread per window, and one more.
    ///
    /// A last segment that is longer than a tile is in no part: the second part begins with it and is empty. Other segments
    /// are not that long, because they end in the window.
    pub struct CutSegments<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: two words per window.
        pub parts: GlobalMut<u64>,
        /// Output: one word per window, of a segment that is in no part: 1 in the high half and its length in the low one;
        /// zero without such a segment. One more word is zero.
        pub long: GlobalMut<u64>,
        /// Rows.
        pub rows: u32,
        /// Elements, fewer than 2³².
        pub len: u32,
        /// Windows.
        pub windows: u32,
        /// Elements of a window, at most `capacity`.
        pub window: u32,
        /// Elements of a tile.
        pub capacity: u32,
    }
    shared: 0;
    body: CutSegments::cut_segments::<BLOCK>;
    entries: {
        sort_cut_segments_u32 in sort_segments: <O = u32>, 256 x 1;
        sort_cut_segments_u64 in sort_segments: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> CutSegments<O> {
    #[inline(always)]
    fn cut_segments<const BLOCK: usize>(self, _: Arena) {
        let index = thread::block() as usize * BLOCK + thread::index() as usize;
        if index == self.windows as usize {
            self.long.store(index, 0);
        }
        if index >= self.windows as usize {
            return;
        }
        let start = index * self.window as usize;
        let end = (start + self.window as usize).min(self.len as usize);
        let row_at = |place: usize| {
            partition_point(0, self.rows as usize, |row| self.row_offsets.load(row).to_usize() < place)
        };
        let (first_row, next_row) = (row_at(start), row_at(end));
        let offset = |row: usize| self.row_offsets.load(row).to_usize();
        let first = offset(first_row);
        let mut parts = [Part { first, len: 0 }; 2];
        let mut long = 0;
        if first_row < next_row {
            let (last, next) = (offset(next_row - 1), offset(next_row));
            let capacity = self.capacity as usize;
            if next - first <= capacity {
                parts[0].len = next - first;
            } else {
                parts[0].len = last - first;
                let is_long = next - last > capacity;
                parts[1] = Part { first: last, len: if is_long { 0 } else { next - last } };
                long = if is_long { 1 << 32 | (next - last) as u64 } else { 0 };
            }
        }
        self.parts.store(2 * index, parts[0].pack());
        self.parts.store(2 * index + 1, parts[1].pack());
        self.long.store(index, long);
    }
}

parameters! {
    /// The segments that are in no part, as they are *collected*: one after another.
    pub struct LongSegments {
        /// For each window, how many such segments the windows before it have, in the high half, and of how many elements,
        /// in the low half; one word more for all windows.
        pub before: Global<u64>,
        /// As [`CutSegments`] left them.
        pub parts: Global<u64>,
        /// Windows.
        pub windows: u32,
        /// Collected elements.
        pub len: u32,
    }
}

/// Where a collected element belongs.
#[derive(Clone, Copy)]
struct Home {
    /// The number of its segment.
    segment: u64,
    /// The place among all elements.
    place: usize,
}

impl LongSegments {
    /// Calls `each` with the collected elements of this thread and where they belong. Each warp has consecutive ones.
    #[inline(always)]
    fn for_each<const BLOCK: usize, const ITEMS: usize>(self, each: impl Fn(usize, Home)) {
        let lanes = thread::WARP_SIZE as usize;
        let first = (thread::block() as usize * BLOCK + thread::warp() as usize * lanes) * ITEMS;
        if first >= self.len as usize {
            return;
        }
        // Windows without such segments have as many elements before them as the next one: the last of these counts.
        let windows = u64::from(self.windows);
        let near = warp_search::first(0, windows, |window| self.elements_before(window as usize) > first)
            as usize
            - 1;
        for item in 0..ITEMS {
            let index = first + item * lanes + thread::lane() as usize;
            if index < self.len as usize {
                let mut window = near;
                if index >= self.elements_before(near + 1) {
                    let is_before = |window: usize| self.elements_before(window) <= index;
                    window = partition_point(near + 1, self.windows as usize, is_before) - 1;
                }
                each(index, self.home(window, index));
            }
        }
    }

    /// Where an element belongs whose segment begins in `window`.
    #[inline(always)]
    fn home(self, window: usize, index: usize) -> Home {
        let begin = Part::unpack(self.parts.load(2 * window + 1)).first;
        let place = begin + (index - self.elements_before(window));
        Home { segment: self.before.load(window) >> 32, place }
    }

    #[inline(always)]
    fn elements_before(self, window: usize) -> usize {
        self.before.load(window) as u32 as usize
    }
}

kernel! {
    /// Collects the keys of the segments that are in no part.
    pub struct CollectSegments<K: RadixKey> {
        /// The keys.
        pub keys: Global<K>,
        /// Output: the collected keys.
        pub collected: GlobalMut<K>,
        /// Output: where each comes from, in the low half, and the number of its segment in the high one.
        pub origins: GlobalMut<u64>,
        /// The segments.
        pub segments: LongSegments,
    }
    shared: 0;
    body: CollectSegments::collect_segments::<BLOCK, ITEMS>;
    entries: {
        sort_collect_segments_u32 in sort_segments: <K = u32>, 256 x 8;
        sort_collect_segments_u64 in sort_segments: <K = u64>, 256 x 8;
    }
}

impl<K: RadixKey> CollectSegments<K> {
    #[inline(always)]
    fn collect_segments<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        self.segments.for_each::<BLOCK, ITEMS>(|index, home| {
            self.collected.store(index, self.keys.load_streaming(home.place));
            self.origins.store(index, home.segment << 32 | home.place as u64);
        });
    }
}

kernel! {
    /// Puts the keys of collected segments, sorted, where the segments are.
    pub struct PlaceSegmentKeys<K: RadixKey> {
        /// The collected keys, sorted by segment and key.
        pub collected: Global<K>,
        /// Output: all keys; only those of these segments are written.
        pub sorted_keys: GlobalMut<K>,
        /// The segments.
        pub segments: LongSegments,
    }
    shared: 0;
    body: PlaceSegmentKeys::place_keys::<BLOCK, ITEMS>;
    entries: {
        sort_place_segment_keys_u32 in sort_segments: <K = u32>, 256 x 8;
        sort_place_segment_keys_u64 in sort_segments: <K = u64>, 256 x 8;
    }
}

impl<K: RadixKey> PlaceSegmentKeys<K> {
    #[inline(always)]
    fn place_keys<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        self.segments.for_each::<BLOCK, ITEMS>(|index, home| {
            self.sorted_keys.store(home.place, self.collected.load_streaming(index));
        });
    }
}

kernel! {
    /// Puts the values of collected segments where their keys are.
    pub struct PlaceSegmentValues<V: Element> {
        /// The values.
        pub values: Global<V>,
        /// Where the values of the collected keys are, in the low half of each word.
        pub origins: Global<u64>,
        /// Output: all values; only those of these segments are written.
        pub sorted_values: GlobalMut<V>,
        /// The segments.
        pub segments: LongSegments,
    }
    shared: 0;
    body: PlaceSegmentValues::place_values::<BLOCK, ITEMS>;
    entries: {
        sort_place_segment_values_u32 in sort_segments: <V = u32>, 256 x 8;
        sort_place_segment_values_u64 in sort_segments: <V = u64>, 256 x 8;
    }
}

impl<V: Element> PlaceSegmentValues<V> {
    #[inline(always)]
    fn place_values<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        self.segments.for_each::<BLOCK, ITEMS>(|index, home| {
            let origin = self.origins.load_streaming(index) as u32 as usize;
            self.sorted_values.store(home.place, self.values.load(origin));
        });
    }
}
