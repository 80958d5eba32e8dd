//! Accumulators for a leaf's products.

use evenpath_simt::{device, Float, Shared};

use crate::hisparse::layout;
use crate::hisparse::pool_mut::NodeMut;

/// The sums of a leaf of C. Between barriers, each is accessed by one thread only.
pub(super) trait LeafAccumulator<V: Float>: Copy {
    /// Adds a product to the sum of rank `rank` in the order of coordinates.
    fn add(self, rank: u32, row: u32, col: u32, factors: (V, V));

    fn get(self, rank: u32, row: u32, col: u32) -> V;
}

/// Sums in shared memory, which is zero before.
impl<V: Float> LeafAccumulator<V> for Shared<V> {
    #[device(track_caller)]
    fn add(self, rank: u32, _: u32, _: u32, (a, b): (V, V)) {
        self.store(rank as usize, a.fma(b, self.load(rank as usize)));
    }

    #[device(track_caller)]
    fn get(self, rank: u32, _: u32, _: u32) -> V {
        self.load(rank as usize)
    }
}

/// Sums in the leaf itself, whose slots are zero before.
impl<V: Float> LeafAccumulator<V> for NodeMut<V> {
    #[device(track_caller)]
    fn add(self, rank: u32, row: u32, col: u32, (a, b): (V, V)) {
        let sum = a.fma(b, self.get(rank, row, col));
        self.put_slot(rank, layout::pack(row, col), sum);
    }

    #[device(track_caller)]
    fn get(self, rank: u32, row: u32, col: u32) -> V {
        self.slot(rank, layout::pack(row, col))
    }
}
