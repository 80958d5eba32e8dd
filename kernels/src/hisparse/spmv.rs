//! y = αAx + βy by the frozen schedule: one warp a part, each lane a quad at a time, wherever in the part that is.
//!
//! Lanes have sums of the strip's elements of their own, in shared memory, or share them with a few that add in turns. So
//! no lane needs to know of another, rows and columns are the same, leaves of any size fill a warp, and sums depend on the
//! schedule alone.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use core::marker::PhantomData;

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES, UNIT_WORDS};
use super::schedule::{ListedLeaf, ListedPart, QUAD};
use super::strip::{StripParts, Sums};
use crate::block::tagged_sums::TaggedSums;
use crate::unroll::{unroll, Steps};
use crate::update::update;

kernel! {
    /// y = αAx + βy: one warp a part.
    pub struct HiSparseSpmv<V: Float> {
        /// The pool, as words.
        pub words: Global<u32>,
        /// The same, as values.
        pub values: Global<V>,
        /// The dense vector.
        pub x: Global<V>,
        /// The result; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Two words a leaf, of `ListedLeaf`.
        pub leaf_list: Global<u64>,
        /// Two words a part, of `ListedPart`, and two for the end.
        pub part_list: Global<u64>,
        /// The first part of each strip, and the number of parts at the end.
        pub strip_parts: Global<u32>,
        /// Where a strip has several parts, 64 bits for each 32 of a value: D values a part, twice.
        pub sums: GlobalMut<u64>,
        /// There, two counters a part, zero before and after.
        pub arrived: GlobalMut<u32>,
        /// The number of the run, neither zero nor that of the run before with these words.
        pub run: u32,
        /// Leaves.
        pub leaves: u32,
        /// Parts.
        pub parts: u32,
        /// Elements of y.
        pub elements: u64,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
        /// The logarithm of the number of lanes that have sums of their own: 2 to 5.
        pub copies_log2: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
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

/// The leaves that a warp has in hand, one a lane, as functions of a quad's number in the part, by which any lane finds
/// its quad.
#[derive(Clone, Copy)]
struct LaneLeaf {
    /// The first quad of the leaf, counted from the part's; may be before it. At the part's end, or behind, for no leaf.
    start: i32,
    /// The leaf's slots plus four times `start`: what is left of them at a quad is this less four times its number.
    slots: i32,
    /// The index of the first quad's values as of the quad 0; wraps around.
    values: u32,
    /// The word of its coordinates, likewise. Of a dense leaf, some word in it.
    words: u32,
    /// The place of the operand in leaves, and in the lowest two bits how the leaf is stored.
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

    /// The leaf at `index` of the list of `leaves`, for a part of `len` quads from `begin` on; the end of the leaf, or of
    /// the part. `packed` is what the list has there.
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

    /// The last leaf of all lanes' that begins no later than a quad, which each lane has its own of.
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

/// Which local coordinate of an entry is that of the result, and which that of the operand.
pub trait Orientation {
    /// Places in the strip and in the operand's segment, of packed coordinates in the low half of a word.
    fn places(coordinates: u32) -> (u32, u32);
}

/// The matrix is its content.
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

/// Quads of a lane, some of them perhaps none.
struct Quads<V, const ITEMS: usize> {
    words: Global<u32>,
    pool: Global<V>,
    x: Global<V>,
    d_log2: u32,
    leaves: LaneLeaf,
    /// The leaf of the last quad that was looked for.
    leaf: LaneLeaf,
    /// This lane's first quad, and the end of all.
    first: i32,
    end: i32,
    values: [[V; QUAD as usize]; ITEMS],
    operands: [[V; QUAD as usize]; ITEMS],
    /// Packed coordinates, two a word.
    coordinates: [[u32; 2]; ITEMS],
    /// Slots from the quad's first to the leaf's last; zero or less where there is no quad.
    left: [i32; ITEMS],
    /// [`LaneLeaf::operand`] of each quad's leaf.
    operand_leaves: [u32; ITEMS],
    /// Slots that are there, a bit each, of quads in `partial`.
    present: [u32; ITEMS],
    /// Quads that are not four neighbouring entries in all lanes, a bit each; the same in all lanes.
    partial: u32,
}

/// Finds a quad's leaf, and asks for its values and coordinates.
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

/// Asks for the elements of the operand that a quad's values are multiplied with.
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
    /// Completes a quad of which some slots may not be there: these get the value 0 and the coordinates 0, at which there is
    /// an element of the operand.
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

/// Clears the elements of the operand for slots that are not there, which may be infinite or no number.
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
    #[inline(always)]
    fn step(&mut self, item: usize) {
        for slot in 0..QUAD as usize {
            let (element, _) = T::places(self.quads.coordinates[item][slot / 2] >> (16 * (slot % 2)));
            let place = (element << self.copies_log2) as usize;
            let value = self.quads.values[item][slot];
            self.sums.store(place, value.fma(self.quads.operands[item][slot], self.sums.load(place)));
        }
    }
}

impl<V: Float> HiSparseSpmv<V> {
    #[inline(always)]
    fn spmv<T: Orientation, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { strip_parts, sums, .. } = self;
        const { assert!(COUNT_BYTES == 4 && COORDINATES_BYTES == 2, "two coordinates a word, behind a word") };
        let part = thread::block() * (BLOCK as u32 / thread::WARP_SIZE) + thread::warp();
        if part >= self.parts {
            return;
        }
        let own_part = ListedPart::unpack(self.part_list.load_16(2 * part as usize));
        let len = (self.part_list.load(2 * part as usize + 2) - own_part.begin) as i32;
        let own_sums = Sums::<V>::take::<BLOCK>(self.d_log2, self.copies_log2);
        let listed = |leaf: u32| self.leaf_list.load_16_if(2 * leaf as usize, leaf < self.leaves);
        let mut leaf = own_part.leaf + thread::lane();
        let mut packed = listed(leaf);
        let mut begin = 0;
        let mut quads = Quads::<V, ITEMS> {
            words: self.words,
            pool: self.values,
            x: self.x,
            d_log2: self.d_log2,
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
        };
        while begin < len {
            let (lane_leaf, own_end) = LaneLeaf::new::<V>(packed, leaf < self.leaves, own_part.begin, len);
            quads.leaves = lane_leaf;
            quads.end = warp::shuffle(warp::FULL, own_end, thread::WARP_SIZE - 1);
            leaf += thread::WARP_SIZE;
            packed = listed(leaf);
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
        let strip = own_part.strip as usize;
        let first = strip_parts.load(strip);
        let strip_parts = StripParts { first, count: strip_parts.load(strip + 1) - first, all: self.parts };
        own_sums.finish(strip_parts, part, TaggedSums::new(sums, self.arrived, self.run), |element, sum| {
            let index = strip << self.d_log2 | element as usize;
            if (index as u64) < self.elements {
                update(self.y, index, self.alpha, sum, self.beta);
            }
        });
    }
}
