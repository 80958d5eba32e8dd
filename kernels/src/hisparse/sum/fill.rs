use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut};

use super::large::Bitmaps;
use super::pairs::Pairs;
use super::small::{self, Keys};
use super::{merge_shared_bytes, state, tiny, Place, Side, Sink};
use crate::block::count_scan::CountScan;
use crate::hisparse::node::Pool;
use crate::hisparse::pool_mut::{NodeMut, PoolMut};

kernel! {
    /// Writes the entries of sums of leaves: `share` pairs a block.
    pub struct HiSparseAddLeaves<V: Float> {
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
        /// Pairs of references, that to a leaf of A in the lower half.
        pub pairs: Global<u64>,
        /// The pair where there are no others, of the roots; else zero.
        pub root: u64,
        /// Entries of each pair's sum.
        pub counts: Global<u32>,
        /// References to the sums.
        pub references: Global<u32>,
        /// The sum's pool as words, all zero in leaves but for counts.
        pub words: GlobalMut<u32>,
        /// The same, as coordinates.
        pub coordinates: GlobalMut<u16>,
        /// The same, as values.
        pub slots: GlobalMut<V>,
        /// Pairs.
        pub len: u32,
        /// Pairs of a block, at most one a thread.
        pub share: u32,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
        /// A's factor.
        pub a_scale: V,
        /// B's factor.
        pub b_scale: V,
    }
    shared: CountScan::<u32, BLOCK>::BYTES + BLOCK / 32 * 4;
    body: HiSparseAddLeaves::add_leaves::<BLOCK>;
    entries: {
        hisparse_add_leaves_f32 in hisparse_sum: <V = f32>, 128 x 1 resident 8;
        hisparse_add_leaves_f64 in hisparse_sum: <V = f64>, 128 x 1 resident 8;
    }
}

impl<V: Float> HiSparseAddLeaves<V> {
    #[inline(always)]
    fn add_leaves<const BLOCK: usize>(self, mut arena: Arena) {
        let Self { words, coordinates, slots, .. } = self;
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let masks = arena.take(BLOCK / thread::WARP_SIZE as usize);
        let merging = Arena::dynamic(merge_shared_bytes(self.d_log2, BLOCK as u32));
        let (keys, bitmaps) =
            (Keys::take(merging, BLOCK as u32), Bitmaps::<BLOCK>::take(merging, scan, self.d_log2));
        let side = |words, coordinates, slots, is_transposed| Side {
            pool: Pool { words, coordinates, slots },
            is_transposed,
            d_log2: self.d_log2,
        };
        let a = side(self.a_words, self.a_coordinates, self.a_slots, false);
        let b = side(self.b_words, self.b_coordinates, self.b_slots, self.state & state::B_TRANSPOSED != 0);
        let pool = PoolMut { words, coordinates, slots };
        let sink = |number: u32| {
            let (count, reference) =
                (self.counts.load(number as usize), self.references.load(number as usize));
            Leaf {
                a: Addend { is_scaled: self.state & state::A_SCALED != 0, factor: self.a_scale },
                b: Addend { is_scaled: self.state & state::B_SCALED != 0, factor: self.b_scale },
                sum: pool.node(reference, count, self.d_log2),
            }
        };
        Pairs { a, b, words: self.pairs, root: self.root, len: self.len, share: self.share }
            .for_each::<BLOCK>(
                masks,
                |part| small::takes(part, BLOCK as u32),
                |number, pair| tiny::merge(a, b, pair, &sink(number)),
                |number, pair| keys.merge(a, b, pair, &sink(number)),
                |number, pair| bitmaps.merge(a, b, pair, &sink(number)),
            );
    }
}

/// What a matrix's values are multiplied with.
struct Addend<V> {
    is_scaled: bool,
    factor: V,
}

impl<V: Float> Addend<V> {
    #[inline(always)]
    fn value(&self, value: V) -> V {
        // What is not multiplied keeps its bits, those of a NaN too.
        if self.is_scaled {
            self.factor * value
        } else {
            value
        }
    }
}

/// The sum of one pair.
struct Leaf<V> {
    a: Addend<V>,
    b: Addend<V>,
    sum: NodeMut<V>,
}

impl<V: Float> Sink<V> for Leaf<V> {
    #[inline(always)]
    fn is_ordered(&self) -> bool {
        !self.sum.is_dense()
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn put(&self, Place { rank, coordinates }: Place, a: Option<V>, b: Option<V>) {
        let value = match (a, b) {
            (Some(a), Some(b)) => self.a.value(a) + self.b.value(b),
            (Some(a), None) => self.a.value(a),
            (None, Some(b)) => self.b.value(b),
            (None, None) => V::ZERO,
        };
        self.sum.put(rank, coordinates, value);
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn join(&self, Place { rank, coordinates }: Place, slot: V, is_of_b: bool) {
        let value = if is_of_b { self.b.value(slot) } else { self.a.value(slot) };
        // A zero of the other that a dense leaf holds as −0 is added like a zero: the sum is 0 or −0 with either, which a
        // dense leaf holds as −0, or what this one has.
        self.sum.put(rank, coordinates, value + self.sum.slot(rank, coordinates));
    }
}
