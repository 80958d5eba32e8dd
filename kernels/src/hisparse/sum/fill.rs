use evenpath_simt::{device, kernel, thread, Arena, Float};

use super::large::Bitmaps;
use super::levels::{LevelTile, SumPlaces};
use super::memory::merge_shared_bytes;
use super::pairs::NodePairs;
use super::sink::{Sink, SumPlace};
use super::small::{self, PairKeys};
use super::{state, tiny};
use crate::block::count_scan::CountScan;
use crate::hisparse::pool_mut::{NodeMut, PoolMut};

kernel! {
    /// Writes all nodes of a sum: the entries of leaves, the counts of sparse nodes, and references to children.
    pub struct HiSparseAddLeaves<V: Float> {
        /// The pairs of leaves.
        pub pairs: NodePairs<V>,
        /// The nodes of the sum.
        pub nodes: SumPlaces,
        /// The number of the first leaf.
        pub first_leaf: u32,
        /// The sum's pool, which is zero.
        pub sum: PoolMut<V>,
        /// A's factor.
        pub a_scale: V,
        /// B's factor.
        pub b_scale: V,
    }
    shared: CountScan::<u32, BLOCK>::BYTES + BLOCK / 32 * 4;
    body: HiSparseAddLeaves::add_leaves::<BLOCK>;
    entry: hisparse_add_leaves_{V} in hisparse_sum: (V, R) in [(f32, 7), (f64, 8)], 128 x 1 resident R;
}

impl<V: Float> HiSparseAddLeaves<V> {
    #[device]
    fn add_leaves<const BLOCK: usize>(self, mut arena: Arena) {
        let NodePairs { levels, state, d_log2, .. } = self.pairs;
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let masks = arena.take(BLOCK / thread::WARP_SIZE as usize);
        let merging = Arena::dynamic(merge_shared_bytes(d_log2, BLOCK as u32));
        let (keys, bitmaps) =
            (PairKeys::take(merging, BLOCK as u32), Bitmaps::<BLOCK>::take(merging, scan, d_log2));
        let Some(tile) = levels.tile::<BLOCK>(thread::block()) else { return };
        self.link(tile);
        let (a, b) = self.pairs.sides();
        let sink = |number: u32| {
            let node = (self.first_leaf + number) as usize;
            let (count, reference) = (self.nodes.counts.load(node), self.nodes.references.load(node));
            LeafSum {
                a: Addend { is_scaled: state & state::A_SCALED != 0, factor: self.a_scale },
                b: Addend { is_scaled: state & state::B_SCALED != 0, factor: self.b_scale },
                sum: self.sum.node(reference, count, d_log2),
            }
        };
        self.pairs.for_each::<BLOCK>(
            tile,
            masks,
            |handle| small::takes(handle, BLOCK as u32),
            |number, pair| tiny::merge(a, b, pair, &sink(number)),
            |number, pair| keys.merge(a, b, pair, &sink(number)),
            |number, pair| bitmaps.merge(a, b, pair, &sink(number)),
        );
    }

    /// Links the tile's leaves, and a share of the inner nodes, to their parents.
    #[device(track_caller)]
    fn link(&self, tile: LevelTile) {
        let (pool, d_log2) = (self.sum.inner(), self.pairs.d_log2);
        let mut node = thread::block() * thread::block_size() + thread::index();
        while node < self.first_leaf {
            self.nodes.link(node, pool, d_log2);
            node += tile.tiles * thread::block_size();
        }
        let leaf = tile.first + thread::index();
        if leaf < tile.end {
            self.nodes.link(self.first_leaf + leaf, pool, d_log2);
        }
    }
}

/// The factor of a matrix's values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addend<V> {
    pub(super) is_scaled: bool,
    pub(super) factor: V,
}

impl<V: Float> Addend<V> {
    #[device]
    pub(super) fn value(&self, value: V) -> V {
        // An unscaled value keeps its bits, including those of a NaN.
        if self.is_scaled {
            self.factor * value
        } else {
            value
        }
    }
}

/// The sum of one pair.
pub(super) struct LeafSum<V> {
    pub(super) a: Addend<V>,
    pub(super) b: Addend<V>,
    pub(super) sum: NodeMut<V>,
}

impl<V: Float> Sink<V> for LeafSum<V> {
    #[device]
    fn is_ordered(&self) -> bool {
        !self.sum.is_dense()
    }

    #[device(track_caller)]
    fn put(&self, SumPlace { index, coordinates }: SumPlace, a: Option<V>, b: Option<V>) {
        let value = match (a, b) {
            (Some(a), Some(b)) => self.a.value(a) + self.b.value(b),
            (Some(a), None) => self.a.value(a),
            (None, Some(b)) => self.b.value(b),
            (None, None) => V::ZERO,
        };
        self.sum.put(index, coordinates, value);
    }

    #[device(track_caller)]
    fn join(&self, SumPlace { index, coordinates }: SumPlace, slot: V, is_of_b: bool) {
        let value = if is_of_b { self.b.value(slot) } else { self.a.value(slot) };
        // A zero of the other operand that a dense leaf stores as −0 may be added as it is: the sum is this value, or a zero of
        // either sign, which a dense leaf stores as −0.
        self.sum.put(index, coordinates, value + self.sum.slot(index, coordinates));
    }
}
