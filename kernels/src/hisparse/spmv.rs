//! y = αAx + βy by the frozen schedule: one warp per part, whose lanes take a quad each at a time.
//!
//! Each lane has its own copy of the strip's sums, in shared memory, or shares one with a few lanes that add in turns. So
//! lanes are independent of each other, rows and columns are treated alike, leaves of any size fill a warp, and the order of
//! additions depends on the schedule alone. Where parts are in teams, the warps of a block add up their sums.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use core::marker::PhantomData;

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, Shared};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES, UNIT_WORDS};
use super::node::Pool;
use super::schedule::{ListedLeaf, ListedPart, Schedule, QUAD, TEAM};
use super::strip::{StripParts, Sums};
use crate::block::tagged_sums::TaggedWords;
use crate::unroll::{unroll, Steps};
use crate::update::Update;

kernel! {
    /// y = αAx + βy: one warp per part.
    pub struct HiSparseSpmv<V: Float> {
        /// The tree's pool.
        pub pool: Pool<V>,
        /// The schedule.
        pub schedule: Schedule,
        /// The dense vector.
        pub x: Global<V>,
        /// The result.
        pub update: Update<V>,
        /// If a strip has several parts, or teams, D partial sums for each, twice, and two counters for each.
        pub sums: TaggedWords,
        /// Elements of y.
        pub elements: u64,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// log2 of the number of copies of the sums: 2 to 5.
        pub copies_log2: u32,
    }
    shared: 0;
    body: HiSparseSpmv::spmv::<T, BLOCK, ITEMS>;
    entries: {
        hisparse_spmv_f32 in hisparse_spmv_f32: <V = f32>, with T = Plain, 128 x 3 resident 6;
        hisparse_spmv_f64 in hisparse_spmv_f64: <V = f64>, with T = Plain, 128 x 2 resident 5;
        hisparse_spmv_transposed_f32 in hisparse_spmv_f32: <V = f32>, with T = Transposed, 128 x 3 resident 6;
        hisparse_spmv_transposed_f64 in hisparse_spmv_f64: <V = f64>, with T = Transposed, 128 x 2 resident 5;
    }
}

/// The leaves that a warp is working on, one per lane, as functions of a quad's number in the part, from which any lane
/// computes where its quad is.
#[derive(Clone, Copy)]
struct LaneLeaf {
    /// The first quad of the leaf, relative to the part's first; may be negative. The part's end or beyond for no leaf.
    start: i32,
    /// The leaf's slots plus four times `start`: minus four times a quad's number, this is what is left of them at the quad.
    slots: i32,
    /// The index of the values of quad 0, if the leaf extended to it; wraps around.
    values: u32,
    /// The word of its coordinates, likewise. Some word of the leaf if it is dense.
    words: u32,
    /// The index of the operand's segment, and in the lowest two bits how the leaf is stored.
    operand: u32,
}

/// A sparse leaf whose values begin with a vector load.
const ALIGNED: u32 = 0;
/// A sparse leaf whose values begin in the second half of one.
const HALF: u32 = 1;
/// A dense leaf.
const SQUARE: u32 = 2;

impl LaneLeaf {
    const NONE: Self = Self { start: 0, slots: 0, values: 0, words: 0, operand: 0 };

    /// The leaf of words from the list, for a part of `len` quads from `begin` on; and the end of the leaf or of the part,
    /// whichever comes first.
    #[inline(always)]
    fn new<V: Float>(packed: [u64; 2], is_listed: bool, begin: u64, len: i32) -> (Self, i32) {
        let leaf = ListedLeaf::unpack(packed);
        if !is_listed || leaf.first >= begin + len as u64 {
            return (Self { start: len, ..Self::NONE }, len);
        }
        let start = leaf.first.wrapping_sub(begin) as i32;
        let (unit, kind) = (layout::unit(leaf.reference), layout::kind(leaf.reference));
        let (offset, form) = if kind == DENSE {
            (0, SQUARE)
        } else {
            let offset = layout::slots_offset(kind, leaf.count, V::SIZE as u32);
            (offset, if offset.is_multiple_of(UNIT_BYTES) { ALIGNED } else { HALF })
        };
        let first_value = (unit + offset / UNIT_BYTES).wrapping_mul(UNIT_BYTES / V::SIZE as u32);
        let first_word = (unit * UNIT_WORDS).wrapping_add(COUNT_BYTES / 4);
        let lane_leaf = Self {
            start,
            slots: leaf.count as i32 + 4 * start,
            values: first_value.wrapping_sub((4 * start) as u32),
            words: first_word.wrapping_sub((2 * start) as u32),
            operand: leaf.operand << 2 | form,
        };
        (lane_leaf, len.min(start + leaf.count.div_ceil(QUAD) as i32))
    }

    /// The last leaf among all lanes' that begins at or before this lane's quad.
    #[inline(always)]
    fn of_quad(self, quad: i32) -> Self {
        let mut lane = 0;
        let mut search = |step| {
            if warp::shuffle(warp::FULL, self.start, lane + step) <= quad {
                lane += step;
            }
        };
        search(16);
        search(8);
        search(4);
        search(2);
        search(1);
        Self {
            start: 0,
            slots: warp::shuffle(warp::FULL, self.slots, lane),
            values: warp::shuffle(warp::FULL, self.values, lane),
            words: warp::shuffle(warp::FULL, self.words, lane),
            operand: warp::shuffle(warp::FULL, self.operand, lane),
        }
    }
}

/// Which local coordinate of an entry indexes the result, and which the operand.
pub trait Orientation {
    /// Indices in the strip and in the operand's segment, from packed coordinates in the low half of a word.
    fn places(coordinates: u32) -> (u32, u32);
}

/// The matrix is equal to its content.
#[derive(Debug)]
pub struct Plain;

/// The matrix is the transpose of its content.
#[derive(Debug)]
pub struct Transposed;

impl Orientation for Plain {
    #[inline(always)]
    fn places(coordinates: u32) -> (u32, u32) {
        layout::unpack(coordinates)
    }
}

impl Orientation for Transposed {
    #[inline(always)]
    fn places(coordinates: u32) -> (u32, u32) {
        let (row, col) = layout::unpack(coordinates);
        (col, row)
    }
}

/// The quads of a lane, some of which may be absent.
struct Quads<V, const ITEMS: usize> {
    words: Global<u32>,
    pool: Global<V>,
    x: Global<V>,
    d_log2: u32,
    leaves: LaneLeaf,
    /// The leaf of the lane's last quad.
    leaf: LaneLeaf,
    /// This lane's first quad, and the end of the warp's quads.
    first: i32,
    end: i32,
    values: [[V; QUAD as usize]; ITEMS],
    operands: [[V; QUAD as usize]; ITEMS],
    /// Packed coordinates, two per word.
    coordinates: [[u32; 2]; ITEMS],
    /// The number of slots from the quad's first to the leaf's last; zero or negative if there is no quad.
    left: [i32; ITEMS],
    /// [`LaneLeaf::operand`] of each quad's leaf.
    operand_leaves: [u32; ITEMS],
    /// For quads in `partial`, a bit for each slot that holds an entry.
    present: [u32; ITEMS],
    /// A bit for each quad that is not four consecutive entries in all lanes; the same in all lanes.
    partial: u32,
}

/// Finds a quad's leaf, and starts to load the quad's values and coordinates.
struct Load<'a, V, const ITEMS: usize>(&'a mut Quads<V, ITEMS>);

impl<V: Float, const ITEMS: usize> Steps for Load<'_, V, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let quad = quads.first + (item as u32 * thread::WARP_SIZE) as i32;
        let is_quad = quad < quads.end;
        if warp::any(warp::FULL, is_quad && quads.leaf.slots <= 4 * quad) {
            quads.leaf = quads.leaves.of_quad(quad);
        }
        let LaneLeaf { slots, values, words, operand, .. } = quads.leaf;
        let left = if is_quad { slots - 4 * quad } else { 0 };
        let value = values.wrapping_add(4 * quad as u32) as usize;
        let packet = quads.pool.load_16_if(value, left > 0);
        let rest = if V::SIZE == 8 { quads.pool.load_16_if(value + 2, left > 2) } else { [0; 2] };
        let word = words.wrapping_add(2 * quad as u32) as usize;
        quads.coordinates[item] =
            [quads.words.load_if(word, left > 0), quads.words.load_if(word + 1, left > 2)];
        quads.values[item] = if V::SIZE == 8 {
            [packet[0], packet[1], rest[0], rest[1]].map(V::from_bits)
        } else {
            [packet[0], packet[0] >> 32, packet[1], packet[1] >> 32].map(V::from_bits)
        };
        quads.left[item] = left;
        quads.operand_leaves[item] = operand;
    }
}

/// Starts to load the elements of the operand that a quad's values are multiplied by.
struct Gather<'a, V, T, const ITEMS: usize>(&'a mut Quads<V, ITEMS>, PhantomData<T>);

impl<V: Float, T: Orientation, const ITEMS: usize> Steps for Gather<'_, V, T, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let operand = quads.operand_leaves[item];
        let is_whole = quads.left[item] >= QUAD as i32 && operand & 3 != SQUARE;
        if !warp::all(warp::FULL, is_whole) {
            quads.partial |= 1 << item;
            quads.complete(item, operand & 3);
        }
        let first = (operand >> 2) << quads.d_log2;
        for slot in 0..QUAD as usize {
            let (_, place) = T::places(quads.coordinates[item][slot / 2] >> (16 * (slot % 2)));
            quads.operands[item][slot] = quads.x.load((first | place) as usize);
        }
    }
}

impl<V: Float, const ITEMS: usize> Quads<V, ITEMS> {
    /// No quads yet.
    #[inline(always)]
    fn new(pool: Pool<V>, x: Global<V>, d_log2: u32) -> Self {
        Self {
            words: pool.words,
            pool: pool.slots,
            x,
            d_log2,
            leaves: LaneLeaf::NONE,
            leaf: LaneLeaf::NONE,
            first: 0,
            end: 0,
            values: [[V::ZERO; QUAD as usize]; ITEMS],
            operands: [[V::ZERO; QUAD as usize]; ITEMS],
            coordinates: [[0; 2]; ITEMS],
            left: [0; ITEMS],
            operand_leaves: [0; ITEMS],
            present: [0; ITEMS],
            partial: 0,
        }
    }

    /// Completes a quad some of whose slots may be absent: these get the value 0 and the coordinates 0, which always index an
    /// element of the operand.
    #[inline(always)]
    fn complete(&mut self, item: usize, form: u32) {
        let left = self.left[item];
        if form == HALF {
            let [_, second, third, fourth] = self.values[item];
            let first = if V::SIZE == 8 { second } else { third };
            self.values[item] = [first, fourth, V::ZERO, V::ZERO];
        }
        let mut present = (1 << left.clamp(0, QUAD as i32)) - 1;
        if form == SQUARE {
            let slot = (1_u32 << (2 * self.d_log2)).wrapping_sub(left as u32);
            let first = layout::pack(slot >> self.d_log2, slot & ((1 << self.d_log2) - 1));
            self.coordinates[item] = [first | (first + 1) << 16, (first + 2) | (first + 3) << 16];
            for slot in 0..QUAD as usize {
                present &= !(u32::from(self.values[item][slot].to_bits() == 0) << slot);
            }
        }
        self.present[item] = present;
        for slot in 0..QUAD as usize {
            if present >> slot & 1 == 0 {
                self.values[item][slot] = V::ZERO;
                self.coordinates[item][slot / 2] &= !(0xffff << (16 * (slot % 2)));
            }
        }
    }
}

/// Clears the elements of the operand for absent slots, because they may be infinite or NaN.
struct Clear<'a, V, const ITEMS: usize>(&'a mut Quads<V, ITEMS>);

impl<V: Float, const ITEMS: usize> Steps for Clear<'_, V, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        if quads.partial >> item & 1 != 0 {
            for slot in 0..QUAD as usize {
                if quads.present[item] >> slot & 1 == 0 {
                    quads.operands[item][slot] = V::ZERO;
                }
            }
        }
    }
}

/// Adds a quad's products to a copy of the sums.
struct AddTo<'a, V, T, const ITEMS: usize> {
    quads: &'a Quads<V, ITEMS>,
    sums: Shared<V>,
    copies_log2: u32,
    orientation: PhantomData<T>,
}

impl<V: Float, T: Orientation, const ITEMS: usize> Steps for AddTo<'_, V, T, ITEMS> {
    /// The sums of all slots are loaded at once. A slot whose sum another one has changed since continues with that.
    #[inline(always)]
    fn step(&mut self, item: usize) {
        const SLOTS: usize = QUAD as usize;
        let (mut places, mut totals) = ([0; SLOTS], [V::ZERO; SLOTS]);
        for slot in 0..SLOTS {
            let (element, _) = T::places(self.quads.coordinates[item][slot / 2] >> (16 * (slot % 2)));
            places[slot] = (element << self.copies_log2) as usize;
            totals[slot] = self.sums.load(places[slot]);
        }
        for slot in 0..SLOTS {
            for earlier in 0..slot {
                if places[earlier] == places[slot] {
                    totals[slot] = totals[earlier];
                }
            }
            totals[slot] = self.quads.values[item][slot].fma(self.quads.operands[item][slot], totals[slot]);
        }
        for slot in 0..SLOTS {
            self.sums.store(places[slot], totals[slot]);
        }
    }
}

impl<V: Float> HiSparseSpmv<V> {
    #[inline(always)]
    fn spmv<T: Orientation, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        const { assert!(BLOCK as u32 == TEAM * thread::WARP_SIZE, "a team is a block") };
        const { assert!(COUNT_BYTES == 4 && COORDINATES_BYTES == 2, "two coordinates per word, after one word") };
        // 1. Find the warp's part, and clear its sums.
        let Schedule { leaf_list, part_list, leaves, parts, .. } = self.schedule;
        let part = thread::block() * (BLOCK as u32 / thread::WARP_SIZE) + thread::warp();
        if part >= parts {
            return;
        }
        let own_part = ListedPart::unpack(part_list.load_16(2 * part as usize));
        let len = (part_list.load(2 * part as usize + 2) - own_part.begin) as i32;
        let strip_parts = self.strip_parts(own_part.strip);
        let own_sums = Sums::<V>::take::<BLOCK>(self.d_log2, self.copies_log2);
        let listed = |leaf: u32| leaf_list.load_16_if(2 * leaf as usize, leaf < leaves);
        let mut leaf = own_part.leaf + thread::lane();
        let mut packed = listed(leaf);
        let mut begin = 0;
        let mut quads = Quads::<V, ITEMS>::new(self.pool, self.x, self.d_log2);
        while begin < len {
            // 2. Take the next 32 leaves, one per lane.
            let (lane_leaf, own_end) = LaneLeaf::new::<V>(packed, leaf < leaves, own_part.begin, len);
            quads.leaves = lane_leaf;
            quads.end = warp::shuffle(warp::FULL, own_end, thread::WARP_SIZE - 1);
            leaf += thread::WARP_SIZE;
            packed = listed(leaf);
            // 3. Add the products of their quads, `ITEMS` per lane at a time.
            while begin < quads.end {
                quads.first = begin + thread::lane() as i32;
                quads.partial = 0;
                unroll::<ITEMS>(&mut Load(&mut quads));
                unroll::<ITEMS>(&mut Gather(&mut quads, PhantomData::<T>));
                unroll::<ITEMS>(&mut Clear(&mut quads));
                own_sums.in_turns(|sums| {
                    let orientation = PhantomData::<T>;
                    unroll::<ITEMS>(&mut AddTo {
                        quads: &quads,
                        sums,
                        copies_log2: self.copies_log2,
                        orientation,
                    });
                });
                begin = quads.end.min(begin + (ITEMS as u32 * thread::WARP_SIZE) as i32);
            }
        }
        self.finish(own_sums, part, own_part.strip, strip_parts);
    }

    /// The parts of a strip, or its teams.
    #[inline(always)]
    fn strip_parts(&self, strip: u32) -> StripParts {
        let Schedule { strip_parts, parts, .. } = self.schedule;
        let (first, end) = (strip_parts.load(strip as usize), strip_parts.load(strip as usize + 1));
        let team_log2 = self.team_log2();
        StripParts { first: first >> team_log2, count: (end - first) >> team_log2, all: parts >> team_log2 }
    }

    /// log2 of the number of parts that are processed together.
    #[inline(always)]
    fn team_log2(&self) -> u32 {
        if self.schedule.team > 1 {
            TEAM.ilog2()
        } else {
            0
        }
    }

    /// 4. Updates y with the sums of a strip, or leaves those of its part, or team, for the strip's last one.
    #[inline(always)]
    fn finish(self, own_sums: Sums<V>, part: u32, strip: u32, strip_parts: StripParts) {
        let team_log2 = self.team_log2();
        let totals = own_sums.totals(team_log2 > 0);
        totals.finish(strip_parts, part >> team_log2, self.sums.sums(), |element, sum| {
            let index = (strip as usize) << self.d_log2 | element as usize;
            if (index as u64) < self.elements {
                self.update.store(index, sum);
            }
        });
    }
}
