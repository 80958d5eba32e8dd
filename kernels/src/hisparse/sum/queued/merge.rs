//! Merges pairs by a thread, a warp or a block, with the functions of the sums by levels.

use evenpath_simt::{device, thread, warp, Float, Word};

use super::super::fill::LeafSum;
use super::super::side::{NodeHandle, NodePair, SumTree};
use super::super::sink::{Sink, SumPlace};
use super::super::tiny;
use super::adder::Adder;
use super::pair::QueuedPair;
use crate::hisparse::layout::{self, NULL};
use crate::hisparse::pool_mut::NodeMut;
use crate::hisparse::queue::FoundElement;

/// An inner node of the sum: its children write the slots.
struct Inner {
    sum: NodeMut<u32>,
}

impl Sink<u32> for Inner {
    #[device]
    fn is_ordered(&self) -> bool {
        !self.sum.is_dense()
    }

    #[device(track_caller)]
    fn put(&self, SumPlace { index, coordinates }: SumPlace, _: Option<u32>, _: Option<u32>) {
        self.sum.put_coordinates(index, coordinates);
    }

    #[device]
    fn join(&self, _: SumPlace, _: u32, _: bool) {}
}

impl<V: Float, const BLOCK: usize> Adder<V, BLOCK> {
    /// Returns an inner node of the sum.
    #[device(track_caller)]
    fn inner(&self, reference: u32, count: u32) -> Inner {
        Inner { sum: self.sum.pool.inner().node(reference, count, self.trees.d_log2) }
    }

    /// Returns a leaf of the sum.
    #[device(track_caller)]
    fn leaf(&self, reference: u32, count: u32) -> LeafSum<V> {
        let (a, b) = self.addends();
        LeafSum { a, b, sum: self.sum.pool.node(reference, count, self.trees.d_log2) }
    }

    /// Merges the pair of this thread if it `is_tiny`. All lanes of a warp call it together.
    #[device(track_caller)]
    pub(super) fn merge_by_thread(
        &mut self,
        pair: QueuedPair,
        nodes: NodePair,
        is_tiny: bool,
    ) -> Option<FoundElement<QueuedPair>> {
        let (a, b) = self.inner_sides();
        let count = if is_tiny { tiny::count(a, b, nodes) } else { 0 };
        let reference = self.allocate(pair, count);
        if reference == NULL {
            return None;
        }
        if pair.height == 0 {
            let (a, b) = self.leaf_sides();
            tiny::merge(a, b, nodes, &self.leaf(reference, count));
        } else {
            tiny::merge(a, b, nodes, &self.inner(reference, count));
        }
        self.merged(pair, reference, count)
    }

    /// Merges the pairs of each warp, one after another, or copies them. Lane 0 of the lanes that share a pair gets the
    /// slots that follow.
    #[device(track_caller)]
    pub(super) fn merge_by_warps(
        &mut self,
        pair: Option<QueuedPair>,
        lane: u32,
        are_copies: bool,
    ) -> Option<FoundElement<QueuedPair>> {
        let own = pair.unwrap_or(QueuedPair::NONE);
        let mut found = None;
        let mut left = warp::ballot(warp::FULL, pair.is_some() && lane == 0);
        while left != 0 {
            let source = left.trailing_zeros();
            let pair = QueuedPair {
                a: warp::shuffle(warp::FULL, own.a, source),
                b: warp::shuffle(warp::FULL, own.b, source),
                sum: warp::shuffle(warp::FULL, own.sum, source),
                height: warp::shuffle(warp::FULL, own.height, source),
                ..QueuedPair::NONE
            };
            let next = self.merge_by_warp(pair, are_copies);
            if thread::lane() == source {
                found = next;
            }
            left &= left - 1;
        }
        found
    }

    #[device(track_caller)]
    fn merge_by_warp(&mut self, pair: QueuedPair, is_copy: bool) -> Option<FoundElement<QueuedPair>> {
        let (a, b) = self.inner_sides();
        let nodes = NodePair { a: a.handle(pair.a), b: b.handle(pair.b) };
        // For a copy, this is the number of entries.
        let count = if is_copy { nodes.a.len + nodes.b.len } else { self.marks.count(a, b, nodes) };
        let reference = self.allocate(pair, if thread::lane() == 0 { count } else { 0 });
        let reference = warp::shuffle(warp::FULL, reference, 0);
        if reference == NULL {
            return None;
        }
        if pair.height == 0 {
            let ((a, b), leaf) = (self.leaf_sides(), self.leaf(reference, count));
            if is_copy {
                copy(a, b, nodes, &leaf);
            } else {
                self.keys.merge(a, b, nodes, &leaf);
            }
        } else {
            let inner = self.inner(reference, count);
            if is_copy {
                copy(a, b, nodes, &inner);
            } else {
                self.keys.merge(a, b, nodes, &inner);
            }
        }
        self.merged(pair, reference, count)
    }

    /// Merges the pair of a block. Thread 0 gets the slots that follow.
    #[device(track_caller)]
    pub(super) fn merge_by_block(&mut self, pair: QueuedPair) -> Option<FoundElement<QueuedPair>> {
        let (a, b) = self.inner_sides();
        let nodes = NodePair { a: a.handle(pair.a), b: b.handle(pair.b) };
        let leaves = self.leaf_sides();
        let count = if pair.height == 0 {
            self.bitmaps.count(leaves.0, leaves.1, nodes)
        } else {
            self.bitmaps.count(a, b, nodes)
        };
        if thread::warp() == 0 {
            let reference = self.allocate(pair, if thread::lane() == 0 { count } else { 0 });
            if thread::lane() == 0 {
                self.reference.store(0, reference);
            }
        }
        thread::barrier();
        let reference = self.reference.load(0);
        if reference == NULL {
            return None;
        }
        if pair.height == 0 {
            self.bitmaps.merge(leaves.0, leaves.1, nodes, &self.leaf(reference, count));
        } else if layout::kind(reference) != layout::DENSE {
            self.bitmaps.merge(a, b, nodes, &self.inner(reference, count));
        }
        if thread::index() == 0 {
            self.merged(pair, reference, count)
        } else {
            None
        }
    }
}

/// Passes all entries of the only node of a pair to the sink, over the lanes of a warp. The node is sparse and not transposed.
#[device(track_caller)]
fn copy<T: Word>(a: SumTree<T>, b: SumTree<T>, NodePair { a: of_a, b: of_b }: NodePair, sink: &impl Sink<T>) {
    if of_b.reference == NULL {
        for_each_entry(a, of_a, |place, slot| sink.put(place, Some(slot), None));
    } else {
        for_each_entry(b, of_b, |place, slot| sink.put(place, None, Some(slot)));
    }
}

/// Calls `visit` with each entry of a sparse node, over the lanes of a warp.
#[device(track_caller)]
fn for_each_entry<T: Word>(side: SumTree<T>, handle: NodeHandle, visit: impl Fn(SumPlace, T)) {
    let node = side.node(handle);
    thread::warp_stride(handle.len, |index| {
        let coordinates = u32::from(node.coordinates.load(index as usize));
        visit(SumPlace { index, coordinates }, node.slots.load(index as usize));
    });
}
