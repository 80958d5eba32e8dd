//! The sum of the squares of a tree's entries, by the queue scheduler.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut};

use super::{traverse, traverse_shared_bytes, EntryOperation, LoadedEntries, Queues, Tree};
use crate::norm::{Squares, SUMS};
use crate::spmv::AtomicFloat;

kernel! {
    /// Adds the squares of all values of a tree to [sums](crate::norm), in no particular order. Squares and sums are of 64 bits.
    pub struct HiSparseSquares<V: AtomicFloat> {
        /// The tree.
        pub tree: Tree<V>,
        /// The queues.
        pub queues: Queues,
        /// The sums: of plain values, and of values times powers of two for large and for small ones.
        pub sums: GlobalMut<f64>,
    }
    shared: traverse_shared_bytes(BLOCK);
    body: HiSparseSquares::squares;
    entry: hisparse_squares_{V} in hisparse_queue_{V}: (V, R) in [(f32, 8), (f64, 5)], 128 x 1 resident R;
}

/// A thread's sums.
#[derive(Clone, Copy)]
struct AddSquares {
    sums: Squares<f64>,
    totals: GlobalMut<f64>,
}

impl<V: AtomicFloat> EntryOperation<V> for AddSquares {
    #[device]
    fn entries<const N: usize>(&mut self, _row: u32, _col: u32, entries: LoadedEntries<V, N>) {
        for k in 0..N {
            self.sums.add(if entries.present[k] { wide(entries.values[k]) } else { 0.0 });
        }
    }

    #[device(track_caller)]
    fn finish(&mut self) {
        let Squares { plain, large, small } = self.sums;
        let sums = [warp::reduce_add(plain), warp::reduce_add(large), warp::reduce_add(small)];
        if thread::lane() == 0 {
            for k in 0..SUMS {
                self.totals.fetch_add(k, sums[k], Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

/// Returns the same number with 64 bits.
#[device]
fn wide<V: AtomicFloat>(value: V) -> f64 {
    if V::SIZE == 4 {
        f64::from(f32::from_bits(value.to_bits() as u32))
    } else {
        f64::from_bits(value.to_bits())
    }
}

impl<V: AtomicFloat> HiSparseSquares<V> {
    #[device]
    fn squares(self, arena: Arena) {
        traverse(arena, self.tree, self.queues, AddSquares { sums: Squares::ZERO, totals: self.sums });
    }
}
