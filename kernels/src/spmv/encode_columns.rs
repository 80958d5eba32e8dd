//! Encodes narrow columns: finds a directory and codes for each tile of rows ([the codes](super::codes)).

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use super::codes::{TileKind, PLACE_BITS, SEGMENTS, SEGMENT_LEN};
use crate::block::reduce::BlockReduce;
use crate::block::search::partition_point;
use crate::unroll::unroll;
use crate::{GlobalPattern, Offset};

/// Columns that codes of distances reach.
const REACH: u32 = 1 << u16::BITS;

kernel! {
    /// Finds the directory of each tile of rows, and codes its columns: one block each.
    pub struct EncodeColumns<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the codes, one per nonzero of the tiles that have codes.
        pub codes: GlobalMut<u16>,
        /// Output: the first column of each segment, [`SEGMENTS`] per tile.
        pub directories: GlobalMut<u32>,
        /// Output: the first nonzero of each tile, with what its codes stand for.
        pub places: GlobalMut<u64>,
        /// Output: the first nonzero of each tile, and the number of nonzeros.
        pub tile_nonzeros: GlobalMut<u64>,
        /// Output: a hash of each tile's codes, for [`ShareCodes`].
        pub hashes: GlobalMut<u32>,
        /// Output: one word, zero before: the nonzeros of tiles without codes.
        pub whole: GlobalMut<u64>,
        /// First row of each tile, and the number of rows.
        pub tile_rows: Global<u32>,
        /// Columns of the matrix.
        pub cols: u32,
    }
    shared: BLOCK / 32 * 8 + SegmentSet::BYTES;
    body: EncodeColumns::encode_columns::<BLOCK, ITEMS>;
    entry: spmv_encode_columns_{O} in spmv_plan: O in [u32, u64], 256 x 4;
}

/// A tile's nonzeros.
#[derive(Clone, Copy)]
struct TileNonzeros<const BLOCK: usize, const ITEMS: usize> {
    column_indices: Global<u32>,
    begin: usize,
    end: usize,
}

impl<const BLOCK: usize, const ITEMS: usize> TileNonzeros<BLOCK, ITEMS> {
    /// Calls `visit` with the places and columns of this thread's nonzeros.
    #[device]
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
            unroll!(for item in 0..ITEMS {
                let place = start + item * BLOCK;
                if place < end {
                    visit(place, columns[item]);
                }
            });
            start += BLOCK * ITEMS;
        }
    }

    /// Calls `visit` with the segments, counted from column `least`, that this thread's nonzeros come to.
    #[device]
    fn each_segment(self, least: u32, mut visit: impl FnMut(u32)) {
        let mut last = FREE;
        self.each(|_, column| {
            let segment = (column - least) >> PLACE_BITS;
            if segment != last {
                visit(segment);
                last = segment;
            }
        });
    }

    /// Returns the least column and the greatest. It has a barrier; every thread of the block calls it.
    #[device]
    fn bounds(self, parts: Shared<u32>) -> (u32, u32) {
        let (mut least, mut greatest) = (u32::MAX, 0);
        self.each(|_, column| (least, greatest) = (column.min(least), column.max(greatest)));
        least = warp::reduce(least, u32::min);
        greatest = warp::reduce(greatest, u32::max);
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

/// The segments in which a tile has columns, each with its number in the directory: a hash table in shared memory.
#[derive(Clone, Copy)]
struct SegmentSet {
    segments: Shared<u32>,
    numbers: Shared<u32>,
    count: Shared<u32>,
}

/// Slots of the table: twice as many as there may be segments.
const SLOTS: u32 = 2 * SEGMENTS;

/// Content of a slot without a segment.
const FREE: u32 = u32::MAX;

impl SegmentSet {
    const BYTES: usize = (2 * SLOTS as usize + 1) * 4;

    #[device]
    fn take(arena: &mut Arena) -> Self {
        let slots = SLOTS as usize;
        Self { segments: arena.take(slots), numbers: arena.take(slots), count: arena.take(1) }
    }

    /// Every thread calls it; the set is empty after a barrier.
    #[device]
    fn clear(self) {
        if thread::index() < SLOTS {
            self.segments.store(thread::index() as usize, FREE);
        }
        if thread::index() == 0 {
            self.count.store(0, 0);
        }
    }

    /// Returns the slot where a search for a segment begins.
    #[device]
    fn slot(segment: u32) -> u32 {
        segment.wrapping_mul(0x9e37_79b9) >> (u32::BITS - SLOTS.ilog2())
    }

    /// Inserts a segment, unless there are too many already.
    #[device]
    fn insert(self, segment: u32) {
        let mut slot = Self::slot(segment);
        // The count exceeds the limit before the table is full.
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

    /// Numbers the segments in ascending order, and returns this thread's with its number. Every thread calls it, after
    /// a barrier that follows the last insertion. Another barrier is needed before [`find`](Self::find).
    #[device]
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

    /// Returns the number of a segment that is in the set.
    #[device]
    fn find(self, segment: u32) -> u32 {
        let mut slot = Self::slot(segment);
        while self.segments.load(slot as usize) != segment {
            slot = (slot + 1) % SLOTS;
        }
        self.numbers.load(slot as usize)
    }
}

impl<O: Offset> EncodeColumns<O> {
    #[device]
    fn encode_columns<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK >= SLOTS as usize) };
        let parts: Shared<u32> = arena.take(BLOCK / 32 * 2);
        let set = SegmentSet::take(&mut arena);
        let block = thread::block() as usize;
        let GlobalPattern { row_offsets, column_indices, .. } = self.pattern;
        let offset = |tile: usize| row_offsets.load(self.tile_rows.load(tile) as usize).to_usize();
        let (begin, end) = (offset(block), offset(block + 1));
        let column_indices = column_indices.natural();
        let tile = TileNonzeros::<BLOCK, ITEMS> { column_indices, begin, end };
        let index = thread::index();
        let directory = self.directories.skip(block * SEGMENTS as usize);
        // 1. Find the range of the tile's columns.
        set.clear();
        let (least, greatest) = tile.bounds(parts);
        let mut hash = 0_u32;
        let mut put = |place: usize, code: u32| {
            self.codes.store_streaming(place, code as u16);
            hash = hash.wrapping_add(mixed((place - begin) as u32, code));
        };
        let kind;
        // 2. Choose the codes, and encode. A tile without nonzeros has none that are far from each other.
        if begin == end || greatest - least < REACH {
            kind = TileKind::Distances;
            let from = least.min(self.cols.saturating_sub(REACH));
            if index < SEGMENTS {
                directory.store(index as usize, from);
            }
            tile.each(|place, column| put(place, column - from));
        } else {
            tile.each_segment(least, |segment| set.insert(segment));
            thread::barrier();
            let count = set.count.load(0);
            if count <= SEGMENTS {
                kind = TileKind::Segments;
                // The last segment ends with the matrix, of which there is more than that.
                let first_of = |segment: u32| (least + (segment << PLACE_BITS)).min(self.cols - SEGMENT_LEN);
                if let Some((segment, number)) = set.number() {
                    directory.store(number as usize, first_of(segment));
                }
                if index >= count && index < SEGMENTS {
                    directory.store(index as usize, first_of(0));
                }
                thread::barrier();
                let mut last = (FREE, 0);
                tile.each(|place, column| {
                    let segment = (column - least) >> PLACE_BITS;
                    if segment != last.0 {
                        last = (segment, set.find(segment));
                    }
                    put(place, last.1 << PLACE_BITS | (column - first_of(segment)));
                });
            } else {
                kind = TileKind::Whole;
                if index < SEGMENTS {
                    directory.store(index as usize, 0);
                }
                if index == 0 {
                    self.whole.fetch_add(0, (end - begin) as u64, Ordering::Relaxed, Scope::Device);
                }
            }
        }
        // 3. Write what the codes stand for, and their hash.
        if index == 0 {
            self.places.store(block, kind.pack(begin));
            self.tile_nonzeros.store(block, begin as u64);
            if thread::block() + 1 == thread::grid_size() {
                self.tile_nonzeros.store(block + 1, end as u64);
            }
        }
        store_hash::<BLOCK>(hash, parts, self.hashes);
    }
}

/// Returns a hash of a code and its place in the tile.
#[device]
fn mixed(place: u32, code: u32) -> u32 {
    let mut hash = place.wrapping_mul(0x9e37_79b9) ^ code.wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 15).wrapping_mul(0x2c1b_3c6d);
    hash ^ hash >> 13
}

/// Stores the sum of all threads' hashes. Every thread of the block calls it.
#[device]
fn store_hash<const BLOCK: usize>(own: u32, parts: Shared<u32>, hashes: GlobalMut<u32>) {
    // The parts may still be read.
    thread::barrier();
    let reduce = BlockReduce::<u32, BLOCK>::new(parts);
    reduce.share(own, u32::wrapping_add);
    if thread::index() == 0 {
        hashes.store(thread::block() as usize, reduce.total(u32::wrapping_add));
    }
}

kernel! {
    /// Finds tiles with the same codes as another one before them: one warp per tile.
    pub struct ShareCodes {
        /// The codes, from [`EncodeColumns`].
        pub codes: Global<u16>,
        /// The first nonzero of each tile, and the number of nonzeros, likewise.
        pub tile_nonzeros: Global<u64>,
        /// The hashes, likewise, in ascending order.
        pub hashes: Global<u32>,
        /// The tile of each hash; ascending where hashes are the same.
        pub order: Global<u32>,
        /// The place of each tile's codes, from [`EncodeColumns`].
        pub own_places: Global<u64>,
        /// Output: the same, of the first tile with the same codes.
        pub places: GlobalMut<u64>,
        /// Output: one word, zero before: the nonzeros of tiles that read another's codes.
        pub shared: GlobalMut<u64>,
        /// Tiles.
        pub tiles: u32,
        /// Tiles share codes only if they begin equally far after a multiple of this.
        pub alignment: u32,
    }
    shared: 0;
    body: ShareCodes::share_codes::<BLOCK>;
    entry: spmv_share_codes in spmv_plan: 128 x 1;
}

impl ShareCodes {
    #[device]
    fn share_codes<const BLOCK: usize>(self, _: Arena) {
        let place = thread::global_warp::<BLOCK>();
        if place >= self.tiles as usize {
            return;
        }
        let hash = self.hashes.load(place);
        let first = partition_point(0, place, |index| self.hashes.load(index) < hash);
        let (own, first) = (self.order.load(place) as usize, self.order.load(first) as usize);
        let len = |tile: usize| (self.tile_nonzeros.load(tile + 1) - self.tile_nonzeros.load(tile)) as usize;
        let (own_place, first_place) = (self.own_places.load(own), self.own_places.load(first));
        let ((kind, begin), (first_kind, first_begin)) =
            (TileKind::unpack(own_place), TileKind::unpack(first_place));
        let mut is_alike =
            own != first && len(own) == len(first) && kind == first_kind && kind != TileKind::Whole;
        is_alike &= begin % self.alignment as usize == first_begin % self.alignment as usize;
        let mut index = 0;
        while is_alike && index < len(own) {
            let own_index = index + thread::lane() as usize;
            let differs = own_index < len(own)
                && self.codes.load(begin + own_index) != self.codes.load(first_begin + own_index);
            is_alike = warp::ballot(warp::FULL, differs) == 0;
            index += 32;
        }
        if thread::lane() == 0 {
            self.places.store(own, if is_alike { first_place } else { own_place });
            if is_alike && len(own) > 0 {
                self.shared.fetch_add(0, len(own) as u64, Ordering::Relaxed, Scope::Device);
            }
        }
    }
}
