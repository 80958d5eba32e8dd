//! Accumulators for a leaf's products.

use evenpath_simt::{device, Float, Shared};

use crate::hisparse::layout;
use crate::hisparse::pool_mut::NodeMut;

/// The sums of a leaf of C. Between barriers, each is accessed by one thread only.
pub(super) trait LeafAccumulator<V: Float>: Copy {
    /// Adds a product to the sum at index `index` in the order of coordinates.
    fn add(self, index: u32, row: u32, col: u32, factors: (V, V));

    fn get(self, index: u32, row: u32, col: u32) -> V;
}

/// Sums in shared memory, which is zero before.
impl<V: Float> LeafAccumulator<V> for Shared<V> {
    #[device(track_caller)]
    fn add(self, index: u32, _: u32, _: u32, (a, b): (V, V)) {
        self.store(index as usize, a.fma(b, self.load(index as usize)));
    }

    #[device(track_caller)]
    fn get(self, index: u32, _: u32, _: u32) -> V {
        self.load(index as usize)
    }
}

/// Sums in the leaf itself, whose slots are zero before.
impl<V: Float> LeafAccumulator<V> for NodeMut<V> {
    #[device(track_caller)]
    fn add(self, index: u32, row: u32, col: u32, (a, b): (V, V)) {
        let sum = a.fma(b, self.get(index, row, col));
        self.put_slot(index, layout::pack(row, col), sum);
    }

    #[device(track_caller)]
    fn get(self, index: u32, row: u32, col: u32) -> V {
        self.slot(index, layout::pack(row, col))
    }
}
