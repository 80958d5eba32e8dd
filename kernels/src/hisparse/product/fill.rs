use evenpath_simt::{device, kernel, thread, Arena, Float, Global, Shared};

use super::bits::{leaf_words, LeafBits};
use super::leaf_pairs::LeafPairs;
use super::pattern::LeafPattern;
use super::staged::{self, LeafStage, StagedLeaf};
use super::state;
use super::sums::LeafAccumulator;
use crate::block::count_scan::CountScan;
use crate::hisparse::layout;
use crate::hisparse::pool_mut::{NodeMut, PoolMut};
use crate::hisparse::runs::Run;

/// Bytes of shared memory that [`HiSparseMultiplyLeaves`] is launched with, for `sums` sums of `value_bytes` bytes.
pub const fn product_shared_bytes(d_log2: u32, state: u32, sums: u32, value_bytes: u32) -> u32 {
    let leaves = staged::bytes(d_log2, state & state::A_TRANSPOSED != 0)
        + staged::bytes(d_log2, state & state::B_TRANSPOSED != 0);
    // The sums are aligned to their size. The pattern of B's leaves uses the memory of A's, which are staged later.
    sums * value_bytes + (4 + 2) * leaf_words(d_log2) + leaves
}

kernel! {
    /// Writes the entries of C's leaves: one block per leaf. Sums are in shared memory if there is room, else in the leaf.
    pub struct HiSparseMultiplyLeaves<V: Float> {
        /// The pairs.
        pub pairs: LeafPairs<V>,
        /// Leaves of C, as runs: the number of each among those that C may have, and the number of its entries.
        pub leaves: Global<u64>,
        /// References to C's leaves.
        pub references: Global<u32>,
        /// C's pool, whose leaves are zero except for counts.
        pub c: PoolMut<V>,
        /// The number of sums that shared memory has room for.
        pub room: u32,
        /// A's factor.
        pub a_scale: V,
        /// B's factor.
        pub b_scale: V,
    }
    shared: CountScan::<u32, BLOCK>::BYTES;
    body: HiSparseMultiplyLeaves::multiply_leaves::<BLOCK>;
    entry: hisparse_multiply_leaves_{V} in hisparse_product: (V, R) in [(f32, 0), (f64, 5)], 256 x 1 resident R;
}

impl<V: Float> HiSparseMultiplyLeaves<V> {
    #[device]
    fn multiply_leaves<const BLOCK: usize>(self, mut arena: Arena) {
        // 1. Lay out shared memory.
        let LeafPairs { starts, state, d_log2, .. } = self.pairs;
        let (a, b) = self.pairs.factors();
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let mut arena = Arena::dynamic(product_shared_bytes(d_log2, state, self.room, V::SIZE as u32));
        let sums: Shared<V> = arena.take(self.room as usize);
        // The pattern's leaf of B uses memory in which the pairs' leaves are staged later.
        let mut pattern_arena = arena;
        let pattern = LeafPattern::take(&mut pattern_arena, d_log2);
        let c = LeafBits::take(&mut arena, d_log2);
        let leaf = thread::block() as usize;
        let run = Run::from_word(self.leaves.load(leaf));
        let (first, end) = (starts.load(run.first as usize), starts.load(run.first as usize + 1));
        let product = ProductLeaf::<V, BLOCK> {
            a: LeafStage::take(&mut arena, a),
            b: LeafStage::take(&mut arena, b),
            c,
            before: arena.take(leaf_words(d_log2) as usize),
            pairs: self.pairs.words,
            first,
            end,
            d_log2,
        };
        // 2. Find the leaf's pattern, and number its entries.
        pattern.find::<V, BLOCK>(self.pairs, first, end);
        product.count(scan);
        // 3. Add up the products, and write the leaf.
        let node = self.c.node(self.references.load(leaf), run.len, d_log2);
        let scale = |sum| self.a_scale * (self.b_scale * sum);
        if run.len <= self.room {
            thread::block_stride::<BLOCK>(run.len, |sum| sums.store(sum as usize, V::ZERO));
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
struct ProductLeaf<V: Float, const BLOCK: usize> {
    a: LeafStage<V>,
    b: LeafStage<V>,
    /// Its entries.
    c: LeafBits,
    /// The number of entries before each word of `c`.
    before: Shared<u16>,
    pairs: Global<u64>,
    /// Its pairs.
    first: u32,
    end: u32,
    d_log2: u32,
}

impl<V: Float, const BLOCK: usize> ProductLeaf<V, BLOCK> {
    /// Counts the entries before each word.
    #[device(track_caller)]
    fn count(self, scan: CountScan<u32, BLOCK>) {
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
            self.before.store(word as usize, before as u16);
            before += self.c.load(word).count_ones();
            word += 1;
        }
    }

    /// Adds up the products of all pairs. It ends with a barrier.
    #[device(track_caller)]
    fn add(self, sums: impl LeafAccumulator<V>) {
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

    /// Adds the products of a pair. The threads are divided evenly among the rows of C's leaf; those of one row take its
    /// columns in turn.
    #[device(track_caller)]
    fn add_pair(self, a: StagedLeaf<V>, b: StagedLeaf<V>, sums: impl LeafAccumulator<V>) {
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

    /// Adds the products of an entry of A with a row of B, in the columns of each word that `own_columns` marks.
    #[device(track_caller)]
    fn add_row(
        self,
        row: u32,
        inner: u32,
        a_value: V,
        b: StagedLeaf<V>,
        own_columns: u32,
        sums: impl LeafAccumulator<V>,
    ) {
        let mut word = 0;
        while word < self.c.row_words() {
            let mut own = b.rows().load(self.c.place(inner, 0) + word) & own_columns;
            if own != 0 {
                let c_word = self.c.place(row, 0) + word;
                let (c_bits, index) = (self.c.load(c_word), u32::from(self.before.load(c_word as usize)));
                while own != 0 {
                    let bit = own.trailing_zeros();
                    own &= own - 1;
                    let below = (1 << bit) - 1;
                    let col = 32 * word + bit;
                    let index = index + (c_bits & below).count_ones();
                    sums.add(index, row, col, (a_value, b.value(inner, col)));
                }
            }
            word += 1;
        }
    }

    /// Writes the leaf's entries.
    #[device(track_caller)]
    fn write(self, sums: impl LeafAccumulator<V>, node: NodeMut<V>, scale: impl Fn(V) -> V) {
        thread::block_stride::<BLOCK>(leaf_words(self.d_log2), |word| {
            let mut bits = self.c.load(word);
            let mut index = u32::from(self.before.load(word as usize));
            while bits != 0 {
                let place = 32 * word + bits.trailing_zeros();
                bits &= bits - 1;
                let (row, col) = (place >> self.d_log2, place & ((1 << self.d_log2) - 1));
                node.put(index, layout::pack(row, col), scale(sums.get(index, row, col)));
                index += 1;
            }
        });
    }
}

/// One bit of every 2ⁿ bits.
#[device]
fn every(log2: u32) -> u32 {
    // For n up to 5, 2³² − 1 is (2^(2ⁿ) − 1) times that pattern.
    let one = (1_u64 << (1 << log2)) - 1;
    (0xffff_ffff_u64 / one) as u32
}
