//! y = αAx + βy by the frozen schedule: one block per part, whose threads take a few quads each at a time.
//!
//! The products of a chunk of quads go to shared memory, to the places that the schedule assigns to them: those of one element of
//! the result side by side. Then a few lanes for each element add up its products. So rows and columns are treated alike, and the
//! order of additions depends on the schedule alone.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use core::marker::PhantomData;

use evenpath_simt::{kernel, thread, warp, Arena, Element, Float, Global, Shared};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES, UNIT_WORDS};
use super::node::Pool;
use super::places::{places_len, spread, Places, QuadPlaces};
use super::schedule::{ListedLeaf, ListedPart, Schedule, QUAD};
use super::strip::{self, StripParts};
use crate::block::tagged_sums::TaggedWords;
use crate::unroll::{unroll, Steps};
use crate::update::Update;

kernel! {
    /// y = αAx + βy: one block per part.
    pub struct HiSparseSpmv<V: Float> {
        /// The tree's pool.
        pub pool: Pool<V>,
        /// The schedule.
        pub schedule: Schedule,
        /// The places of products, for chunks of as many quads as a block takes at a time.
        pub places: Places,
        /// The dense vector.
        pub x: Global<V>,
        /// The result.
        pub update: Update<V>,
        /// If a strip has several parts, D partial sums for each, twice, and two counters for each.
        pub sums: TaggedWords,
        /// Elements of y.
        pub elements: u64,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
    shared: places_len(BLOCK * ITEMS, V::SIZE) * V::SIZE + 4;
    body: HiSparseSpmv::spmv::<T, BLOCK, ITEMS>;
    entries: {
        hisparse_spmv_f32 in hisparse_spmv_f32: <V = f32>, with T = Plain, 256 x 3 resident 3;
        hisparse_spmv_f64 in hisparse_spmv_f64: <V = f64>, with T = Plain, 256 x 2 resident 3;
        hisparse_spmv_transposed_f32 in hisparse_spmv_f32: <V = f32>, with T = Transposed, 256 x 3 resident 3;
        hisparse_spmv_transposed_f64 in hisparse_spmv_f64: <V = f64>, with T = Transposed, 256 x 2 resident 3;
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

/// The quads of a thread, some of which may be absent.
struct Quads<V: Element, const ITEMS: usize> {
    pool: Pool<V>,
    x: Global<V>,
    schedule: Schedule,
    places: Places,
    d_log2: u32,
    /// The part's first leaf, its first quad, and the number of its quads.
    leaf: u32,
    begin: u64,
    len: u32,
    /// The first quad of the thread, counted from the part's.
    first: u32,
    /// Where the products belong; no places for an absent quad.
    quad_places: [QuadPlaces; ITEMS],
    values: [[V; QUAD as usize]; ITEMS],
    operands: [[V; QUAD as usize]; ITEMS],
    /// Packed coordinates, two per word.
    coordinates: [[u32; 2]; ITEMS],
    /// The index of the operand's first element.
    operand_firsts: [u32; ITEMS],
}

/// Starts to load the places of a quad's products.
struct Find<'a, V: Element, const ITEMS: usize, const BLOCK: usize>(&'a mut Quads<V, ITEMS>);

impl<V: Float, const ITEMS: usize, const BLOCK: usize> Steps for Find<'_, V, ITEMS, BLOCK> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let quad = quads.first + (item * BLOCK) as u32;
        let place = (quads.begin + u64::from(quad)) as usize;
        quads.quad_places[item] = QuadPlaces(quads.places.quads.load_if(place, quad < quads.len));
    }
}

/// Finds a quad's leaf, and starts to load the quad's values and coordinates.
struct Load<'a, V: Element, const ITEMS: usize, const BLOCK: usize>(&'a mut Quads<V, ITEMS>);

impl<V: Float, const ITEMS: usize, const BLOCK: usize> Steps for Load<'_, V, ITEMS, BLOCK> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let present = quads.quad_places[item].present();
        let (is_quad, has_second_half) = (present != 0, present >> (QUAD / 2) != 0);
        let leaf = (quads.leaf + quads.quad_places[item].leaf()) as usize;
        let leaf = ListedLeaf::unpack(quads.schedule.leaf_list.load_16_if(2 * leaf, is_quad));
        let quad = quads.begin + u64::from(quads.first) + (item * BLOCK) as u64;
        let slot = (quad.wrapping_sub(leaf.first) as u32).wrapping_mul(QUAD);
        let (unit, kind) = (layout::unit(leaf.reference), layout::kind(leaf.reference));
        let offset = if kind == DENSE { 0 } else { layout::slots_offset(kind, leaf.count, V::SIZE as u32) };
        let first_value = (unit + offset / UNIT_BYTES).wrapping_mul(UNIT_BYTES / V::SIZE as u32);
        let value = first_value.wrapping_add(slot) as usize;
        let packet = quads.pool.slots.load_16_if(value, is_quad);
        let mut values = if V::SIZE == 8 {
            let rest = quads.pool.slots.load_16_if(value + 2, has_second_half);
            [packet[0], packet[1], rest[0], rest[1]].map(V::from_bits)
        } else {
            [packet[0], packet[0] >> 32, packet[1], packet[1] >> 32].map(V::from_bits)
        };
        if !offset.is_multiple_of(UNIT_BYTES) {
            // One or two entries, whose values begin in the second half of a unit.
            let first = if V::SIZE == 8 { values[1] } else { values[2] };
            values = [first, values[3], V::ZERO, V::ZERO];
        }
        quads.values[item] = values;
        let word = (unit * UNIT_WORDS + COUNT_BYTES / 4).wrapping_add(slot / 2) as usize;
        let is_sparse = kind != DENSE;
        let stored = [
            quads.pool.words.load_if(word, is_quad && is_sparse),
            quads.pool.words.load_if(word + 1, has_second_half && is_sparse),
        ];
        let first = layout::pack(slot >> quads.d_log2, slot & ((1 << quads.d_log2) - 1));
        let of_row = [first | (first + 1) << 16, (first + 2) | (first + 3) << 16];
        quads.coordinates[item] = if is_sparse { stored } else { of_row };
        quads.operand_firsts[item] = leaf.operand << quads.d_log2;
    }
}

/// Starts to load the elements of the operand that a quad's values are multiplied by.
struct Gather<'a, V: Element, T, const ITEMS: usize>(&'a mut Quads<V, ITEMS>, PhantomData<T>);

impl<V: Float, T: Orientation, const ITEMS: usize> Steps for Gather<'_, V, T, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let quads = &mut *self.0;
        let present = quads.quad_places[item].present();
        for slot in 0..QUAD as usize {
            let (_, place) = T::places(quads.coordinates[item][slot / 2] >> (16 * (slot % 2)));
            let element = (quads.operand_firsts[item] | place) as usize;
            quads.operands[item][slot] = quads.x.load_if(element, present >> slot & 1 != 0);
        }
    }
}

/// Puts the products of a quad into their places.
struct Put<'a, V: Element, const ITEMS: usize>(&'a Quads<V, ITEMS>, Shared<V>);

impl<V: Float, const ITEMS: usize> Steps for Put<'_, V, ITEMS> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let Self(quads, products) = self;
        let places = quads.quad_places[item];
        for slot in 0..QUAD {
            if places.present() >> slot & 1 != 0 {
                let product = quads.values[item][slot as usize] * quads.operands[item][slot as usize];
                products.store(places.place(slot) as usize, product);
            }
        }
    }
}

impl<V: Float, const ITEMS: usize> Quads<V, ITEMS> {
    /// Multiplies the thread's quads from `first` on, and puts the products into their places.
    #[inline(always)]
    fn multiply<T: Orientation, const BLOCK: usize>(&mut self, first: u32, products: Shared<V>) {
        self.first = first;
        unroll::<ITEMS>(&mut Find::<V, ITEMS, BLOCK>(self));
        unroll::<ITEMS>(&mut Load::<V, ITEMS, BLOCK>(self));
        unroll::<ITEMS>(&mut Gather(self, PhantomData::<T>));
        unroll::<ITEMS>(&mut Put(self, products));
    }
}

/// Products that a lane adds up alone; more are added up by its warp.
const SHORT: u32 = 32;

/// The sum of the products in `range`. All lanes of a warp call it together.
#[inline(always)]
fn sum_of<V: Float>(products: Shared<V>, (start, end): (u32, u32)) -> V {
    let is_short = end - start <= SHORT;
    let mut sum = V::ZERO;
    let mut at = start;
    while is_short && at + QUAD <= end {
        let product = |k: u32| products.load(spread(at + k, V::SIZE) as usize);
        let (a, b, c, d) = (product(0), product(1), product(2), product(3));
        sum += (a + b) + (c + d);
        at += QUAD;
    }
    while is_short && at < end {
        sum += products.load(spread(at, V::SIZE) as usize);
        at += 1;
    }
    let mut long = warp::ballot(warp::FULL, !is_short);
    while long != 0 {
        let lane = long.trailing_zeros();
        long &= long - 1;
        let end = warp::shuffle(warp::FULL, end, lane);
        let mut at = warp::shuffle(warp::FULL, start, lane) + thread::lane();
        let mut part = V::ZERO;
        while at < end {
            part += products.load(spread(at, V::SIZE) as usize);
            at += thread::WARP_SIZE;
        }
        let total = warp::reduce_add(part);
        // Only lane 0 has the total of all lanes.
        let total = warp::shuffle(warp::FULL, total, 0);
        if thread::lane() == lane {
            sum = total;
        }
    }
    sum
}

impl<V: Float> HiSparseSpmv<V> {
    #[inline(always)]
    fn spmv<T: Orientation, const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(COUNT_BYTES == 4 && COORDINATES_BYTES == 2, "two coordinates per word, after one word") };
        const { assert!(BLOCK == 1 << strip::BLOCK_LOG2, "a thread for each element of the largest strip") };
        let Schedule { part_list, strip_parts, parts, .. } = self.schedule;
        // 1. Find the block's part.
        let part = thread::block();
        let own_part = ListedPart::unpack(part_list.load_16(2 * part as usize));
        let len = (part_list.load(2 * part as usize + 2) - own_part.begin) as u32;
        let strip = own_part.strip as usize;
        let (first, end) = (strip_parts.load(strip), strip_parts.load(strip + 1));
        let strip_parts = StripParts { first, count: end - first, all: parts };
        let products = arena.take::<V>(places_len(BLOCK * ITEMS, V::SIZE));
        let element = strip::element(self.d_log2);
        let mut quads = Quads::<V, ITEMS> {
            pool: self.pool,
            x: self.x,
            schedule: self.schedule,
            places: self.places,
            d_log2: self.d_log2,
            leaf: own_part.leaf,
            begin: own_part.begin,
            len,
            first: 0,
            quad_places: [QuadPlaces(0); ITEMS],
            values: [[V::ZERO; QUAD as usize]; ITEMS],
            operands: [[V::ZERO; QUAD as usize]; ITEMS],
            coordinates: [[0; 2]; ITEMS],
            operand_firsts: [0; ITEMS],
        };
        let mut total = V::ZERO;
        let (mut begin, mut chunk) = (0, part as usize * self.places.chunks as usize);
        while begin < len {
            // 2. Put the products of a chunk into their places.
            let range = self.places.range(chunk, element, self.d_log2);
            quads.multiply::<T, BLOCK>(begin + thread::index(), products);
            thread::barrier();
            // 3. Add up those of each element.
            total += sum_of(products, strip::share_of(range, self.d_log2));
            thread::barrier();
            begin += (BLOCK * ITEMS) as u32;
            chunk += 1;
        }
        // 4. Update y, or leave the sums for the strip's last part.
        strip::finish(
            strip_parts,
            part,
            self.sums.sums(),
            arena.take(1),
            self.d_log2,
            total,
            |element, sum| {
                let index = strip << self.d_log2 | element as usize;
                if (index as u64) < self.elements {
                    self.update.store(index, sum);
                }
            },
        );
    }
}
