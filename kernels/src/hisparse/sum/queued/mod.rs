//! C = A + B by queues (Derler 2016, chapter 6): one kernel traverses both trees from the roots, and the host waits for no
//! level.
//!
//! The pattern of C does not depend on values, and the entries of a node of C are those of the nodes of A and B together. So a
//! node is allocated and given its coordinates before its children are known, and each child gets the address of the slot
//! that its reference goes to. Nodes come from the pool by atomic additions, so their order depends on timing; the content of
//! C does not.
//!
//! | class of a pair | goes through | merged by |
//! |---|---|---|
//! | both nodes are sparse and have up to four entries | no queue | the thread that finds it |
//! | both are sparse and have up to 512 entries | `SMALL` | a warp: bitmap, then ranks by binary search |
//! | one is dense, or has more entries | `LARGE` | a block, with bitmaps |
//! | only one tree has the node, and it is sparse and in C's order | `COPIES` | a warp, which copies it |
//!
//! The children of a merged inner node are its slots: up to eight through `NARROW`, 16 such nodes per block, else through the
//! queue of whole blocks, in pieces of 128 slots. A lane takes a slot, reads its coordinates in C, which another block may have
//! written, and looks the children up in A and B.
//!
//! If the pool is full, nothing more is merged, and the queues drain. The units that were asked for then exceed the pool's.

mod merge;
mod pair;

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, parameters, thread, warp, Arena, Float, GlobalMut, Shared};

use super::fill::Addend;
use super::large::{self, Bitmaps};
use super::marks::Marks;
use super::small::{self, Keys};
use super::{larger, state, tiny, Pair, Side};
use crate::block::count_scan::CountScan;
use crate::block::search::partition_point;
use crate::hisparse::layout::{self, DENSE, NULL, UNIT_WORDS};
use crate::hisparse::node::Pool;
use crate::hisparse::pool_mut::PoolMut;
use crate::hisparse::queue::{
    run, run_shared_bytes, Found, Operation, Payload, Queues, Specification, ROOT as ROOT_QUEUE, WIDE,
};
pub use pair::{QueuedPair, SumQueues};
use pair::{COPIES, LARGE, NARROW, NARROW_SLOTS, SMALL};

kernel! {
    /// Adds two trees.
    pub struct HiSparseQueuedSum<V: Float> {
        /// The trees.
        pub trees: SumTrees<V>,
        /// Where the sum goes.
        pub sum: SumPool<V>,
        /// The queues, which are [`SumQueues`].
        pub queues: Queues,
    }
    shared: run_shared_bytes::<SumQueues>(BLOCK as u32) + CountScan::<u32, BLOCK>::BYTES + 4;
    body: HiSparseQueuedSum::queued_sum::<BLOCK>;
    entries: {
        hisparse_queued_sum_f32 in hisparse_queued_sum: <V = f32>, 128 x 1 resident 4;
        hisparse_queued_sum_f64 in hisparse_queued_sum: <V = f64>, 128 x 1 resident 4;
    }
}

parameters! {
    /// Two trees of the same shape, and how they are added.
    pub struct SumTrees<V: Float> {
        /// A's pool.
        pub a: Pool<V>,
        /// B's pool.
        pub b: Pool<V>,
        /// Reference to A's root; at most one of the roots is null.
        pub a_root: u32,
        /// Reference to B's root.
        pub b_root: u32,
        /// A's factor.
        pub a_scale: V,
        /// B's factor.
        pub b_scale: V,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// The number of levels below the roots.
        pub height: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

parameters! {
    /// The pool of a sum.
    pub struct SumPool<V: Float> {
        /// The pool, all zero before.
        pub pool: PoolMut<V>,
        /// Units of the pool, at most 2³⁰.
        pub units: u32,
        /// [`SUM_RESULTS`] words, all zero before: [`UNITS`], [`ENTRIES`] and [`ROOT`].
        pub results: GlobalMut<u64>,
    }
}

/// Words of a sum's results.
pub const SUM_RESULTS: usize = 3;
/// Units that were asked for, without the first, which belongs to no node. If the pool has fewer, the sum is incomplete.
pub const UNITS: usize = 0;
/// Entries of all leaves.
pub const ENTRIES: usize = 1;
/// The reference to the root.
pub const ROOT: usize = 2;

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
    #[inline(always)]
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
            marks: Marks::new(own, d_log2),
            keys: Keys::new(own, BLOCK as u32),
            bitmaps: Bitmaps::<BLOCK>::take(Arena::dynamic(large::bytes(d_log2)), scan, d_log2),
            reference,
            entries: 0,
        };
        run::<_, BLOCK_SIZE>(arena, self.queues, adder);
    }
}

/// What a thread knows.
#[derive(Clone, Copy)]
struct Adder<V: Float, const BLOCK: usize> {
    trees: SumTrees<V>,
    sum: SumPool<V>,
    marks: Marks,
    keys: Keys,
    bitmaps: Bitmaps<BLOCK>,
    /// The reference to a node that the block merges.
    reference: Shared<u32>,
    /// Entries of the leaves that this thread has allocated.
    entries: u64,
}

impl<V: Float, const BLOCK: usize> Specification for Adder<V, BLOCK> {
    type Element = QueuedPair;
    const QUEUES: u32 = SumQueues::QUEUES;
    const LANES_LOG2: u32 = SumQueues::LANES_LOG2;
}

impl<V: Float, const BLOCK: usize> Operation for Adder<V, BLOCK> {
    // The coordinates of inner nodes.
    const READS_WHAT_WAS_WRITTEN: bool = true;

    #[inline(always)]
    fn root(&self) -> QueuedPair {
        let SumTrees { a_root, b_root, height, .. } = self.trees;
        QueuedPair { a: a_root, b: b_root, height, ..QueuedPair::NONE }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn process(&mut self, queue: u32, pair: Option<QueuedPair>, lane: u32) -> Option<Found<QueuedPair>> {
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

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn finish(&mut self) {
        let entries = warp::reduce_add(self.entries);
        if thread::lane() == 0 {
            self.sum.results.fetch_add(ENTRIES, entries, Ordering::Relaxed, Scope::Device);
        }
    }
}

impl<V: Float, const BLOCK: usize> Adder<V, BLOCK> {
    /// Both trees, with references as slots.
    #[inline(always)]
    fn inner_sides(&self) -> (Side<u32>, Side<u32>) {
        let (a, b) = self.leaf_sides();
        let side = |side: Side<V>| Side {
            pool: side.pool.inner(),
            is_transposed: side.is_transposed,
            d_log2: side.d_log2,
        };
        (side(a), side(b))
    }

    /// Both trees, with values as slots.
    #[inline(always)]
    fn leaf_sides(&self) -> (Side<V>, Side<V>) {
        let SumTrees { a, b, state, d_log2, .. } = self.trees;
        let is_transposed = state & state::B_TRANSPOSED != 0;
        (Side { pool: a, is_transposed: false, d_log2 }, Side { pool: b, is_transposed, d_log2 })
    }

    /// How values are scaled.
    #[inline(always)]
    fn addends(&self) -> (Addend<V>, Addend<V>) {
        let SumTrees { a_scale, b_scale, state, .. } = self.trees;
        (
            Addend { is_scaled: state & state::A_SCALED != 0, factor: a_scale },
            Addend { is_scaled: state & state::B_SCALED != 0, factor: b_scale },
        )
    }

    /// Merges a pair with few entries, and finds the queue of any other. All lanes of a warp call it together, also those without a
    /// pair.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sort(&mut self, pair: QueuedPair) -> Option<Found<QueuedPair>> {
        let (a, b) = self.inner_sides();
        let parts = Pair { a: a.part(pair.a), b: b.part(pair.b) };
        let is_pair = pair.a != NULL || pair.b != NULL;
        let is_tiny = is_pair && tiny::takes(parts.a) && tiny::takes(parts.b);
        let merged = self.merge_by_thread(pair, parts, is_tiny);
        if !is_pair || is_tiny {
            return merged;
        }
        let block_size = BLOCK as u32;
        let is_small = small::takes(parts.a, block_size) && small::takes(parts.b, block_size);
        let is_copy = pair.b == NULL || pair.a == NULL && !b.is_transposed;
        let is_sparse = !parts.a.is_dense() && !parts.b.is_dense();
        let queue = if is_copy && is_sparse {
            COPIES
        } else if is_small {
            SMALL
        } else {
            LARGE
        };
        Some(Found { queue, element: pair })
    }

    /// The pair in a slot of a merged inner node; none if the slot of a dense one is empty.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn child(&self, merged: QueuedPair, slot: u32) -> QueuedPair {
        let (pool, d_log2) = (self.sum.pool, self.trees.d_log2);
        let (first, kind) = (layout::unit(merged.sum) * UNIT_WORDS, layout::kind(merged.sum));
        let (coordinates, slots);
        if kind == DENSE {
            coordinates = layout::pack(slot >> d_log2, slot & ((1 << d_log2) - 1));
            slots = first;
        } else {
            let before = (layout::COUNT_BYTES / layout::COORDINATES_BYTES + slot) as usize;
            coordinates = u32::from(pool.coordinates.load(2 * first as usize + before));
            slots = first + layout::slots_offset(kind, pool.words.load(first as usize), 4) / 4;
        }
        let (a, b) = self.inner_sides();
        QueuedPair {
            a: find(a, merged.a, coordinates),
            b: find(b, merged.b, coordinates),
            sum: slots + slot,
            height: merged.height.wrapping_sub(1),
            ..QueuedPair::NONE
        }
    }

    /// Takes units for a node of `count` entries for each lane of a warp, which call it together; none if `count` is 0. Writes the
    /// entry count, and the reference into the parent's slot. Returns the reference; null if there is no room.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn allocate(&mut self, pair: QueuedPair, count: u32) -> u32 {
        let SumPool { pool, units: capacity, results } = self.sum;
        let size = if pair.height == 0 { V::SIZE as u32 } else { 4 };
        let kind = layout::kind_of(count, self.trees.d_log2, size);
        let units = if count > 0 { layout::units(kind, count, self.trees.d_log2, size) } else { 0 };
        let end = warp::inclusive_sum(units);
        let total = warp::shuffle(warp::FULL, end, thread::WARP_SIZE - 1);
        let mut first = 0;
        if thread::lane() == 0 && total > 0 {
            first = results.fetch_add(UNITS, u64::from(total), Ordering::Relaxed, Scope::Device);
        }
        // The first unit belongs to no node.
        let end = 1 + warp::shuffle(warp::FULL, first, 0) + u64::from(end);
        if count == 0 || end > u64::from(capacity) {
            return NULL;
        }
        let unit = end as u32 - units;
        let reference = layout::reference(unit, kind);
        if kind != DENSE {
            pool.words.store((unit * UNIT_WORDS) as usize, count);
        }
        if pair.sum == 0 {
            results.atomic_store(ROOT, u64::from(reference), Ordering::Relaxed, Scope::Device);
        } else {
            pool.words.store(pair.sum as usize, reference);
        }
        if pair.height == 0 {
            self.entries += u64::from(count);
        }
        reference
    }

    /// What follows a pair that is merged into the node of `count` entries behind `reference`: an inner node's slots.
    #[inline(always)]
    fn merged(&self, pair: QueuedPair, reference: u32, count: u32) -> Option<Found<QueuedPair>> {
        if pair.height == 0 || reference == NULL {
            return None;
        }
        let is_dense = layout::kind(reference) == DENSE;
        let end = if is_dense { 1 << (2 * self.trees.d_log2) } else { count };
        let queue = if end <= NARROW_SLOTS { NARROW } else { WIDE };
        Some(Found { queue, element: QueuedPair { sum: reference, begin: 0, end, ..pair } })
    }
}

/// The child at coordinates in the sum; null if the node, which may be null too, has none.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn find(side: Side<u32>, reference: u32, coordinates: u32) -> u32 {
    if reference == NULL {
        return NULL;
    }
    let node = side.pool.node(reference, side.d_log2);
    if layout::kind(reference) == DENSE {
        let (row, col) = layout::unpack(coordinates);
        return node.slots.load(side.slot_of(row, col) as usize);
    }
    // In the node's own order.
    let key = side.oriented(coordinates);
    let at = partition_point(0, node.len, |at| u32::from(node.coordinates.load(at as usize)) < key);
    if at < node.len && u32::from(node.coordinates.load(at as usize)) == key {
        node.slots.load(at as usize)
    } else {
        NULL
    }
}
