//! Fills the pool, bottom-up.

use evenpath_simt::atomic::{fence, Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Float, Global};

use super::skeleton::{BinnedEntries, Skeleton, SkeletonNode, NO_PARENT, REFERENCE_OF_ROOT, UNITS_TAKEN};
use crate::hisparse::layout::{self, DENSE, UNIT_WORDS};
use crate::hisparse::pool_mut::PoolMut;

kernel! {
    /// Takes nodes from the pool, and writes them: up to 32 leaves per warp, and each inner node by the warp that is done with the
    /// last of its children.
    pub struct HiSparseFillBinned<V: Float> {
        /// The entries, binned.
        pub entries: BinnedEntries,
        /// Values of the matrix's entries.
        pub values: Global<V>,
        /// The nodes. Output: the results [`UNITS_TAKEN`] and [`REFERENCE_OF_ROOT`], zero before.
        pub skeleton: Skeleton,
        /// The pool, which is zero and has room for all nodes.
        pub pool: PoolMut<V>,
        /// The number of leaves.
        pub leaves: u32,
        /// log2 of the leaves of each warp, at most 5.
        pub leaves_log2: u32,
    }
    shared: 0;
    body: HiSparseFillBinned::fill::<BLOCK>;
    entry: hisparse_fill_binned_{V} in hisparse_binning: V in [f32, f64], 128 x 1 resident 8;
}

impl<V: Float> HiSparseFillBinned<V> {
    #[device]
    fn fill<const BLOCK: usize>(self, _: Arena) {
        let own = (thread::global_warp::<BLOCK>() << self.leaves_log2) + thread::lane() as usize;
        let is_leaf = thread::lane() >> self.leaves_log2 == 0 && own < self.leaves as usize;
        let mut leaf = SkeletonNode { begin: 0, end: 0, parent: NO_PARENT, coordinates: 0 };
        if is_leaf {
            leaf = self.skeleton.leaf(own as u32);
        }
        let count = leaf.end - leaf.begin;
        let reference = self.take(0, count);
        if is_leaf {
            self.finish((0, own as u32), leaf.parent, (reference, count));
        }
        self.write_entries(leaf.begin, count, reference);
        self.climb(is_leaf, leaf.parent);
    }

    /// Takes units for a node of `count` children or entries for each lane of a warp, which call it together; none if `count` is 0.
    /// Returns the reference to it.
    #[device(track_caller)]
    fn take(&self, height: u32, count: u32) -> u32 {
        let (d_log2, size) = (self.entries.d_log2, if height == 0 { V::SIZE as u32 } else { 4 });
        let kind = layout::kind_of(count, d_log2, size);
        let units = if count > 0 { layout::units(kind, count, d_log2, size) } else { 0 };
        let end = warp::inclusive_sum(units);
        let total = warp::shuffle(warp::FULL, end, thread::WARP_SIZE - 1);
        let mut first = 0;
        if thread::lane() == 0 && total > 0 {
            let results = self.skeleton.results;
            first = results.fetch_add(UNITS_TAKEN, u64::from(total), Ordering::Relaxed, Scope::Device) as u32;
        }
        // The first unit belongs to no node.
        layout::reference(1 + warp::shuffle(warp::FULL, first, 0) + end - units, kind)
    }

    /// Writes the entry count of a node, and the reference into the skeleton.
    #[device(track_caller)]
    fn finish(&self, (height, node): (u32, u32), parent: u32, (reference, count): (u32, u32)) {
        if layout::kind(reference) != DENSE {
            self.pool.words.store((layout::unit(reference) * UNIT_WORDS) as usize, count);
        }
        self.skeleton.set_reference(height, node, reference);
        if parent == NO_PARENT {
            self.skeleton.results.store(REFERENCE_OF_ROOT, u64::from(reference));
        }
    }

    /// Writes the entries of the warp's leaves: one per lane, whichever leaf it is of.
    #[device(track_caller)]
    fn write_entries(&self, begin: u32, count: u32, reference: u32) {
        let (d_log2, mask) = (self.entries.d_log2, (1 << self.entries.d_log2) - 1);
        let end = warp::inclusive_sum(count);
        let before = end - count;
        let total = warp::shuffle(warp::FULL, end, thread::WARP_SIZE - 1);
        let mut base = 0;
        while base < total {
            let number = base + thread::lane();
            // The last lane whose entries begin at or before this one. Lanes without a leaf begin at the end.
            let (mut owner, mut step) = (0, thread::WARP_SIZE / 2);
            while step > 0 {
                if warp::shuffle(warp::FULL, before, owner + step) <= number {
                    owner += step;
                }
                step /= 2;
            }
            let at = number.wrapping_sub(warp::shuffle(warp::FULL, before, owner));
            let entry = warp::shuffle(warp::FULL, begin, owner).wrapping_add(at) as usize;
            let reference = warp::shuffle(warp::FULL, reference, owner);
            let count = warp::shuffle(warp::FULL, count, owner);
            if number < total {
                let (position, source) =
                    (self.entries.positions.load(entry), self.entries.sources.load(entry));
                let coordinates = layout::pack((position >> 32) as u32 & mask, position as u32 & mask);
                let value = self.values.load(source as usize);
                self.pool.node(reference, count, d_log2).put(at, coordinates, value);
            }
            base += thread::WARP_SIZE;
        }
    }

    /// Counts the nodes of the lanes as done, writes each parent of which that was the last child, and goes on with it.
    #[device(track_caller)]
    fn climb(&self, mut is_done: bool, mut parent: u32) {
        let mut height = 0;
        while height < self.skeleton.height && warp::any(warp::FULL, is_done) {
            height += 1;
            // Publishes the stores of all lanes to the warp that writes the parent.
            warp::sync(warp::FULL);
            fence(Scope::Device);
            let mut is_last = false;
            if is_done {
                is_last = self.skeleton.arrive(parent, self.skeleton.children(parent).1);
            }
            let mut left = warp::ballot(warp::FULL, is_last);
            fence(Scope::Device);
            is_done = is_last;
            let node = parent;
            while left != 0 {
                let source = left.trailing_zeros();
                let above = self.write_inner(height, warp::shuffle(warp::FULL, node, source));
                if thread::lane() == source {
                    parent = above;
                }
                left &= left - 1;
            }
        }
    }

    /// Writes an inner node whose children are done. Returns its parent.
    #[device(track_caller)]
    fn write_inner(&self, height: u32, node: u32) -> u32 {
        let ((first, count), parent) = (self.skeleton.children(node), self.skeleton.parent(node));
        let reference = self.take(height, if thread::lane() == 0 { count } else { 0 });
        let reference = warp::shuffle(warp::FULL, reference, 0);
        let written = self.pool.inner().node(reference, count, self.entries.d_log2);
        thread::warp_stride(count, |child| {
            let (reference, coordinates) = self.skeleton.reference(height - 1, first + child);
            written.put(child, coordinates, reference);
        });
        if thread::lane() == 0 {
            self.finish((height, node), parent, (reference, count));
        }
        parent
    }
}
