//! Values of long rows of C whose products' destinations are known: one warp per part.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, GlobalMut, Shared};

use super::entries::{Operand, RowEntries};
use super::ranked::{part_len, RowParts};
use super::rows::RowList;
use crate::{GlobalCsr, Offset};

/// Steps whose products are in flight.
const IN_FLIGHT: usize = 4;

/// Entries of A that are staged at a time, one per lane.
const STAGED: usize = thread::WARP_SIZE as usize;

/// log2 of the smallest number of lanes per row of B.
const LEAST_LANES_LOG2: u32 = 2;

/// Bytes of shared memory for parts of up to `sums` entries.
pub const fn add_ranked_shared_bytes(sums: u32, value_bytes: u32, offset_bytes: u32) -> u32 {
    // Padding for arrays of 8-byte elements after one of 4-byte elements.
    (sums + 1) * value_bytes + STAGED as u32 * (8 + value_bytes + offset_bytes + 4 + 4)
}

kernel! {
    /// Adds up the products of parts of rows of C at their destinations, those of each entry in the order of A's entries.
    pub struct SpgemmAddRanked<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B.
        pub b: GlobalCsr<V, O>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// The rows.
        pub rows: RowList,
        /// Products, parts and cuts before each of the rows.
        pub before: RowParts,
        /// The destination of each product.
        pub destinations: Global<u16>,
        /// The places where parts cut the rows of B.
        pub cuts: Global<u32>,
        /// The index of each part's row among the rows.
        pub part_rows: Global<u32>,
        /// The number of parts. The grid is one block per part, the last part first: later rows of the list have more work.
        pub parts: u32,
        /// The largest number of entries of a part, at most [`part_len`].
        pub sums: u32,
    }
    shared: 0;
    body: SpgemmAddRanked::add_ranked;
    entries: {
        spgemm_add_ranked_{V}_{O} in spgemm_ranks: V in [f32, f64], O in [u32, u64], 32 x 1 resident 32;
        spgemm_add_ranked_{V}_{O} in spgemm_ranks_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 32 x 1 resident 16;
    }
}

impl<V: Arithmetic, O: Offset> SpgemmAddRanked<V, O> {
    #[device]
    fn add_ranked(self, _: Arena) {
        // 1. Find the warp's part, and clear its sums.
        let Self { a, b, parts: all_parts, sums: most_sums, .. } = self;
        let RowParts { first_products, first_parts, first_cuts } = self.before;
        let mut arena = Arena::dynamic(add_ranked_shared_bytes(most_sums, V::SIZE as u32, O::SIZE as u32));
        let sums: Shared<V> = arena.take(most_sums as usize);
        let part = all_parts - 1 - thread::block();
        let index = self.part_rows.load(part as usize);
        let row = self.rows.nth(index, true) as usize;
        let own = a.pattern().entries_if(row as u32, true);
        let first_part = first_parts.load(index as usize);
        let parts = (first_parts.load(index as usize + 1) - first_part) as u32;
        let part = part - first_part as u32;
        let c_begin = self.c_row_offsets.load(row) + u64::from(part) * u64::from(part_len(V::SIZE));
        let c_left = self.c_row_offsets.load(row + 1) - c_begin;
        let c_values = self.c_values.skip(c_begin as usize);
        let len = if c_left < u64::from(part_len(V::SIZE)) { c_left as u32 } else { part_len(V::SIZE) };
        thread::warp_stride(len, |place| sums.store(place as usize, V::ZERO));
        let cuts =
            if parts > 1 { self.cuts.skip(first_cuts.load(index as usize) as usize) } else { self.cuts };
        let part = Part {
            cuts,
            cut_from: if part > 0 { Some((part as usize - 1) * own.len as usize) } else { None },
            cut_to: if part + 1 < parts { Some(part as usize * own.len as usize) } else { None },
        };
        // 2. Add up its products, the entries of A staged 32 at a time.
        let stage = EntryStage::<V, O>::take(&mut arena);
        let destinations = self.destinations.skip(first_products.load(index as usize) as usize);
        let (mut first, mut products) = (0, 0_u64);
        while first < own.len {
            let staged = stage.bring((a, b), own, first + thread::lane(), part, &mut products);
            warp::sync(warp::FULL);
            stage.add(destinations, b.values.natural(), sums, staged);
            first += thread::WARP_SIZE;
        }
        // 3. Store the sums.
        thread::warp_stride(len, |place| c_values.store_streaming(place as usize, sums.load(place as usize)));
    }
}

/// The entries of rows of B in a part.
#[derive(Clone, Copy)]
struct Part {
    cuts: Global<u32>,
    /// The index of the cuts at its start, one per entry of A; `None` if it is the first part of a row.
    cut_from: Option<usize>,
    /// The index of the cuts at its end; `None` if it is the last part of a row.
    cut_to: Option<usize>,
}

/// Entries of A whose rows of B have entries in the part, in shared memory.
#[derive(Clone, Copy)]
struct EntryStage<V, O> {
    /// The number of the first product among those of the row of C.
    products: Shared<u64>,
    /// The first entry of B.
    begins: Shared<O>,
    lefts: Shared<V>,
    /// The number of entries of B; zero for the last staged entries.
    lens: Shared<u32>,
    /// The longest of the rows of B that would be processed side by side.
    longest: Shared<u32>,
}

/// The extent of a stage.
#[derive(Clone, Copy)]
struct StageExtent {
    entries: u32,
    /// log2 of the lanes per row of B, where rows are processed side by side.
    lanes_log2: u32,
}

impl<V: Arithmetic, O: Offset> EntryStage<V, O> {
    #[device]
    fn take(arena: &mut Arena) -> Self {
        Self {
            products: arena.take(STAGED),
            lefts: arena.take(STAGED),
            begins: arena.take(STAGED),
            lens: arena.take(STAGED),
            longest: arena.take(STAGED),
        }
    }

    /// Stages the lane's entry of A, the `place`th of its row, if it has products in the part; adds all its products to
    /// `products`. The warp must synchronize afterwards.
    #[device(track_caller)]
    fn bring(
        self,
        (a, b): (GlobalCsr<V, O>, GlobalCsr<V, O>),
        own: RowEntries,
        place: u32,
        part: Part,
        products: &mut u64,
    ) -> StageExtent {
        let is_entry = place < own.len;
        let column = a.pattern().column_if(own, place, is_entry);
        let left = a.value_if(own, place, is_entry);
        let from = match part.cut_from {
            Some(cuts) => part.cuts.load_if(cuts + place as usize, is_entry),
            None => 0,
        };
        let cut = match part.cut_to {
            Some(cuts) => part.cuts.load_if(cuts + place as usize, is_entry),
            None => u32::MAX,
        };
        let entries = b.pattern().entries_if(column, is_entry);
        let inclusive = warp::inclusive_sum(u64::from(entries.len));
        let first_product = *products + inclusive - u64::from(entries.len) + u64::from(from);
        *products += warp::shuffle(warp::FULL, inclusive, thread::WARP_SIZE - 1);
        let len = if cut < entries.len { cut - from } else { entries.len - from };
        let has_some = warp::ballot(warp::FULL, len > 0);
        let count = has_some.count_ones();
        // Entries without products come last.
        let before = warp::count_below(has_some);
        let slot = (if len > 0 { before } else { count + thread::lane() - before }) as usize;
        // A row of mean length gets one lane per entry.
        let mean = warp::reduce_add(len) / if count > 0 { count } else { 1 };
        let mut lanes_log2 = LEAST_LANES_LOG2;
        while lanes_log2 < thread::WARP_SIZE.ilog2() && mean > 1 << lanes_log2 {
            lanes_log2 += 1;
        }
        // The previous stage has been read.
        warp::sync(warp::FULL);
        self.products.store(slot, first_product);
        self.begins.store(slot, O::from_bits((entries.begin + from as usize) as u64));
        self.lefts.store(slot, left);
        self.lens.store(slot, len);
        warp::sync(warp::FULL);
        let len = self.lens.load(thread::lane() as usize);
        let longest = warp::reduce_groups(len, thread::WARP_SIZE >> lanes_log2, u32::max);
        self.longest.store(thread::lane() as usize, longest);
        StageExtent { entries: count, lanes_log2 }
    }

    /// Adds the staged products to the sums, those of each sum in the order of entries. Rows of B that fit their lanes are
    /// processed side by side and take turns; the whole warp takes others.
    #[device(track_caller)]
    fn add(self, destinations: Global<u16>, b_values: Global<V>, sums: Shared<V>, staged: StageExtent) {
        let mut next = Position { entry: 0, round: 0 };
        while next.entry < staged.entries {
            let mut steps = [WarpStep { slot: 0, turn: 0, turns: 0, is_some: false }; IN_FLIGHT];
            let mut destination = [0; IN_FLIGHT];
            let mut right = [V::ZERO; IN_FLIGHT];
            for at in 0..IN_FLIGHT {
                let (step, place, following) = self.step(next, staged);
                let product = self.products.load(step.slot as usize) as usize + place as usize;
                let nonzero = self.begins.load(step.slot as usize).to_usize() + place as usize;
                destination[at] = destinations.load_if(product, step.is_some);
                right[at] = b_values.load_if(nonzero, step.is_some);
                (steps[at], next) = (step, following);
            }
            for at in 0..IN_FLIGHT {
                let WarpStep { slot, turn: own, turns, is_some } = steps[at];
                let (left, sum) = (self.lefts.load(slot as usize), usize::from(destination[at]));
                let mut turn = 0;
                while turn < turns {
                    if turn == own && is_some {
                        sums.store(sum, left.fma(right[at], sums.load(sum)));
                    }
                    warp::sync(warp::FULL);
                    turn += 1;
                }
            }
        }
    }

    /// Returns the step starting at a position, the lane's place in its row of B, and the next position. After the last
    /// entry the step is empty.
    #[device(track_caller)]
    fn step(self, at: Position, staged: StageExtent) -> (WarpStep, u32, Position) {
        let (lane, lanes) = (thread::lane(), 1 << staged.lanes_log2);
        let groups = thread::WARP_SIZE >> staged.lanes_log2;
        let is_behind = at.entry >= staged.entries;
        let entry = at.entry % thread::WARP_SIZE;
        let is_alone = self.longest.load((entry & !(groups - 1)) as usize) > lanes;
        let turn = if is_alone { 0 } else { lane >> staged.lanes_log2 };
        let place = if is_alone { at.round + lane } else { lane & (lanes - 1) };
        let slot = entry + turn;
        let len = self.lens.load(slot as usize);
        let turns = if is_alone { 1 } else { groups };
        let round = at.round + thread::WARP_SIZE;
        let has_more = is_alone && round < len;
        let next = Position {
            entry: at.entry + if has_more { 0 } else { turns },
            round: if has_more { round } else { 0 },
        };
        (WarpStep { slot, turn, turns, is_some: !is_behind && place < len }, place, next)
    }
}

/// A staged entry, and how much of its row of B is done.
#[derive(Clone, Copy)]
struct Position {
    entry: u32,
    round: u32,
}

/// Work of a warp at a time: 32 entries of the row of B of one staged entry, or the rows of several.
#[derive(Clone, Copy)]
struct WarpStep {
    /// The lane's entry.
    slot: u32,
    /// The turn of this entry.
    turn: u32,
    /// The number of turns.
    turns: u32,
    /// True if the lane has a product.
    is_some: bool,
}
