//! The diagonal of a tree, by the queue scheduler.

use evenpath_simt::{device, kernel, parameters, Arena, GlobalMut};

use super::{traverse, traverse_shared_bytes, EntryOperation, LoadedEntries, Queues, Region, Tree};
use crate::spmv::AtomicFloat;

kernel! {
    /// Writes the entries on the diagonal of a tree, and visits only the nodes on it.
    pub struct HiSparseDiagonal<V: AtomicFloat> {
        /// The tree.
        pub tree: Tree<V>,
        /// The queues.
        pub queues: Queues,
        /// The output.
        pub diagonal: Diagonal<V>,
    }
    shared: traverse_shared_bytes(BLOCK);
    body: HiSparseDiagonal::diagonal;
    entry: hisparse_diagonal_{V} in hisparse_queue_{V}: (V, R) in [(f32, 7), (f64, 5)], 128 x 1 resident R;
}

parameters! {
    /// The diagonal of a scaled tree.
    pub struct Diagonal<V: AtomicFloat> {
        /// An element per row or column, whichever are fewer. Those without an entry are left as they are.
        pub elements: GlobalMut<V>,
        /// Factor of the tree's values.
        pub scale: V,
        /// 1 if values are to be multiplied by the factor, else 0.
        pub is_scaled: u32,
    }
}

impl<V: AtomicFloat> EntryOperation<V> for Diagonal<V> {
    #[device]
    fn enters(&self, region: Region) -> bool {
        region.row == region.col
    }

    #[device(track_caller)]
    fn entries<const N: usize>(&mut self, row: u32, col: u32, entries: LoadedEntries<V, N>) {
        for k in 0..N {
            let (row, col) = (row + (entries.coordinates[k] >> 8), col + (entries.coordinates[k] & 0xff));
            if entries.present[k] && row == col {
                let value = entries.values[k];
                let value = if self.is_scaled == 0 { value } else { self.scale * value };
                self.elements.store(row as usize, value);
            }
        }
    }
}

impl<V: AtomicFloat> HiSparseDiagonal<V> {
    #[device]
    fn diagonal(self, arena: Arena) {
        traverse(arena, self.tree, self.queues, self.diagonal);
    }
}
