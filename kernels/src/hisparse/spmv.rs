//! y = αAx + βy by the frozen schedule: one block per part, whose threads take a few quads each at a time.
//!
//! 1. A block finds its part of a strip of leaves ([`HiSparseSpmv::spmv`]), and its threads start to load data of their
//!    first quads ([`Quads::begin`]).
//! 2. The products of a chunk of quads go to shared memory ([`Quads::multiply`]), to the places that the schedule assigns to them:
//!    those of one element of the result side by side.
//! 3. While the next chunk is on its way ([`Quads::advance`]), a few lanes for each element add up its products ([`sum_of`]). Steps 2
//!    and 3 are repeated for each chunk.
//! 4. The block updates y, or leaves its sums for the last part of the strip to arrive.
//!
//! So rows and columns are treated alike, and the order of additions depends on the schedule alone.

use evenpath_simt::{device, kernel, thread, warp, Arena, Element, Float, Global, Shared, Word};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES, UNIT_WORDS};
use super::node::Pool;
use super::places::{places_len, spread, Places, QuadPlaces};
use super::schedule::{FrozenSchedule, ListedLeaf, ListedPart, QUAD};
use super::strip::{self, StripParts};
use crate::block::tagged_sums::TaggedWords;
use crate::unroll::unroll;
use crate::update::Update;

kernel! {
    /// y = αAx + βy: one block per part.
    pub struct HiSparseSpmv<V: Float> {
        /// The tree's pool.
        pub pool: Pool<V>,
        /// The schedule.
        pub schedule: FrozenSchedule,
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
        hisparse_spmv_{V} in hisparse_spmv_{V}: (V, R) in [(f32, 4), (f64, 3)], T = Plain, 256 x 2 resident R;
        hisparse_spmv_transposed_{V} in hisparse_spmv_{V}: (V, R) in [(f32, 4), (f64, 3)], T = Transposed, 256 x 2 resident R;
    }
}

impl<V: Float> HiSparseSpmv<V> {
    #[device]
    fn spmv<T: Orientation, const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(COUNT_BYTES == 4 && COORDINATES_BYTES == 2, "two coordinates per word, after one word") };
        const { assert!(BLOCK == 1 << strip::BLOCK_LOG2, "a thread for each element of the largest strip") };
        let FrozenSchedule { part_list, strip_parts, parts, .. } = self.schedule;
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
            quad_places: [QuadPlaces(0); ITEMS],
            next_places: [QuadPlaces(0); ITEMS],
            next_leaves: [[0; 2]; ITEMS],
            values: [[V::ZERO; QUAD as usize]; ITEMS],
            operands: [[V::ZERO; QUAD as usize]; ITEMS],
            coordinates: [[0; 2]; ITEMS],
            operand_firsts: [0; ITEMS],
            slots: [0; ITEMS],
        };
        let mut total = V::ZERO;
        let (mut begin, mut chunk) = (0, part as usize * self.places.chunks as usize);
        quads.begin::<BLOCK>();
        while begin < len {
            // 2. Put the products of a chunk into their places.
            let range = self.places.range(chunk, element, self.d_log2);
            quads.multiply::<T>(products);
            thread::barrier();
            // 3. Add up those of each element, while the next chunk is on its way.
            quads.advance::<BLOCK>(begin + (BLOCK * ITEMS) as u32 + thread::index());
            total += sum_of(products, strip::share_of(range, self.d_log2));
            thread::barrier();
            begin += (BLOCK * ITEMS) as u32;
            chunk += 1;
        }
        // 4. Update y, or leave the sums for the strip's last part.
        let total = strip::exchange(products, self.d_log2, total);
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

/// The quads of a thread, some of which may be absent.
struct Quads<V: Word, const ITEMS: usize> {
    pool: Pool<V>,
    x: Global<V>,
    schedule: FrozenSchedule,
    places: Places,
    d_log2: u32,
    /// The part's first leaf, its first quad, and the number of its quads.
    leaf: u32,
    begin: u64,
    len: u32,
    /// Places of the products; none for an absent quad.
    quad_places: [QuadPlaces; ITEMS],
    /// The same for the next chunk, and the leaves of its quads as the list has them.
    next_places: [QuadPlaces; ITEMS],
    next_leaves: [[u64; 2]; ITEMS],
    values: [[V; QUAD as usize]; ITEMS],
    operands: [[V; QUAD as usize]; ITEMS],
    /// Packed coordinates, two per word, of quads of sparse leaves. They and the values are kept as they come from
    /// memory, because any computation would wait for them.
    coordinates: [[u32; 2]; ITEMS],
    /// The index of the operand's first element, and in the lowest bits how the leaf is stored.
    operand_firsts: [u32; ITEMS],
    /// The leaf's slot with which the quad begins.
    slots: [u32; ITEMS],
}

impl<V: Float, const ITEMS: usize> Quads<V, ITEMS> {
    /// Starts to load data of the thread's first quads.
    #[device]
    fn begin<const BLOCK: usize>(&mut self) {
        let first = thread::index();
        self.find::<BLOCK>(first);
        self.locate();
        self.load::<BLOCK>(first);
        self.find::<BLOCK>(first + (ITEMS * BLOCK) as u32);
    }

    /// Puts the products of the thread's quads into their places.
    #[device]
    fn multiply<T: Orientation>(&mut self, products: Shared<V>) {
        self.gather::<T>();
        self.locate();
        self.put(products);
    }

    /// Goes on to the next chunk, of which `first` is the thread's first quad.
    #[device]
    fn advance<const BLOCK: usize>(&mut self, first: u32) {
        self.load::<BLOCK>(first);
        self.find::<BLOCK>(first + (ITEMS * BLOCK) as u32);
    }
}

impl<V: Float, const ITEMS: usize> Quads<V, ITEMS> {
    /// Starts to load the places of the products of quads of the next chunk, of which `first` is the thread's first, counted from the
    /// part's.
    #[device]
    fn find<const BLOCK: usize>(&mut self, first: u32) {
        unroll!(for item in 0..ITEMS {
            let quad = first + (item * BLOCK) as u32;
            let place = (self.begin + u64::from(quad)) as usize;
            self.next_places[item] = QuadPlaces(self.places.quads.load_if(place, quad < self.len));
        });
    }

    /// Starts to load the leaves of quads of the next chunk.
    #[device]
    fn locate(&mut self) {
        unroll!(for item in 0..ITEMS {
            let places = self.next_places[item];
            let leaf = (self.leaf + places.leaf()) as usize;
            let list = self.schedule.leaf_list;
            self.next_leaves[item] = list.load_16_if(2 * leaf, places.present() != 0);
        });
    }

    /// Starts to load the values and coordinates of quads of the next chunk, which becomes the present one. The thread's first quad in
    /// it is `first`, counted from the part's.
    #[device]
    fn load<const BLOCK: usize>(&mut self, first: u32) {
        unroll!(for item in 0..ITEMS {
            self.quad_places[item] = self.next_places[item];
            let present = self.quad_places[item].present();
            let (is_quad, has_second_half) = (present != 0, present >> (QUAD / 2) != 0);
            let leaf = ListedLeaf::unpack(self.next_leaves[item]);
            let quad = self.begin + u64::from(first) + (item * BLOCK) as u64;
            let slot = (quad.wrapping_sub(leaf.first) as u32).wrapping_mul(QUAD);
            let (unit, kind) = (layout::unit(leaf.reference), layout::kind(leaf.reference));
            let offset =
                if kind == DENSE { 0 } else { layout::slots_offset(kind, leaf.count, V::SIZE as u32) };
            let first_value = (unit + offset / UNIT_BYTES).wrapping_mul(UNIT_BYTES / V::SIZE as u32);
            let value = first_value.wrapping_add(slot) as usize;
            let packet = self.pool.slots.load_16_if(value, is_quad);
            self.values[item] = if V::SIZE == 8 {
                let rest = self.pool.slots.load_16_if(value + 2, has_second_half);
                [packet[0], packet[1], rest[0], rest[1]].map(V::from_bits)
            } else {
                [packet[0], packet[0] >> 32, packet[1], packet[1] >> 32].map(V::from_bits)
            };
            let word = (unit * UNIT_WORDS + COUNT_BYTES / 4).wrapping_add(slot / 2) as usize;
            let is_sparse = kind != DENSE;
            self.coordinates[item] = [
                self.pool.words.load_if(word, is_quad && is_sparse),
                self.pool.words.load_if(word + 1, has_second_half && is_sparse),
            ];
            self.slots[item] = slot;
            let form = if !is_sparse {
                SQUARE
            } else if offset.is_multiple_of(UNIT_BYTES) {
                ALIGNED
            } else {
                HALF
            };
            self.operand_firsts[item] = leaf.operand << self.d_log2 | form;
        });
    }

    /// Starts to load the elements of the operand that the quads' values are multiplied by.
    #[device]
    fn gather<T: Orientation>(&mut self) {
        unroll!(for item in 0..ITEMS {
            let (present, coordinates) = (self.quad_places[item].present(), self.coordinates(item));
            for slot in 0..QUAD as usize {
                let (_, place) = T::places(coordinates[slot / 2] >> (16 * (slot % 2)));
                let element = (self.operand_firsts[item] & !FORMS | place) as usize;
                self.operands[item][slot] = self.x.load_if(element, present >> slot & 1 != 0);
            }
        });
    }

    /// Puts the products of the quads into their places.
    #[device]
    fn put(&self, products: Shared<V>) {
        unroll!(for item in 0..ITEMS {
            let (places, values) = (self.quad_places[item], self.values(item));
            for slot in 0..QUAD {
                if places.present() >> slot & 1 != 0 {
                    let product = values[slot as usize] * self.operands[item][slot as usize];
                    products.store(places.place(slot) as usize, product);
                }
            }
        });
    }
}

/// A sparse leaf whose values begin with a vector load.
const ALIGNED: u32 = 0;
/// A sparse leaf, of one or two entries, whose values begin in the second half of one.
const HALF: u32 = 1;
/// A dense leaf.
const SQUARE: u32 = 2;
const FORMS: u32 = 3;

impl<V: Float, const ITEMS: usize> Quads<V, ITEMS> {
    /// Returns the coordinates of a quad, whatever its leaf's form.
    #[device]
    fn coordinates(&self, item: usize) -> [u32; 2] {
        let slot = self.slots[item];
        let first = layout::pack(slot >> self.d_log2, slot & ((1 << self.d_log2) - 1));
        let of_row = [first | (first + 1) << 16, (first + 2) | (first + 3) << 16];
        if self.operand_firsts[item] & FORMS == SQUARE {
            of_row
        } else {
            self.coordinates[item]
        }
    }

    /// Returns the values of a quad, whatever its leaf's form.
    #[device]
    fn values(&self, item: usize) -> [V; QUAD as usize] {
        let values = self.values[item];
        if self.operand_firsts[item] & FORMS == HALF {
            [if V::SIZE == 8 { values[1] } else { values[2] }, values[3], V::ZERO, V::ZERO]
        } else {
            values
        }
    }
}

/// Products that a lane adds up alone; more are added up by its warp.
const SHORT: u32 = 32;

/// Returns the sum of the products in `range`. All lanes of a warp call it together.
#[device]
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

/// Roles of an entry's local coordinates: one indexes the result, the other the operand.
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
    #[device]
    fn places(coordinates: u32) -> (u32, u32) {
        layout::unpack(coordinates)
    }
}

impl Orientation for Transposed {
    #[device]
    fn places(coordinates: u32) -> (u32, u32) {
        let (row, col) = layout::unpack(coordinates);
        (col, row)
    }
}
