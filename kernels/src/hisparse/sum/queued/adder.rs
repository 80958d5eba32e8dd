//! The sum as a thread sees it: both trees, the pool, and the pairs that follow a merged one.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, thread, warp, Float, Shared};

use super::super::fill::Addend;
use super::super::large::Bitmaps;
use super::super::marks::WarpBitmap;
use super::super::side::SumTree;
use super::super::small::PairKeys;
use super::super::state;
use super::pair::{QueuedPair, NARROW, NARROW_SLOTS};
use super::parameters::{SumPool, SumTrees, ROOT, UNITS};
use crate::block::search::partition_point;
use crate::hisparse::layout::{self, DENSE, NULL, UNIT_WORDS};
use crate::hisparse::queue::{FoundElement, WIDE};

/// State of a thread.
#[derive(Clone, Copy)]
pub(super) struct Adder<V: Float, const BLOCK: usize> {
    pub(super) trees: SumTrees<V>,
    pub(super) sum: SumPool<V>,
    pub(super) marks: WarpBitmap,
    pub(super) keys: PairKeys,
    pub(super) bitmaps: Bitmaps<BLOCK>,
    /// The reference to a node that the block merges.
    pub(super) reference: Shared<u32>,
    /// Entries of the leaves that this thread has allocated.
    pub(super) entries: u64,
}

impl<V: Float, const BLOCK: usize> Adder<V, BLOCK> {
    /// Both trees, with references as slots.
    #[device]
    pub(super) fn inner_sides(&self) -> (SumTree<u32>, SumTree<u32>) {
        let (a, b) = self.leaf_sides();
        let side = |side: SumTree<V>| SumTree {
            pool: side.pool.inner(),
            is_transposed: side.is_transposed,
            d_log2: side.d_log2,
        };
        (side(a), side(b))
    }

    /// Both trees, with values as slots.
    #[device]
    pub(super) fn leaf_sides(&self) -> (SumTree<V>, SumTree<V>) {
        let SumTrees { a, b, state, d_log2, .. } = self.trees;
        let is_transposed = state & state::B_TRANSPOSED != 0;
        (SumTree { pool: a, is_transposed: false, d_log2 }, SumTree { pool: b, is_transposed, d_log2 })
    }

    /// Returns the factors of values.
    #[device]
    pub(super) fn addends(&self) -> (Addend<V>, Addend<V>) {
        let SumTrees { a_scale, b_scale, state, .. } = self.trees;
        (
            Addend { is_scaled: state & state::A_SCALED != 0, factor: a_scale },
            Addend { is_scaled: state & state::B_SCALED != 0, factor: b_scale },
        )
    }

    /// Returns the pair in a slot of a merged inner node; none if the slot of a dense one is empty.
    #[device(track_caller)]
    pub(super) fn child(&self, merged: QueuedPair, slot: u32) -> QueuedPair {
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
    #[device(track_caller)]
    pub(super) fn allocate(&mut self, pair: QueuedPair, count: u32) -> u32 {
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

    /// Returns the slots of an inner node that a pair was merged into: the node of `count` entries behind `reference`.
    #[device]
    pub(super) fn merged(
        &self,
        pair: QueuedPair,
        reference: u32,
        count: u32,
    ) -> Option<FoundElement<QueuedPair>> {
        if pair.height == 0 || reference == NULL {
            return None;
        }
        let is_dense = layout::kind(reference) == DENSE;
        let end = if is_dense { 1 << (2 * self.trees.d_log2) } else { count };
        let queue = if end <= NARROW_SLOTS { NARROW } else { WIDE };
        Some(FoundElement { queue, element: QueuedPair { sum: reference, begin: 0, end, ..pair } })
    }
}

/// Returns the child at coordinates in the sum; null if the node, which may be null too, has none.
#[device(track_caller)]
fn find(side: SumTree<u32>, reference: u32, coordinates: u32) -> u32 {
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
