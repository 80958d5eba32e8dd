//! SpMV by the queue scheduler: y += αAx, in no particular order.

use evenpath_simt::{device, kernel, Arena};

use super::add_products::AddProducts;
use super::dense;
use super::queues::Queues;
use super::traverse::{traverse, traverse_shared_bytes};
use super::tree::{DenseRows, EntryOperation, LoadedEntries, Tree};
use crate::spmv::AtomicFloat;

kernel! {
    /// Adds α·scale·Ax to y by atomic operations, in no particular order. A is the content of the tree or its transpose.
    pub struct HiSparseQueuedSpmv<V: AtomicFloat> {
        /// The tree.
        pub tree: Tree<V>,
        /// The queues.
        pub queues: Queues,
        /// The product.
        pub product: AddProducts<V>,
    }
    shared: traverse_shared_bytes(BLOCK);
    body: HiSparseQueuedSpmv::queued_spmv;
    entry: hisparse_queued_spmv_{V} in hisparse_queue_{V}: (V, R) in [(f32, 7), (f64, 5)], 128 x 1 resident R;
}

impl<V: AtomicFloat> EntryOperation<V> for AddProducts<V> {
    /// Sums neighbors of one row first.
    #[device(track_caller)]
    fn entries<const N: usize>(&mut self, row: u32, col: u32, entries: LoadedEntries<V, N>) {
        // The row is in the high byte of coordinates; for the transpose in the low one.
        let (row_shift, col_shift) = (8 - 8 * self.transposed, 8 * self.transposed);
        let (base, x_base) = if self.transposed == 0 { (row, col) } else { (col, row) };
        let LoadedEntries { coordinates, values, present } = entries;
        let mut products = [V::ZERO; N];
        for k in 0..N {
            let col = coordinates[k] >> col_shift & 0xff;
            products[k] = self.x.load_if((x_base + col) as usize, present[k]);
        }
        for k in 0..N {
            products[k] = if present[k] { values[k] * products[k] } else { V::ZERO };
        }
        let mut sum = products[0];
        let mut last = coordinates[0] >> row_shift & 0xff;
        let mut has_sum = present[0];
        for k in 1..N {
            let row = coordinates[k] >> row_shift & 0xff;
            if present[k] {
                if has_sum && row != last {
                    self.add(base, last, sum);
                    sum = V::ZERO;
                }
                (last, has_sum) = (row, true);
            }
            sum += products[k];
        }
        if has_sum {
            self.add(base, last, sum);
        }
    }

    #[device(track_caller)]
    fn rows(&mut self, row: u32, col: u32, rows: DenseRows<V>) {
        if self.transposed == 0 {
            dense::add_rows(*self, row, col, rows);
        } else {
            dense::add_columns(*self, row, col, rows);
        }
    }
}

impl<V: AtomicFloat> HiSparseQueuedSpmv<V> {
    #[device]
    fn queued_spmv(self, arena: Arena) {
        traverse(arena, self.tree, self.queues, self.product);
    }
}
