//! The kernel, and its operation for the queue scheduler.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Float, Shared};

use super::super::large::{self, Bitmaps};
use super::super::marks::WarpBitmap;
use super::super::memory::larger;
use super::super::side::NodePair;
use super::super::small::{self, PairKeys};
use super::super::tiny;
use super::adder::Adder;
use super::pair::{QueuedPair, SumQueues, COPIES, LARGE, SMALL};
use super::parameters::{SumPool, SumTrees, ENTRIES};
use crate::block::count_scan::CountScan;
use crate::hisparse::layout::NULL;
use crate::hisparse::queue::{
    run, run_shared_bytes, FoundElement, Payload, QueueOperation, Queues, Specification, ROOT as ROOT_QUEUE,
};

kernel! {
    /// Adds two trees.
    pub struct HiSparseQueuedSum<V: Float> {
        /// The trees.
        pub trees: SumTrees<V>,
        /// The sum.
        pub sum: SumPool<V>,
        /// The queues, which are [`SumQueues`].
        pub queues: Queues,
    }
    shared: run_shared_bytes::<SumQueues>(BLOCK as u32) + CountScan::<u32, BLOCK>::BYTES + 4;
    body: HiSparseQueuedSum::queued_sum::<BLOCK>;
    entry: hisparse_queued_sum_{V} in hisparse_queued_sum: V in [f32, f64], 128 x 1 resident 4;
}

/// Threads of a block.
const BLOCK_SIZE: u32 = 128;

/// Words of a warp's shared memory, which a bitmap and keys use in turn.
const fn warp_words(d_log2: u32) -> u32 {
    larger(small::words(BLOCK_SIZE), large::words(d_log2))
}

/// Bytes of launch-sized shared memory of [`HiSparseQueuedSum`].
pub const fn queued_shared_bytes(d_log2: u32) -> u32 {
    larger(BLOCK_SIZE / thread::WARP_SIZE * warp_words(d_log2) * 4, large::bytes(d_log2))
}

impl<V: Float> HiSparseQueuedSum<V> {
    #[device]
    fn queued_sum<const BLOCK: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK == BLOCK_SIZE as usize, "shared memory is for blocks of this size") };
        let d_log2 = self.trees.d_log2;
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let reference = arena.take(1);
        // Warps and the block use the same memory, one after another.
        let all_words = (queued_shared_bytes(d_log2) / 4) as usize;
        let all: Shared<u32> = Arena::dynamic(queued_shared_bytes(d_log2)).take(all_words);
        let own = all.skip((thread::warp() * warp_words(d_log2)) as usize);
        let adder = Adder {
            trees: self.trees,
            sum: self.sum,
            marks: WarpBitmap::new(own, d_log2),
            keys: PairKeys::new(own, BLOCK as u32),
            bitmaps: Bitmaps::<BLOCK>::take(Arena::dynamic(large::bytes(d_log2)), scan, d_log2),
            reference,
            entries: 0,
        };
        run::<_, BLOCK_SIZE>(arena, self.queues, adder);
    }
}

impl<V: Float, const BLOCK: usize> Specification for Adder<V, BLOCK> {
    type Element = QueuedPair;
    const QUEUES: u32 = SumQueues::QUEUES;
    const LANES_LOG2: u32 = SumQueues::LANES_LOG2;
}

impl<V: Float, const BLOCK: usize> QueueOperation for Adder<V, BLOCK> {
    // The coordinates of inner nodes.
    const READS_WHAT_WAS_WRITTEN: bool = true;

    #[device]
    fn root(&self) -> QueuedPair {
        let SumTrees { a_root, b_root, height, .. } = self.trees;
        QueuedPair { a: a_root, b: b_root, height, ..QueuedPair::NONE }
    }

    #[device(track_caller)]
    fn process(
        &mut self,
        queue: u32,
        pair: Option<QueuedPair>,
        lane: u32,
    ) -> Option<FoundElement<QueuedPair>> {
        if queue == LARGE {
            return self.merge_by_block(pair.unwrap_or(QueuedPair::NONE));
        }
        if queue == SMALL || queue == COPIES {
            return self.merge_by_warps(pair, lane, queue == COPIES);
        }
        let found = match pair {
            Some(root) if queue == ROOT_QUEUE && lane == 0 => root,
            Some(merged) if queue != ROOT_QUEUE && lane < merged.slots() => {
                self.child(merged, merged.begin + lane)
            }
            _ => QueuedPair::NONE,
        };
        self.sort(found)
    }

    #[device(track_caller)]
    fn finish(&mut self) {
        let entries = warp::reduce_add(self.entries);
        if thread::lane() == 0 {
            self.sum.results.fetch_add(ENTRIES, entries, Ordering::Relaxed, Scope::Device);
        }
    }
}

impl<V: Float, const BLOCK: usize> Adder<V, BLOCK> {
    /// Merges a pair with few entries, and finds the queue of any other. All lanes of a warp call it together, also those without a
    /// pair.
    #[device(track_caller)]
    fn sort(&mut self, pair: QueuedPair) -> Option<FoundElement<QueuedPair>> {
        let (a, b) = self.inner_sides();
        let nodes = NodePair { a: a.handle(pair.a), b: b.handle(pair.b) };
        let is_pair = pair.a != NULL || pair.b != NULL;
        let is_tiny = is_pair && tiny::takes(nodes.a) && tiny::takes(nodes.b);
        let merged = self.merge_by_thread(pair, nodes, is_tiny);
        if !is_pair || is_tiny {
            return merged;
        }
        let block_size = BLOCK as u32;
        let is_small = small::takes(nodes.a, block_size) && small::takes(nodes.b, block_size);
        let is_copy = pair.b == NULL || pair.a == NULL && !b.is_transposed;
        let is_sparse = !nodes.a.is_dense() && !nodes.b.is_dense();
        let queue = if is_copy && is_sparse {
            COPIES
        } else if is_small {
            SMALL
        } else {
            LARGE
        };
        Some(FoundElement { queue, element: pair })
    }
}
