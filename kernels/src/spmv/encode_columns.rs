//! Narrow columns: 16 bits a nonzero, relative to a directory of the columns that a tile of rows has.
//!
//! Rows of a matrix that come from a mesh have their columns in a few places, near the diagonal and at some distances
//! from it. A *directory* lists up to 32 *segments* of 2048 columns, one a lane of a warp; a *code* is the number of a
//! segment in it and a place there. Where all columns of a tile lie within 2¹⁶, segments follow one another and a code
//! is the distance from the least column. Tiles that need more segments have no codes.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use crate::unroll::{unroll, Steps};
use crate::Offset;

/// Segments of a directory: one a lane.
pub const SEGMENTS: u32 = thread::WARP_SIZE;

/// Bits of a code that say where in its segment a column is.
pub(super) const PLACE_BITS: u32 = 11;

/// What a directory of a tile without codes has for every segment.
pub(super) const NO_CODES: u32 = u32::MAX;

/// Columns that any directory covers, if they are neighbours.
const COMPACT: u32 = SEGMENTS << PLACE_BITS;

kernel! {
    /// Finds the directory of each tile of rows, and codes its columns: one block each.
    pub struct EncodeColumns<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one a nonzero.
        pub column_indices: Global<u32>,
        /// Output: the codes, one a nonzero of the tiles that have some.
        pub codes: GlobalMut<u16>,
        /// Output: the first column of each segment, [`SEGMENTS`] a tile; 2³² − 1 for all of a tile without codes.
        pub directories: GlobalMut<u32>,
        /// Output: one word, zero before: the nonzeros of tiles without codes.
        pub whole: GlobalMut<u64>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Rows of a tile.
        pub tile_rows: u32,
    }
    shared: BLOCK / 32 * 8 + SegmentSet::BYTES;
    body: encode_columns::<O, BLOCK, ITEMS>;
    entries: {
        spmv_encode_columns_u32 in spmv_plan: <O = u32>, 256 x 4;
        spmv_encode_columns_u64 in spmv_plan: <O = u64>, 256 x 4;
    }
}

/// A tile's nonzeros.
#[derive(Clone, Copy)]
struct Nonzeros<const BLOCK: usize, const ITEMS: usize> {
    column_indices: Global<u32>,
    begin: usize,
    end: usize,
}

/// What is done with a thread's nonzeros, one a step.
struct Visit<'a, F, const ITEMS: usize> {
    start: usize,
    stride: usize,
    end: usize,
    columns: [u32; ITEMS],
    visit: &'a mut F,
}

impl<F: FnMut(usize, u32), const ITEMS: usize> Steps for Visit<'_, F, ITEMS> {
    #[inline(always)]
    fn step(&mut self, index: usize) {
        let place = self.start + index * self.stride;
        if place < self.end {
            (self.visit)(place, self.columns[index]);
        }
    }
}

impl<const BLOCK: usize, const ITEMS: usize> Nonzeros<BLOCK, ITEMS> {
    /// Calls `visit` with the places and columns of this thread's nonzeros.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // Iterators over two arrays leave registers for local memory.
    fn each(self, mut visit: impl FnMut(usize, u32)) {
        let Self { column_indices, begin, end } = self;
        let mut start = begin + thread::index() as usize;
        while start < end {
            let mut columns = [0; ITEMS];
            for item in 0..ITEMS {
                let place = start + item * BLOCK;
                if place < end {
                    columns[item] = column_indices.load(place);
                }
            }
            unroll::<ITEMS>(&mut Visit { start, stride: BLOCK, end, columns, visit: &mut visit });
            start += BLOCK * ITEMS;
        }
    }

    /// The least column and the greatest. Has a barrier; every thread of the block calls it.
    #[inline(always)]
    fn bounds(self, parts: Shared<u32>) -> (u32, u32) {
        let (mut least, mut greatest) = (u32::MAX, 0);
        self.each(|_, column| (least, greatest) = (column.min(least), column.max(greatest)));
        let mut distance = thread::WARP_SIZE / 2;
        while distance > 0 {
            least = least.min(warp::shuffle_xor(warp::FULL, least, distance));
            greatest = greatest.max(warp::shuffle_xor(warp::FULL, greatest, distance));
            distance /= 2;
        }
        if thread::lane() == 0 {
            parts.store(2 * thread::warp() as usize, least);
            parts.store(2 * thread::warp() as usize + 1, greatest);
        }
        thread::barrier();
        for warp in 0..BLOCK / 32 {
            least = least.min(parts.load(2 * warp));
            greatest = greatest.max(parts.load(2 * warp + 1));
        }
        (least, greatest)
    }
}

/// Segments that a tile has columns in, each with its number in the directory: a hash table in shared memory.
#[derive(Clone, Copy)]
struct SegmentSet {
    segments: Shared<u32>,
    numbers: Shared<u32>,
    count: Shared<u32>,
}

/// Slots of the table: twice as many as there may be segments.
const SLOTS: u32 = 2 * SEGMENTS;

/// What a slot without a segment holds.
const FREE: u32 = u32::MAX;

impl SegmentSet {
    const BYTES: usize = (2 * SLOTS as usize + 1) * 4;

    #[inline(always)]
    fn take(arena: &mut Arena) -> Self {
        let slots = SLOTS as usize;
        Self { segments: arena.take(slots), numbers: arena.take(slots), count: arena.take(1) }
    }

    /// Every thread calls it; the set is empty behind a barrier.
    #[inline(always)]
    fn clear(self) {
        if thread::index() < SLOTS {
            self.segments.store(thread::index() as usize, FREE);
        }
        if thread::index() == 0 {
            self.count.store(0, 0);
        }
    }

    /// The slot where a search for a segment begins.
    #[inline(always)]
    fn slot(segment: u32) -> u32 {
        segment.wrapping_mul(0x9e37_79b9) >> (u32::BITS - SLOTS.ilog2())
    }

    /// Puts a segment in, unless there are too many already.
    #[inline(always)]
    fn insert(self, segment: u32) {
        let mut slot = Self::slot(segment);
        // The count is past the limit before the table is full.
        while self.count.atomic_load(0) <= SEGMENTS {
            let mut found = self.segments.atomic_load(slot as usize);
            if found == FREE {
                found = self.segments.compare_exchange(slot as usize, FREE, segment);
                if found == FREE {
                    self.count.fetch_add(0, 1);
                    return;
                }
            }
            if found == segment {
                return;
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Numbers the segments in ascending order, and gives this thread's with its number. Every thread calls it, behind a
    /// barrier behind the last insertion; numbers are there behind another.
    #[inline(always)]
    fn number(self) -> Option<(u32, u32)> {
        if thread::index() >= SLOTS {
            return None;
        }
        let own = self.segments.load(thread::index() as usize);
        let mut number = 0;
        for slot in 0..SLOTS as usize {
            number += u32::from(self.segments.load(slot) < own);
        }
        self.numbers.store(thread::index() as usize, number);
        (own != FREE).then_some((own, number))
    }

    /// The number of a segment that is in the set.
    #[inline(always)]
    fn find(self, segment: u32) -> u32 {
        let mut slot = Self::slot(segment);
        while self.segments.load(slot as usize) != segment {
            slot = (slot + 1) % SLOTS;
        }
        self.numbers.load(slot as usize)
    }
}

#[inline(always)]
fn encode_columns<O: Offset, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    codes: GlobalMut<u16>,
    directories: GlobalMut<u32>,
    whole: GlobalMut<u64>,
    rows: u32,
    tile_rows: u32,
) {
    const { assert!(BLOCK >= SLOTS as usize) };
    let parts: Shared<u32> = arena.take(BLOCK / 32 * 2);
    let set = SegmentSet::take(&mut arena);
    let row = thread::block() as usize * tile_rows as usize;
    let row_end = (row + tile_rows as usize).min(rows as usize);
    let (begin, end) = (row_offsets.load(row).to_usize(), row_offsets.load(row_end).to_usize());
    let tile = Nonzeros::<BLOCK, ITEMS> { column_indices, begin, end };
    let index = thread::index();
    let directory = thread::block() as usize * SEGMENTS as usize + index as usize;
    set.clear();
    let (least, greatest) = tile.bounds(parts);
    if begin == end {
        if index < SEGMENTS {
            directories.store(directory, 0);
        }
        return;
    }
    if greatest - least < COMPACT {
        let first = index << PLACE_BITS;
        if index < SEGMENTS {
            // Segments behind the last column are none.
            directories.store(directory, least + if first <= greatest - least { first } else { 0 });
        }
        return tile.each(|place, column| codes.store_streaming(place, (column - least) as u16));
    }

    let segment_of = |column: u32| (column - least) >> PLACE_BITS;
    let mut last = FREE;
    tile.each(|_, column| {
        let segment = segment_of(column);
        if segment != last {
            set.insert(segment);
            last = segment;
        }
    });
    thread::barrier();
    let count = set.count.load(0);
    if count > SEGMENTS {
        if index < SEGMENTS {
            directories.store(directory, NO_CODES);
        }
        if index == 0 {
            whole.fetch_add(0, (end - begin) as u64, Ordering::Relaxed, Scope::Device);
        }
        return;
    }
    if let Some((segment, number)) = set.number() {
        let directory = thread::block() as usize * SEGMENTS as usize + number as usize;
        directories.store(directory, least + (segment << PLACE_BITS));
    }
    if index >= count && index < SEGMENTS {
        directories.store(directory, least);
    }
    thread::barrier();
    let mut last = (FREE, 0);
    tile.each(|place, column| {
        let segment = segment_of(column);
        if segment != last.0 {
            last = (segment, set.find(segment));
        }
        let in_segment = (column - least) & ((1 << PLACE_BITS) - 1);
        codes.store_streaming(place, (last.1 << PLACE_BITS | in_segment) as u16);
    });
}
