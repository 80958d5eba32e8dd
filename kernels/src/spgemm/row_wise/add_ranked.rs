//! Values of long rows of C whose products' ranks are known: a warp a part.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::entries::{nth_row, Entries, Matrix};
use super::ranked::part_len;
use crate::block::count_scan::warp_inclusive;
use crate::Offset;

/// Steps whose products are on their way at once.
const IN_FLIGHT: usize = 4;

/// Entries of A that are staged at once, one a lane.
const STAGED: usize = thread::WARP_SIZE as usize;

/// Lanes a row of B at least, as a power of two.
const LEAST_LANES_LOG2: u32 = 2;

/// Bytes of shared memory, for parts of up to `sums` entries.
pub const fn add_ranked_shared_bytes(sums: u32, value_bytes: u32, offset_bytes: u32) -> u32 {
    // Arrays of 8 bytes an element may begin behind one of 4.
    (sums + 1) * value_bytes + STAGED as u32 * (8 + value_bytes + offset_bytes + 4 + 4)
}

kernel! {
    /// Adds up the products of parts of rows of C by their ranks, those of each entry in the order of A's entries.
    pub struct SpgemmAddRanked<V: Float, O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Values of A.
        pub a_values: Global<V>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Values of B.
        pub b_values: Global<V>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// Products before each of the rows.
        pub first_products: Global<u64>,
        /// Parts before each of the rows, and at the end.
        pub first_parts: Global<u64>,
        /// Cuts before each of the rows.
        pub first_cuts: Global<u64>,
        /// The rank of each product.
        pub ranks: Global<u16>,
        /// Where parts cut the rows of B.
        pub cuts: Global<u32>,
        /// Which of the rows each part is of.
        pub part_rows: Global<u32>,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Parts; the grid is one block a part, the last part first: rows of one list ascend in what they take.
        pub parts: u32,
        /// Entries of a part at most, [`part_len`] or fewer.
        pub sums: u32,
    }
    shared: 0;
    body: SpgemmAddRanked::add_ranked;
    entries: {
        spgemm_add_ranked_f32_u32 in spgemm_ranks: <V = f32, O = u32>, 32 x 1 resident 32;
        spgemm_add_ranked_f32_u64 in spgemm_ranks: <V = f32, O = u64>, 32 x 1 resident 32;
        spgemm_add_ranked_f64_u32 in spgemm_ranks: <V = f64, O = u32>, 32 x 1 resident 32;
        spgemm_add_ranked_f64_u64 in spgemm_ranks: <V = f64, O = u64>, 32 x 1 resident 32;
    }
}

impl<V: Float, O: Offset> SpgemmAddRanked<V, O> {
    #[inline(always)]
    fn add_ranked(self, _: Arena) {
        let Self { c_values, ranks, cuts, parts: all_parts, sums: most_sums, .. } = self;
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_values };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.a_columns, values: self.b_values };
        let mut arena = Arena::dynamic(add_ranked_shared_bytes(most_sums, V::SIZE as u32, O::SIZE as u32));
        let sums: Shared<V> = arena.take(most_sums as usize);
        let part = all_parts - 1 - thread::block();
        let index = self.part_rows.load(part as usize);
        let row = nth_row(self.list, self.listed, index, true) as usize;
        let own = a.entries_if(row as u32, true);
        let first_part = self.first_parts.load(index as usize);
        let parts = (self.first_parts.load(index as usize + 1) - first_part) as u32;
        let part = part - first_part as u32;
        let c_begin = self.c_row_offsets.load(row) + u64::from(part) * u64::from(part_len(V::SIZE));
        let c_left = self.c_row_offsets.load(row + 1) - c_begin;
        let c_values = c_values.skip(c_begin as usize);
        let len = if c_left < u64::from(part_len(V::SIZE)) { c_left as u32 } else { part_len(V::SIZE) };
        let mut place = thread::lane();
        while place < len {
            sums.store(place as usize, V::ZERO);
            place += thread::WARP_SIZE;
        }
        let cuts = if parts > 1 { cuts.skip(self.first_cuts.load(index as usize) as usize) } else { cuts };
        let part = Part {
            cuts,
            // Where the entries' cuts begin and end.
            cut_from: if part > 0 { Some((part as usize - 1) * own.len as usize) } else { None },
            cut_to: if part + 1 < parts { Some(part as usize * own.len as usize) } else { None },
        };
        let stage = Stage::<V, O>::take(&mut arena);
        let ranks = ranks.skip(self.first_products.load(index as usize) as usize);
        let (mut first, mut products) = (0, 0_u64);
        while first < own.len {
            let staged = stage.bring(a, b, own, first + thread::lane(), part, &mut products);
            warp::sync(warp::FULL);
            stage.add(ranks, self.b_values, sums, staged);
            first += thread::WARP_SIZE;
        }
        let mut place = thread::lane();
        while place < len {
            c_values.store_streaming(place as usize, sums.load(place as usize));
            place += thread::WARP_SIZE;
        }
    }
}

/// Which nonzeros of rows of B a part has.
#[derive(Clone, Copy)]
struct Part {
    cuts: Global<u32>,
    /// Where the cuts at its begin are, one an entry of A; nothing if it begins where rows do.
    cut_from: Option<usize>,
    /// Where the cuts at its end are; nothing if it ends where rows do.
    cut_to: Option<usize>,
}

/// Entries of A whose rows of B have nonzeros in the part, in shared memory.
#[derive(Clone, Copy)]
struct Stage<V, O> {
    /// The first product, among those of the row of C.
    products: Shared<u64>,
    /// The first nonzero of B.
    begins: Shared<O>,
    lefts: Shared<V>,
    /// Nonzeros of B; none in the last entries.
    lens: Shared<u32>,
    /// The longest of the rows of B that would be taken side by side.
    longest: Shared<u32>,
}

/// What is staged.
#[derive(Clone, Copy)]
struct Staged {
    entries: u32,
    /// Lanes of a row of B that is taken beside others, as a power of two.
    lanes_log2: u32,
}

impl<V: Float, O: Offset> Stage<V, O> {
    #[inline(always)]
    fn take(arena: &mut Arena) -> Self {
        Self {
            products: arena.take(STAGED),
            lefts: arena.take(STAGED),
            begins: arena.take(STAGED),
            lens: arena.take(STAGED),
            longest: arena.take(STAGED),
        }
    }

    /// Stages the lane's entry of A, the `place`th of its row, if it has products in the part; counts all its products.
    /// Wants a synchronisation of the warp behind, and has one at the start.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn bring(
        self,
        a: Matrix<V, O>,
        b: Matrix<V, O>,
        own: Entries,
        place: u32,
        part: Part,
        products: &mut u64,
    ) -> Staged {
        let is_entry = place < own.len;
        let column = a.column_if(own, place, is_entry);
        let left = a.value_if(own, place, is_entry);
        let from = match part.cut_from {
            Some(cuts) => part.cuts.load_if(cuts + place as usize, is_entry),
            None => 0,
        };
        let cut = match part.cut_to {
            Some(cuts) => part.cuts.load_if(cuts + place as usize, is_entry),
            None => u32::MAX,
        };
        let entries = b.entries_if(column, is_entry);
        let inclusive = warp_inclusive(u64::from(entries.len));
        let first_product = *products + inclusive - u64::from(entries.len) + u64::from(from);
        *products += warp::shuffle(warp::FULL, inclusive, thread::WARP_SIZE - 1);
        let len = if cut < entries.len { cut - from } else { entries.len - from };
        let has_some = warp::ballot(warp::FULL, len > 0);
        let count = has_some.count_ones();
        // Entries without products come last.
        let before = (has_some & ((1 << thread::lane()) - 1)).count_ones();
        let slot = (if len > 0 { before } else { count + thread::lane() - before }) as usize;
        // As many lanes as the mean.
        let mean = warp::reduce_add(len) / if count > 0 { count } else { 1 };
        let mut lanes_log2 = LEAST_LANES_LOG2;
        while lanes_log2 < thread::WARP_SIZE.ilog2() && mean > 1 << lanes_log2 {
            lanes_log2 += 1;
        }
        // What was staged before is used no more.
        warp::sync(warp::FULL);
        self.products.store(slot, first_product);
        self.begins.store(slot, O::from_bits((entries.begin + from as usize) as u64));
        self.lefts.store(slot, left);
        self.lens.store(slot, len);
        warp::sync(warp::FULL);
        let mut longest = self.lens.load(thread::lane() as usize);
        let mut distance = (thread::WARP_SIZE >> lanes_log2) / 2;
        while distance > 0 {
            longest = longest.max(warp::shuffle_xor(warp::FULL, longest, distance));
            distance /= 2;
        }
        self.longest.store(thread::lane() as usize, longest);
        Staged { entries: count, lanes_log2 }
    }

    /// Adds the staged products to the sums, those of each sum in the order of entries. Rows of B that fit their lanes
    /// are taken side by side, and have turns; others are taken by the whole warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add(self, ranks: Global<u16>, b_values: Global<V>, sums: Shared<V>, staged: Staged) {
        let mut next = Position { entry: 0, round: 0 };
        while next.entry < staged.entries {
            let mut steps = [Step { slot: 0, turn: 0, turns: 0, is_some: false }; IN_FLIGHT];
            let mut rank = [0; IN_FLIGHT];
            let mut right = [V::ZERO; IN_FLIGHT];
            for at in 0..IN_FLIGHT {
                let (step, place, following) = self.step(next, staged);
                let product = self.products.load(step.slot as usize) as usize + place as usize;
                let nonzero = self.begins.load(step.slot as usize).to_usize() + place as usize;
                rank[at] = ranks.load_if(product, step.is_some);
                right[at] = b_values.load_if(nonzero, step.is_some);
                (steps[at], next) = (step, following);
            }
            for at in 0..IN_FLIGHT {
                let Step { slot, turn: own, turns, is_some } = steps[at];
                let (left, sum) = (self.lefts.load(slot as usize), usize::from(rank[at]));
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

    /// The step from a position on, the lane's place in its row of B, and what comes after. Behind the last entry there
    /// is nothing.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn step(self, at: Position, staged: Staged) -> (Step, u32, Position) {
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
        (Step { slot, turn, turns, is_some: !is_behind && place < len }, place, next)
    }
}

/// A staged entry, and how far its row of B is done.
#[derive(Clone, Copy)]
struct Position {
    entry: u32,
    round: u32,
}

/// What a warp does at once: 32 nonzeros of the row of B of one entry, or the rows of several.
#[derive(Clone, Copy)]
struct Step {
    /// The lane's entry.
    slot: u32,
    /// When it has its turn.
    turn: u32,
    /// Entries.
    turns: u32,
    /// Whether the lane has a product.
    is_some: bool,
}
