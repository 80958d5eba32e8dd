//! Places of products: a part of the frozen schedule.
//!
//! A part is processed in *chunks* of quads. In a chunk, products are ordered by the element of the result that they add to, and
//! those of one element by their slots in the schedule's order. The place of a product is its position in this order, [spread] over
//! the banks of shared memory.

use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::layout::{self, DENSE};
use super::node::Pool;
use super::schedule::{last_not_above, FrozenSchedule, ListedLeaf, ListedPart, QUAD};
use crate::block::count_scan::CountScan;

/// The largest number of quads of a chunk.
pub const MOST_CHUNK_QUADS: u32 = 960;
/// The largest number of quads of a part whose products have places.
pub const MOST_PART_QUADS: u32 = 4096;

/// Bits of a place, and of the index of a leaf in its part.
const BITS: u32 = 12;
/// The first of the bits that say which slots hold an entry.
const PRESENT: u32 = QUAD * BITS;
/// The first bit of the index of the leaf.
const LEAF: u32 = PRESENT + QUAD;

const _: () = assert!(
    LEAF + BITS == 64
        && places_len(MOST_CHUNK_QUADS as usize, 8) <= 1 << BITS
        && MOST_PART_QUADS == 1 << BITS
);

/// Returns the place of the product at `position`: one place is left out after n products, where n is the number of
/// banks for elements of `size` bytes, and one more after n². Otherwise, lanes with equal numbers of products would
/// read from the same bank.
#[device]
pub(super) const fn spread(position: u32, size: usize) -> u32 {
    // 16 banks of 8 bytes, or 32 of 4.
    let banks_log2 = if size == 8 { 4 } else { 5 };
    position + (position >> banks_log2) + (position >> (2 * banks_log2))
}

/// Places for the products of some quads, of elements of `size` bytes.
pub(super) const fn places_len(quads: usize, size: usize) -> usize {
    spread(quads as u32 * QUAD, size) as usize
}

/// A quad's leaf, counted from its part's first, and the places of its products.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuadPlaces(pub(super) u64);

impl QuadPlaces {
    /// Returns the index of the leaf.
    #[device]
    pub(super) fn leaf(self) -> u32 {
        (self.0 >> LEAF) as u32
    }

    /// Returns a bit for each slot that holds an entry.
    #[device]
    pub(super) fn present(self) -> u32 {
        (self.0 >> PRESENT) as u32 & ((1 << QUAD) - 1)
    }

    /// Returns the place of the product of a slot that holds an entry.
    #[device]
    pub(super) fn place(self, slot: u32) -> u32 {
        (self.0 >> (BITS * slot)) as u32 & ((1 << BITS) - 1)
    }
}

parameters! {
    /// The places of products.
    pub struct Places {
        /// A word per quad: its leaf, and the places of its products.
        pub quads: Global<u64>,
        /// End of the positions of the products of each of the strip's D elements, for each chunk.
        pub ends: Global<u16>,
        /// Chunks of a part; the last ones may have no quads.
        pub chunks: u32,
    }
}

impl Places {
    /// Returns the positions of an element's products.
    #[device(track_caller)]
    pub(super) fn range(self, chunk: usize, element: u32, d_log2: u32) -> (u32, u32) {
        let at = chunk << d_log2 | element as usize;
        let start = self.ends.load_if(at.wrapping_sub(1), element > 0);
        (u32::from(start), u32::from(self.ends.load(at)))
    }
}

kernel! {
    /// Finds the places of products: one block per part.
    pub struct HiSparsePlaceProducts<V: Float> {
        /// The tree's pool.
        pub pool: Pool<V>,
        /// The schedule.
        pub schedule: FrozenSchedule,
        /// The first quad of each leaf, and the number of quads at the end.
        pub firsts: Global<u64>,
        /// Output: [`Places::quads`].
        pub quads: GlobalMut<u64>,
        /// Output: [`Places::ends`], of the chunks that have quads.
        pub ends: GlobalMut<u16>,
        /// Chunks of a part.
        pub chunks: u32,
        /// Quads of a chunk, at most [`MOST_CHUNK_QUADS`].
        pub chunk_quads: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// 1 if the matrix is the transpose of its content, else 0.
        pub is_transposed: u32,
    }
    shared: PlacesChunk::BYTES + CountScan::<u32, BLOCK>::BYTES;
    body: HiSparsePlaceProducts::place_products::<BLOCK>;
    entry: hisparse_place_products_{V} in hisparse_schedule: V in [f32, f64], 256 x 1;
}

/// No element: that of an absent entry.
const NONE: u16 = u16::MAX;
/// The largest number of elements of a strip.
const MOST_ELEMENTS: usize = 256;
/// Warps of a block that finds places, and the slots of a chunk that each of them ranks.
const WARPS: u32 = 8;
const WARP_SLOTS: u32 = MOST_CHUNK_QUADS * QUAD / WARPS;

/// A chunk in shared memory.
#[derive(Clone, Copy)]
struct PlacesChunk {
    /// The element that each slot's product adds to, and the number of products of this element before it among those of its warp.
    elements: Shared<u16>,
    earlier: Shared<u16>,
    /// The index of each quad's leaf, counted from the part's first.
    leaves: Shared<u16>,
    /// Number of products for each warp and element; in the end the place of the first one.
    counts: Shared<u16>,
}

impl PlacesChunk {
    const SLOTS: usize = (MOST_CHUNK_QUADS * QUAD) as usize;
    const COUNTS: usize = MOST_ELEMENTS * WARPS as usize;
    const BYTES: usize = 2 * (2 * Self::SLOTS + MOST_CHUNK_QUADS as usize + Self::COUNTS);

    #[device]
    fn take(arena: &mut Arena) -> Self {
        Self {
            elements: arena.take(Self::SLOTS),
            earlier: arena.take(Self::SLOTS),
            leaves: arena.take(MOST_CHUNK_QUADS as usize),
            counts: arena.take(Self::COUNTS),
        }
    }

    /// Returns the count of an element in a warp's slots.
    #[device]
    fn count(warp: u32, element: u32) -> usize {
        warp as usize * MOST_ELEMENTS + element as usize
    }

    /// Sets this warp's counts to zero; the warp needs a barrier before it uses them.
    #[device]
    fn clear(self) {
        thread::warp_stride(MOST_ELEMENTS as u32, |element| {
            self.counts.store(Self::count(thread::warp(), element), 0);
        });
    }

    /// Ranks the products of each element among those of this warp's slots, of `slots` in all, and counts them.
    #[device]
    fn rank(self, slots: u32) {
        let end = slots.min((thread::warp() + 1) * WARP_SLOTS);
        let mut begin = thread::warp() * WARP_SLOTS;
        while begin < end {
            let slot = (begin + thread::lane()) as usize;
            let element = if (slot as u32) < end { self.elements.load(slot) } else { NONE };
            let peers = warp::match_any(warp::FULL, u32::from(element));
            let earlier = warp::count_below(peers);
            let count = Self::count(thread::warp(), u32::from(element));
            let before = if element == NONE { 0 } else { self.counts.load(count) };
            warp::sync(warp::FULL);
            if element != NONE {
                self.earlier.store(slot, before + earlier as u16);
                if earlier == 0 {
                    self.counts.store(count, before + peers.count_ones() as u16);
                }
            }
            warp::sync(warp::FULL);
            begin += thread::WARP_SIZE;
        }
    }

    /// Replaces an element's counts by the number of its products in earlier warps, plus `before`. Returns the number
    /// of all its products.
    #[device]
    fn start(self, element: u32, before: u32) -> u32 {
        let mut total = 0;
        for warp in 0..WARPS {
            let count = self.counts.load(Self::count(warp, element));
            self.counts.store(Self::count(warp, element), (before + total) as u16);
            total += u32::from(count);
        }
        total
    }

    /// Returns an element's number of products.
    #[device]
    fn total(self, element: u32) -> u32 {
        let mut total = 0;
        for warp in 0..WARPS {
            total += u32::from(self.counts.load(Self::count(warp, element)));
        }
        total
    }

    /// Returns the places of a quad's products, of elements of `size` bytes.
    #[device]
    fn places(self, quad: u32, size: usize) -> u64 {
        let mut places = u64::from(self.leaves.load(quad as usize)) << LEAF;
        for slot in 0..QUAD {
            let at = quad * QUAD + slot;
            let element = self.elements.load(at as usize);
            if element != NONE {
                let start = self.counts.load(Self::count(at / WARP_SLOTS, u32::from(element)));
                let place = spread(u32::from(start + self.earlier.load(at as usize)), size);
                places |= 1 << (PRESENT + slot) | u64::from(place) << (BITS * slot);
            }
        }
        places
    }
}

impl<V: Float> HiSparsePlaceProducts<V> {
    #[device]
    fn place_products<const BLOCK: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK == MOST_ELEMENTS, "a thread for each element") };
        const { assert!(BLOCK as u32 == WARPS * thread::WARP_SIZE, "a share of the slots for each warp") };
        let chunk = PlacesChunk::take(&mut arena);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let part = thread::block() as usize;
        let own_part = ListedPart::unpack(self.schedule.part_list.load_16(2 * part));
        let len = (self.schedule.part_list.load(2 * part + 2) - own_part.begin) as u32;
        let (mut begin, mut number) = (0, part * self.chunks as usize);
        while begin < len {
            let quads = self.chunk_quads.min(len - begin);
            chunk.clear();
            let mut quad = thread::index();
            while quad < quads {
                self.read_quad(own_part, begin + quad, quad, chunk);
                quad += BLOCK as u32;
            }
            thread::barrier();
            chunk.rank(QUAD * quads);
            thread::barrier();
            let element = thread::index();
            let before = scan.exclusive(chunk.total(element)).before;
            let count = chunk.start(element, before);
            if element < 1 << self.d_log2 {
                self.ends.store(number << self.d_log2 | element as usize, (before + count) as u16);
            }
            thread::barrier();
            quad = thread::index();
            while quad < quads {
                let place = (own_part.begin + u64::from(begin + quad)) as usize;
                self.quads.store(place, chunk.places(quad, V::SIZE));
                quad += BLOCK as u32;
            }
            thread::barrier();
            begin += self.chunk_quads;
            number += 1;
        }
    }

    /// Writes the leaf and the elements of a quad, given by its number in the part and in the chunk.
    #[device(track_caller)]
    fn read_quad(self, part: ListedPart, of_part: u32, of_chunk: u32, chunk: PlacesChunk) {
        // Every leaf has a quad.
        let quad = part.begin + u64::from(of_part);
        let end = self.schedule.leaves.min(part.leaf + of_part + 1);
        let number = last_not_above(self.firsts, quad, part.leaf, end);
        chunk.leaves.store(of_chunk as usize, (number - part.leaf) as u16);
        let leaf = ListedLeaf::unpack(self.schedule.leaf_list.load_16(2 * number as usize));
        let node = self.pool.node_of_len(leaf.reference, leaf.count);
        let first = QUAD * (quad - leaf.first) as u32;
        for slot in 0..QUAD {
            let at = first + slot;
            let mut element = NONE;
            if at < leaf.count {
                let is_dense = layout::kind(leaf.reference) == DENSE;
                let (row, col) = if is_dense {
                    (at >> self.d_log2, at & ((1 << self.d_log2) - 1))
                } else {
                    layout::unpack(u32::from(node.coordinates.load(at as usize)))
                };
                if !is_dense || node.slots.load(at as usize).to_bits() != 0 {
                    element = if self.is_transposed == 0 { row as u16 } else { col as u16 };
                }
            }
            chunk.elements.store((of_chunk * QUAD + slot) as usize, element);
        }
    }
}
