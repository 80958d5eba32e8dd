//! SpMV by the queue scheduler: y += αAx, in no order.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, Arena, Global, GlobalMut};

use super::{dense, traverse, DenseRows, Entries, EntryOperation, Queues, Tree, SHARED_BYTES};
use crate::spmv::AtomicFloat;

kernel! {
    /// Adds α·scale·Ax to y, A being the content of the tree or its transpose, by atomic operations, in no order.
    pub struct HiSparseQueuedSpmv<V: AtomicFloat> {
        /// The pool, as words.
        pub words: Global<u32>,
        /// The pool, as values.
        pub values: Global<V>,
        /// Reference to the root, not null.
        pub root: u32,
        /// Levels below the root's.
        pub height: u32,
        /// Binary logarithm of a node's rows and columns.
        pub d_log2: u32,
        /// Places of the queues, [`PLACE_WORDS`](super::PLACE_WORDS) each, zero before the first run.
        pub places: GlobalMut<u64>,
        /// The queues' state, zero before and after.
        pub state: GlobalMut<u64>,
        /// Places of a queue.
        pub capacity: u32,
        /// The number of the run, neither 0 nor that of an earlier run with the same places.
        pub run: u32,
        /// 1 for the transpose, else 0.
        pub transposed: u32,
        /// The dense vector.
        pub x: Global<V>,
        /// What is added to.
        pub y: GlobalMut<V>,
        /// Factor of the values.
        pub scale: V,
        /// Factor of the product.
        pub alpha: V,
    }
    shared: SHARED_BYTES;
    body: HiSparseQueuedSpmv::queued_spmv::<BLOCK>;
    entries: {
        hisparse_queued_spmv_f32 in hisparse_queue_f32: <V = f32>, 128 x 1 resident 8;
        hisparse_queued_spmv_f64 in hisparse_queue_f64: <V = f64>, 128 x 1 resident 6;
    }
}

/// Adds products to y.
#[derive(Clone, Copy)]
pub(super) struct AddProducts<V> {
    pub(super) x: Global<V>,
    y: GlobalMut<V>,
    transposed: u32,
    scale: V,
    alpha: V,
}

impl<V: AtomicFloat> AddProducts<V> {
    /// Adds a sum of products to the element of y at a local index behind `base`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn add(self, base: u32, index: u32, sum: V) {
        let product = self.alpha * (self.scale * sum);
        self.y.fetch_add((base + index) as usize, product, Ordering::Relaxed, Scope::Device);
    }
}

impl<V: AtomicFloat> EntryOperation<V> for AddProducts<V> {
    /// Adds up neighbours of one row first.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn entries<const N: usize>(self, row: u32, col: u32, entries: Entries<V, N>) {
        // The row is the high byte of a coordinate; of the transpose the low one.
        let (row_shift, col_shift) = (8 - 8 * self.transposed, 8 * self.transposed);
        let (base, x_base) = if self.transposed == 0 { (row, col) } else { (col, row) };
        let Entries { coordinates, values, present } = entries;
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

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn rows(self, row: u32, col: u32, rows: DenseRows<V>) {
        if self.transposed == 0 {
            dense::add_rows(self, row, col, rows);
        } else {
            dense::add_columns(self, row, col, rows);
        }
    }
}

impl<V: AtomicFloat> HiSparseQueuedSpmv<V> {
    #[inline(always)]
    fn queued_spmv<const BLOCK: usize>(self, arena: Arena) {
        const { assert!(BLOCK == super::BLOCK as usize, "a thread a child") };
        let tree = Tree {
            words: self.words,
            values: self.values,
            root: self.root,
            height: self.height,
            d_log2: self.d_log2,
        };
        let queues =
            Queues { places: self.places, state: self.state, capacity: self.capacity, run: self.run };
        traverse(
            arena,
            tree,
            queues,
            AddProducts {
                x: self.x,
                y: self.y,
                transposed: self.transposed,
                scale: self.scale,
                alpha: self.alpha,
            },
        );
    }
}
