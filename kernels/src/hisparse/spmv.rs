//! y = αAx + βy by the frozen schedule: one warp a part, each lane a quad at a time, wherever in the part that is.
//!
//! Every lane, or few of them in turns, has its own sums of the strip's elements, in shared memory. So no two lanes need
//! to know of each other, rows and columns are the same, leaves of any size fill a warp, and sums depend on the schedule
//! alone.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut};

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
        /// Two words a leaf, of [`ListedLeaf`].
        pub leaf_list: Global<u64>,
        /// Two words a part, of [`ListedPart`], and two for the end.
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
        /// 1 where the matrix is the transpose of its content, else 0.
        pub is_transposed: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: spmv::<V, BLOCK, ITEMS>;
    entries: {
        hisparse_spmv_f32 in hisparse_spmv: <V = f32>, 128 x 4;
        hisparse_spmv_f64 in hisparse_spmv: <V = f64>, 128 x 2;
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
    /// The word of its coordinates, likewise.
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
    /// The leaf at `index` of the list of `leaves`, for a part of `len` quads from `begin` on; the end of the leaf, or of
    /// the part. `packed` is what the list has there.
    #[inline(always)]
    fn new<V: Float>(packed: [u64; 2], is_listed: bool, begin: u64, len: i32) -> (Self, i32) {
        let leaf = ListedLeaf::unpack(packed);
        if !is_listed || leaf.first >= begin + len as u64 {
            return (Self { start: len, slots: 0, values: 0, words: 0, operand: 0 }, len);
        }
        let start = leaf.first.wrapping_sub(begin) as i32;
        let slots = leaf.count as i32;
        let (unit, kind) = (layout::unit(leaf.reference), layout::kind(leaf.reference));
        let (offset, form) = if kind == DENSE {
            (0, SQUARE)
        } else {
            let offset = layout::slots_offset(kind, leaf.count, V::SIZE as u32);
            (offset, if offset % UNIT_BYTES == 0 { ALIGNED } else { HALF })
        };
        let first_value = (unit + offset / UNIT_BYTES).wrapping_mul(UNIT_BYTES / V::SIZE as u32);
        let first_word = (unit * UNIT_WORDS).wrapping_add(COUNT_BYTES / 4);
        let lane_leaf = Self {
            start,
            slots: slots + 4 * start,
            values: first_value.wrapping_sub(4 * start as u32),
            words: first_word.wrapping_sub(2 * start as u32),
            operand: leaf.operand << 2 | form,
        };
        (lane_leaf, len.min(start + slots.unsigned_abs().div_ceil(QUAD) as i32))
    }
}

/// Quads of a lane, some of them perhaps none.
struct Quads<'a, V, const ITEMS: usize> {
    context: &'a Context<V>,
    leaves: LaneLeaf,
    /// This lane's first quad, and the end of all.
    first: i32,
    end: i32,
    /// Four values each, as bits.
    values: [[V; QUAD as usize]; ITEMS],
    /// Places of the strip's elements in the low 16 bits, of the operand's in the high ones, as they are stored: two words.
    coordinates: [[u32; 2]; ITEMS],
    /// Slots that are there, a bit each.
    present: [u32; ITEMS],
    operands: [u32; ITEMS],
}

/// What does not change during a launch.
struct Context<V> {
    words: Global<u32>,
    values: Global<V>,
    x: Global<V>,
    d_log2: u32,
    is_transposed: u32,
}

/// Asks for a quad's values and coordinates.
struct Load<'a, 'b, V, const ITEMS: usize>(&'a mut Quads<'b, V, ITEMS>);

impl<V: Float, const ITEMS: usize> Steps for Load<'_, '_, V, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let quad = quads.first + (item as u32 * thread::WARP_SIZE) as i32;
        // The last leaf that begins no later has the quad.
        let mut lane = 0;
        unroll_search(|step| {
            if warp::shuffle(warp::FULL, quads.leaves.start, lane + step) <= quad {
                lane += step;
            }
        });
        let slots = warp::shuffle(warp::FULL, quads.leaves.slots, lane);
        let first_value = warp::shuffle(warp::FULL, quads.leaves.values, lane).wrapping_add(4 * quad as u32);
        let word = warp::shuffle(warp::FULL, quads.leaves.words, lane).wrapping_add(2 * quad as u32) as usize;
        let operand = warp::shuffle(warp::FULL, quads.leaves.operand, lane);
        let form = operand & 3;
        let left = if quad < quads.end { slots - 4 * quad } else { 0 };
        let Context { words, values, d_log2, .. } = *quads.context;
        let is_there = left > 0;
        let first_value = first_value as usize;
        let packet = values.load_16_if(first_value, is_there);
        let rest = if V::SIZE == 8 { values.load_16_if(first_value + 2, left > 2) } else { [0; 2] };
        if form == SQUARE {
            let slot = (1 << (2 * d_log2)) - left as u32;
            let first = layout::pack(slot >> d_log2, slot & ((1 << d_log2) - 1));
            quads.coordinates[item] = [first | (first + 1) << 16, (first + 2) | (first + 3) << 16];
        } else {
            quads.coordinates[item] = [words.load_if(word, is_there), words.load_if(word + 1, left > 2)];
        }
        let low = if form == HALF { packet[1] } else { packet[0] };
        quads.values[item] = if V::SIZE == 8 {
            [V::from_bits(low), V::from_bits(packet[1]), V::from_bits(rest[0]), V::from_bits(rest[1])]
        } else {
            [
                V::from_bits(low),
                V::from_bits(low >> 32),
                V::from_bits(packet[1]),
                V::from_bits(packet[1] >> 32),
            ]
        };
        quads.operands[item] = operand;
        quads.present[item] = left as u32;
    }
}

#[inline(always)]
fn unroll_search(mut step: impl FnMut(u32)) {
    step(16);
    step(8);
    step(4);
    step(2);
    step(1);
}

/// Multiplies a quad's values with elements of the operand.
struct Multiply<'a, 'b, V, const ITEMS: usize>(&'a mut Quads<'b, V, ITEMS>);

impl<V: Float, const ITEMS: usize> Steps for Multiply<'_, '_, V, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let Context { x, d_log2, is_transposed, .. } = *quads.context;
        let x = x.skip((quads.operands[item] as usize >> 2) << d_log2);
        let left = quads.present[item] as i32;
        let is_square = quads.operands[item] & 3 == SQUARE;
        let mut present = 0;
        let mut operands = [V::ZERO; QUAD as usize];
        for slot in 0..QUAD as usize {
            let is_present = left > slot as i32 && (!is_square || quads.values[item][slot].to_bits() != 0);
            present |= u32::from(is_present) << slot;
            let (row, col) = layout::unpack(quads.coordinates[item][slot / 2] >> (16 * (slot % 2)));
            let place = if is_transposed != 0 { row } else { col };
            operands[slot] = x.load_if(place as usize, is_present);
        }
        for slot in 0..QUAD as usize {
            quads.values[item][slot] = quads.values[item][slot] * operands[slot];
        }
        quads.present[item] = present;
    }
}

/// Adds a quad's products to the lane's sums.
struct AddTo<'a, 'b, V, const ITEMS: usize> {
    quads: &'a Quads<'b, V, ITEMS>,
    sums: Sums<V>,
    memory: evenpath_simt::Shared<V>,
}

impl<V: Float, const ITEMS: usize> Steps for AddTo<'_, '_, V, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        for slot in 0..QUAD as usize {
            if self.quads.present[item] >> slot & 1 != 0 {
                let (row, col) = layout::unpack(self.quads.coordinates[item][slot / 2] >> (16 * (slot % 2)));
                let element = if self.quads.context.is_transposed != 0 { col } else { row };
                let place = self.sums.place(element) as usize;
                self.memory.store(place, self.memory.load(place) + self.quads.values[item][slot]);
            }
        }
    }
}

#[inline(always)]
fn spmv<V: Float, const BLOCK: usize, const ITEMS: usize>(
    _: Arena,
    words: Global<u32>,
    values: Global<V>,
    x: Global<V>,
    y: GlobalMut<V>,
    leaf_list: Global<u64>,
    part_list: Global<u64>,
    strip_parts: Global<u32>,
    sums: GlobalMut<u64>,
    arrived: GlobalMut<u32>,
    run: u32,
    leaves: u32,
    parts: u32,
    elements: u64,
    d_log2: u32,
    copies_log2: u32,
    is_transposed: u32,
    alpha: V,
    beta: V,
) {
    const { assert!(COUNT_BYTES == 4 && COORDINATES_BYTES == 2, "two coordinates a word, behind a word") };
    let part = thread::block() * (BLOCK as u32 / thread::WARP_SIZE) + thread::warp();
    if part >= parts {
        return;
    }
    let own_part = ListedPart::unpack(part_list.load_16(2 * part as usize));
    let len = (part_list.load(2 * part as usize + 2) - own_part.begin) as i32;
    let own_sums = Sums::<V>::take::<BLOCK>(d_log2, copies_log2);
    let context = Context { words, values, x, d_log2, is_transposed };
    let listed = |leaf: u32| leaf_list.load_16_if(2 * leaf as usize, leaf < leaves);
    let mut leaf = own_part.leaf + thread::lane();
    let mut packed = listed(leaf);
    let mut begin = 0;
    while begin < len {
        let (lane_leaf, own_end) = LaneLeaf::new::<V>(packed, leaf < leaves, own_part.begin, len);
        let end = warp::shuffle(warp::FULL, own_end, thread::WARP_SIZE - 1);
        leaf += thread::WARP_SIZE;
        packed = listed(leaf);
        while begin < end {
            let mut quads = Quads::<V, ITEMS> {
                context: &context,
                leaves: lane_leaf,
                first: begin + thread::lane() as i32,
                end,
                values: [[V::ZERO; QUAD as usize]; ITEMS],
                coordinates: [[0; 2]; ITEMS],
                present: [0; ITEMS],
                operands: [0; ITEMS],
            };
            unroll::<ITEMS>(&mut Load(&mut quads));
            unroll::<ITEMS>(&mut Multiply(&mut quads));
            own_sums.in_turns(|memory| unroll::<ITEMS>(&mut AddTo { quads: &quads, sums: own_sums, memory }));
            begin = end.min(begin + (ITEMS as u32 * thread::WARP_SIZE) as i32);
        }
    }
    let strip = own_part.strip as usize;
    let first = strip_parts.load(strip);
    let strip_parts = StripParts { first, count: strip_parts.load(strip + 1) - first, all: parts };
    own_sums.finish(strip_parts, part, TaggedSums::new(sums, arrived, run), |element, sum| {
        let index = strip << d_log2 | element as usize;
        if (index as u64) < elements {
            update(y, index, alpha, sum, beta);
        }
    });
}
