// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::codes::{self, Codes};
use super::origin::Origin;
use super::output::Output;
use super::tile::Tile;
use super::{keep, path_items, GROUP, GROUPS};
use crate::block::count_scan::CountScan;
use crate::{CsrView, Offset};

kernel! {
    /// Writes the results by the codes of [`WalkPath`](super::WalkPath): one block per tile of the path.
    pub struct FillTiles<V: Float, O: Offset> {
        /// A.
        pub a: CsrView<V, O>,
        /// B.
        pub b: CsrView<V, O>,
        /// Where the tiles begin, from [`CutPath`](super::CutPath).
        pub starts: Global<u64>,
        /// The codes of the path's items.
        pub codes: Global<u64>,
        /// The number of results of each tile.
        pub counts: Global<u32>,
        /// The state, with the number of results of each group of tiles.
        pub states: Global<u64>,
        /// The result.
        pub output: Output<V, O>,
        /// Which items make results, and their values: bits of [`keep`](super::keep).
        pub keep: u32,
        /// The factor of A; if it is zero, A's values are not read.
        pub alpha: V,
        /// The factor of B; if it is zero, B's values are not read.
        pub beta: V,
    }
    shared: BLOCK * ITEMS * 4 + CountScan::<u64, BLOCK>::BYTES + 4;
    body: FillTiles::fill::<BLOCK, ITEMS>;
    entries: {
        spadd_fill_f32_u32 in spadd_f32: <V = f32, O = u32>, 192 x 31;
        spadd_fill_f32_u64 in spadd_f32: <V = f32, O = u64>, 192 x 31;
        spadd_fill_f64_u32 in spadd_f64: <V = f64, O = u32>, 192 x 31 resident 5;
        spadd_fill_f64_u64 in spadd_f64: <V = f64, O = u64>, 192 x 31 resident 5;
    }
}

/// Results that a thread has in flight.
const BATCH: usize = 8;

impl<V: Float, O: Offset> FillTiles<V, O> {
    fn fill<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(ITEMS == codes::WORD_ITEMS as usize, "one word of codes per thread") };
        // 1. Find the origins of the tile's results in shared memory, by the threads' codes.
        let Self { a, b, output, .. } = self;
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let origins = arena.take(BLOCK * ITEMS);
        let number = thread::block();
        let items = path_items(a.pattern(), b.pattern());
        let tile = Tile::load(self.starts, number, items, (BLOCK * ITEMS) as u32);
        let share = Share::<BLOCK, ITEMS>::load(self.codes, number, &tile, self.keep);
        let before = results_before(self.counts, self.states, number);
        // The nonzero of A of a tile's first pair can be the last of the tile before.
        let ahead = tile.a_first.min(1);
        let total = share.scatter(scan, ahead as u32, origins);
        thread::barrier();

        // 2. Write the ends of the tile's rows.
        if output.has_pattern() {
            write_row_offsets::<O, BLOCK>(&tile, before, origins.skip(total as usize), output.row_offsets);
        }
        // 3. Write the results.
        let a_first = tile.a_first - ahead;
        let inputs = Inputs {
            a: (a.column_indices.skip(a_first), a.values.skip(a_first)),
            b: (b.column_indices.skip(tile.b_first), b.values.skip(tile.b_first)),
            keep: self.keep,
            alpha: self.alpha,
            beta: self.beta,
        };
        inputs.write::<O, BLOCK>(origins, total, output.skip(before as usize));
    }
}

/// The number of results of all tiles before `tile`, in every thread.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn results_before(counts: Global<u32>, states: Global<u64>, tile: u32) -> u64 {
    let (group, rest) = (tile / GROUP, tile % GROUP);
    let counts = counts.skip((tile - rest) as usize);
    let mut own = [0; (GROUP / thread::WARP_SIZE) as usize];
    for round in 0..own.len() {
        let index = thread::lane() + round as u32 * thread::WARP_SIZE;
        own[round] = counts.load_if(index as usize, index < rest);
    }
    let mut sum = 0;
    for round in 0..own.len() {
        sum += u64::from(own[round]);
    }
    let mut index = thread::lane();
    while index < group {
        sum += states.load(GROUPS + index as usize);
        index += thread::WARP_SIZE;
    }
    warp::reduce_add(sum)
}

/// Writes the row offsets at the row ends in the tile; the first tile also writes the first offset.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn write_row_offsets<O: Offset, const BLOCK: usize>(
    tile: &Tile,
    before: u64,
    ends: Shared<u32>,
    row_offsets: GlobalMut<O>,
) {
    if thread::block() == 0 && thread::index() == 0 {
        row_offsets.store(0, O::ZERO);
    }
    let row_offsets = row_offsets.skip(tile.first_row + 1);
    let mut row = thread::index();
    while row < tile.rows {
        row_offsets.store(row as usize, O::from_bits(before + u64::from(ends.load(row as usize))));
        row += BLOCK as u32;
    }
}

/// A thread's share of a tile.
struct Share<const BLOCK: usize, const ITEMS: usize> {
    codes: Codes,
    /// Items of the tile before it.
    diagonal: u32,
    items: u32,
    /// A bit for each item that is the end of a row.
    row_ends: u32,
    /// A bit for each item at which there is a result.
    results: u32,
    /// Whether the first item is paired with the one before it.
    is_paired: bool,
}

impl<const BLOCK: usize, const ITEMS: usize> Share<BLOCK, ITEMS> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load(words: Global<u64>, number: u32, tile: &Tile, keep: u32) -> Self {
        let place = number as usize * BLOCK + thread::index() as usize;
        let word = words.load(place);
        let word_before = words.load_if(place.max(1) - 1, place > 0);
        let diagonal = (thread::index() * ITEMS as u32).min(tile.items);
        let items = (tile.items - diagonal).min(ITEMS as u32);
        let codes = Codes::from_word(word);
        Self {
            codes,
            diagonal,
            items,
            row_ends: codes.row_ends(items),
            results: codes.results(keep, items),
            is_paired: Codes::from_word(word_before).is_pair(ITEMS as u32 - 1),
        }
    }

    /// Writes the origins of the tile's results to shared memory, and after them, for each row that ends in the tile, the number
    /// of results before its end. Returns the number of results. It has a barrier; another must follow before the memory is
    /// read.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn scatter(&self, scan: CountScan<u64, BLOCK>, ahead: u32, to: Shared<u32>) -> u32 {
        // A tile's counts are below 2¹⁵, so three fit in a word side by side.
        let pack =
            |results: u32, a: u32, rows: u32| u64::from(results) | u64::from(a) << 20 | u64::from(rows) << 40;
        let unpack =
            |word: u64| (word as u32 & 0xf_ffff, (word >> 20) as u32 & 0xf_ffff, (word >> 40) as u32);
        let Codes { takes_a, joins } = self.codes;
        let mask = codes::first(self.items);
        let takes_b = !takes_a & !joins & mask;
        let own = pack(self.results.count_ones(), (takes_a & mask).count_ones(), self.row_ends.count_ones());
        let counted = scan.exclusive(own);
        let (total, _, _) = unpack(counted.total);
        let (first, a, row) = unpack(counted.before);
        let b = self.diagonal - a - row;
        // Both nonzeros of a pair are passed at the second item, which is B's: until then, the origin is the pair.
        let pairs = (takes_a & joins) << 1 | u32::from(self.is_paired);
        let passes_a = takes_a & !joins | pairs;
        let mut place = (a + ahead - u32::from(self.is_paired)) * Origin::STEP_A + b * Origin::STEP_B;
        let mut result = to.skip(first as usize);
        for item in 0..ITEMS {
            let (of_a, of_b) = (passes_a >> item & 1 == 1, takes_b >> item & 1 == 1);
            let from_a = if of_a { Origin::FROM_A } else { 0 };
            let from_b = if of_b { Origin::FROM_B } else { 0 };
            if self.results >> item & 1 == 1 {
                result.store(0, place | from_a | from_b);
                result = result.skip(1);
            }
            if of_a {
                place += Origin::STEP_A;
            }
            if of_b {
                place += Origin::STEP_B;
            }
        }
        let (mut ends, mut end) = (self.row_ends, total + row);
        while ends != 0 {
            let is_before = codes::first(ends.trailing_zeros());
            to.store(end as usize, first + (self.results & is_before).count_ones());
            ends &= ends - 1;
            end += 1;
        }
        total
    }
}

/// Both matrices from the tile's first nonzeros on; A's from the one before, if there is one.
struct Inputs<V> {
    a: (Global<u32>, Global<V>),
    b: (Global<u32>, Global<V>),
    keep: u32,
    alpha: V,
    beta: V,
}

impl<V: Float> Inputs<V> {
    /// Writes `total` results, of the given origins.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn write<O: Offset, const BLOCK: usize>(&self, origins: Shared<u32>, total: u32, output: Output<V, O>) {
        let Output { column_indices, values, .. } = output;
        // The walk has found the origins of each result of a sum; otherwise they are the same for all results.
        let (kept_bits, fixed_bits) = match self.keep {
            keep if keep & keep::B != 0 => (u32::MAX, 0),
            keep if keep & keep::MULTIPLY != 0 => (!Origin::FROM, Origin::FROM),
            _ => (!Origin::FROM, Origin::FROM_A),
        };
        let mut first = thread::index();
        while first < total {
            let mut own = [Origin::NONE; BATCH];
            for item in 0..BATCH {
                let place = first + (item * BLOCK) as u32;
                if place < total {
                    own[item] = Origin::from_word(origins.load(place as usize) & kept_bits | fixed_bits);
                }
            }
            let mut own_columns = [0; BATCH];
            let mut own_values = [(V::ZERO, V::ZERO); BATCH];
            if output.has_pattern() {
                for item in 0..BATCH {
                    own_columns[item] = self.column(own[item]);
                }
            }
            if output.has_values() {
                for item in 0..BATCH {
                    own_values[item] = self.values(own[item]);
                }
                for item in 0..BATCH {
                    let place = first + (item * BLOCK) as u32;
                    if place < total {
                        values.store_streaming(place as usize, self.combine(own[item], own_values[item]));
                    }
                }
            }
            if output.has_pattern() {
                for item in 0..BATCH {
                    let place = first + (item * BLOCK) as u32;
                    if place < total {
                        column_indices.store_streaming(place as usize, own_columns[item]);
                    }
                }
            }
            first += (BATCH * BLOCK) as u32;
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn column(&self, origin: Origin) -> u32 {
        let of_a = self.a.0.load_if(origin.a(), origin.is_of_a());
        of_a | self.b.0.load_if(origin.b(), origin.is_of_b() && !origin.is_of_a())
    }

    /// The values of A and of B; zero if they are not read.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn values(&self, origin: Origin) -> (V, V) {
        (
            self.a.1.load_if(origin.a(), origin.is_of_a() && self.alpha != V::ZERO),
            self.b.1.load_if(origin.b(), origin.is_of_b() && self.beta != V::ZERO),
        )
    }

    #[inline(always)]
    fn combine(&self, origin: Origin, (a, b): (V, V)) -> V {
        let (a, b) = (self.alpha * a, self.beta * b);
        if self.keep & keep::MULTIPLY != 0 {
            return a * b;
        }
        // Negative zero: adding it changes no value.
        let nothing = V::from_bits(1 << (V::SIZE * 8 - 1));
        let a = if origin.is_of_a() { a } else { nothing };
        let b = if origin.is_of_b() { b } else { nothing };
        a + b
    }
}
