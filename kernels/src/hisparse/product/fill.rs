use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use super::bits::{leaf_words, Bits};
use super::pattern::Pattern;
use super::staged::{self, Stage, Staged};
use super::sums::Sums;
use super::{state, Factor};
use crate::block::count_scan::CountScan;
use crate::hisparse::layout;
use crate::hisparse::node::Pool;
use crate::hisparse::pool_mut::{NodeMut, PoolMut};
use crate::hisparse::runs::Run;

/// Bytes of shared memory that [`HiSparseMultiplyLeaves`] is launched with, for `sums` values of so many bytes.
pub const fn product_shared_bytes(d_log2: u32, state: u32, sums: u32, value_bytes: u32) -> u32 {
    let leaves = staged::bytes(d_log2, state & state::A_TRANSPOSED != 0)
        + staged::bytes(d_log2, state & state::B_TRANSPOSED != 0);
    // The sums are aligned to their size; the pattern of B's leaves is in the room of A's, which comes later.
    sums * value_bytes + (4 + 2) * leaf_words(d_log2) + leaves
}

kernel! {
    /// Writes the entries of C's leaves: a block a leaf. Sums are in shared memory where there is room, else in the leaf.
    pub struct HiSparseMultiplyLeaves<V: Float> {
        /// A's pool as words.
        pub a_words: Global<u32>,
        /// The same, as coordinates.
        pub a_coordinates: Global<u16>,
        /// The same, as values.
        pub a_slots: Global<V>,
        /// B's pool as words.
        pub b_words: Global<u32>,
        /// The same, as coordinates.
        pub b_coordinates: Global<u16>,
        /// The same, as values.
        pub b_slots: Global<V>,
        /// Pairs of references to leaves, that of A in the lower half.
        pub pairs: Global<u64>,
        /// The first pair of each leaf that C may have, and the number of all pairs.
        pub starts: Global<u32>,
        /// Of each leaf that C has, as a run, its number among those that it may have, and its entries.
        pub leaves: Global<u64>,
        /// References to C's leaves.
        pub references: Global<u32>,
        /// C's pool as words, all zero in leaves but for counts.
        pub words: GlobalMut<u32>,
        /// The same, as coordinates.
        pub coordinates: GlobalMut<u16>,
        /// The same, as values.
        pub slots: GlobalMut<V>,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
        /// Sums that there is room for in shared memory.
        pub room: u32,
        /// A's factor.
        pub a_scale: V,
        /// B's factor.
        pub b_scale: V,
    }
    shared: CountScan::<u32, BLOCK>::BYTES;
    body: HiSparseMultiplyLeaves::multiply_leaves::<BLOCK>;
    entries: {
        hisparse_multiply_leaves_f32 in hisparse_product: <V = f32>, 256 x 1;
        hisparse_multiply_leaves_f64 in hisparse_product: <V = f64>, 256 x 1 resident 5;
    }
}

impl<V: Float> HiSparseMultiplyLeaves<V> {
    #[inline(always)]
    fn multiply_leaves<const BLOCK: usize>(self, mut arena: Arena) {
        let Self { words, coordinates, slots, .. } = self;
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let mut arena =
            Arena::dynamic(product_shared_bytes(self.d_log2, self.state, self.room, V::SIZE as u32));
        let sums: Shared<V> = arena.take(self.room as usize);
        // Its leaf of B lies where the pairs' leaves come later.
        let mut pattern_arena = arena;
        let pattern = Pattern::take(&mut pattern_arena, self.d_log2);
        let c = Bits::take(&mut arena, self.d_log2);
        let factor = |words, coordinates, slots, transposed| Factor {
            pool: Pool { words, coordinates, slots },
            is_transposed: self.state & transposed != 0,
            d_log2: self.d_log2,
        };
        let a = factor(self.a_words, self.a_coordinates, self.a_slots, state::A_TRANSPOSED);
        let b = factor(self.b_words, self.b_coordinates, self.b_slots, state::B_TRANSPOSED);
        let leaf = thread::block() as usize;
        let run = Run::from_word(self.leaves.load(leaf));
        let (first, end) = (self.starts.load(run.first as usize), self.starts.load(run.first as usize + 1));
        let product = Product::<V, BLOCK> {
            a: Stage::take(&mut arena, a),
            b: Stage::take(&mut arena, b),
            c,
            ranks: arena.take(leaf_words(self.d_log2) as usize),
            pairs: self.pairs,
            first,
            end,
            d_log2: self.d_log2,
        };
        pattern.find::<V, BLOCK>(a, b, self.pairs, first, end);
        product.rank(scan);
        let node =
            PoolMut { words, coordinates, slots }.node(self.references.load(leaf), run.len, self.d_log2);
        let scale = |sum| self.a_scale * (self.b_scale * sum);
        if run.len <= self.room {
            let mut sum = thread::index();
            while sum < run.len {
                sums.store(sum as usize, V::ZERO);
                sum += BLOCK as u32;
            }
            product.add(sums);
            product.write(sums, node, scale);
        } else {
            product.add(node);
            product.write(node, node, scale);
        }
    }
}

/// A leaf of C.
#[derive(Clone, Copy)]
struct Product<V, const BLOCK: usize> {
    a: Stage<V>,
    b: Stage<V>,
    /// Its entries.
    c: Bits,
    /// Of each word of `c`, how many entries come before it.
    ranks: Shared<u16>,
    pairs: Global<u64>,
    /// Its pairs.
    first: u32,
    end: u32,
    d_log2: u32,
}

impl<V: Float, const BLOCK: usize> Product<V, BLOCK> {
    /// Counts the entries before each word.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn rank(self, scan: CountScan<u32, BLOCK>) {
        let words = leaf_words(self.d_log2);
        let share = words.div_ceil(BLOCK as u32);
        let (first, end) = (thread::index() * share, ((thread::index() + 1) * share).min(words));
        let mut count = 0;
        let mut word = first;
        while word < end {
            count += self.c.load(word).count_ones();
            word += 1;
        }
        let mut before = scan.exclusive(count).before;
        let mut word = first;
        while word < end {
            self.ranks.store(word as usize, before as u16);
            before += self.c.load(word).count_ones();
            word += 1;
        }
    }

    /// Adds the products of all pairs up. There is a barrier behind.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add(self, sums: impl Sums<V>) {
        let mut pair = self.first;
        while pair < self.end {
            let references = self.pairs.load(pair as usize);
            self.a.clear::<BLOCK>();
            self.b.clear::<BLOCK>();
            thread::barrier();
            let a = self.a.fill::<BLOCK>(references as u32);
            let b = self.b.fill::<BLOCK>((references >> 32) as u32);
            thread::barrier();
            self.add_pair(a, b, sums);
            thread::barrier();
            pair += 1;
        }
    }

    /// Adds the products of a pair: a row of C's leaf is shared by as many threads as there are for it, and each has
    /// every so many-th column.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add_pair(self, a: Staged<V>, b: Staged<V>, sums: impl Sums<V>) {
        let threads = BLOCK as u32 >> self.d_log2;
        let threads_log2 = if threads > 1 { threads.trailing_zeros() } else { 0 };
        let own_columns = every(threads_log2) << (thread::index() & ((1 << threads_log2) - 1));
        let row_words = self.c.row_words();
        let mut row = thread::index() >> threads_log2;
        while row < 1 << self.d_log2 {
            let mut a_word = 0;
            while a_word < row_words {
                let mut inners = a.rows().load(self.c.place(row, 0) + a_word);
                while inners != 0 {
                    let inner = 32 * a_word + inners.trailing_zeros();
                    inners &= inners - 1;
                    self.add_row(row, inner, a.value(row, inner), b, own_columns, sums);
                }
                a_word += 1;
            }
            row += BLOCK as u32 >> threads_log2;
        }
    }

    /// Adds the products of an entry of A with a row of B, in some columns of each word.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add_row(self, row: u32, inner: u32, a_value: V, b: Staged<V>, own_columns: u32, sums: impl Sums<V>) {
        let mut word = 0;
        while word < self.c.row_words() {
            let mut own = b.rows().load(self.c.place(inner, 0) + word) & own_columns;
            if own != 0 {
                let c_word = self.c.place(row, 0) + word;
                let (c_bits, rank) = (self.c.load(c_word), u32::from(self.ranks.load(c_word as usize)));
                while own != 0 {
                    let bit = own.trailing_zeros();
                    own &= own - 1;
                    let below = (1 << bit) - 1;
                    let col = 32 * word + bit;
                    let rank = rank + (c_bits & below).count_ones();
                    sums.add(rank, row, col, (a_value, b.value(inner, col)));
                }
            }
            word += 1;
        }
    }

    /// Writes the leaf's entries.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn write(self, sums: impl Sums<V>, node: NodeMut<V>, scale: impl Fn(V) -> V) {
        let mut word = thread::index();
        while word < leaf_words(self.d_log2) {
            let mut bits = self.c.load(word);
            let mut rank = u32::from(self.ranks.load(word as usize));
            while bits != 0 {
                let place = 32 * word + bits.trailing_zeros();
                bits &= bits - 1;
                let (row, col) = (place >> self.d_log2, place & ((1 << self.d_log2) - 1));
                node.put(rank, layout::pack(row, col), scale(sums.get(rank, row, col)));
                rank += 1;
            }
            word += BLOCK as u32;
        }
    }
}

/// A bit of every 2ⁿ.
#[inline(always)]
fn every(log2: u32) -> u32 {
    // 2³² − 1 is 2 to the power of 2ⁿ, less one, times that pattern, for n up to 5.
    let one = (1_u64 << (1 << log2)) - 1;
    (0xffff_ffff_u64 / one) as u32
}
