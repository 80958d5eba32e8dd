//! The skeleton of a tree that is being made: its nodes, before they have a place in the pool.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, warp, GlobalMut};

use crate::hisparse::layout;

/// Words of results: [`LEAVES`], [`INNER_NODES`], [`UNITS`], [`DESCENTS`], [`UNITS_TAKEN`] and [`REFERENCE_OF_ROOT`].
pub const BINNING_RESULTS: usize = 6;
/// The number of leaves.
pub const LEAVES: usize = 0;
/// The number of inner nodes.
pub const INNER_NODES: usize = 1;
/// The units of all nodes.
pub const UNITS: usize = 2;
/// The number of entries whose column is not greater than that of the entry before in the same row.
pub const DESCENTS: usize = 3;
/// The units that were taken from the pool, without the first, which belongs to no node.
pub const UNITS_TAKEN: usize = 4;
/// The reference to the root.
pub const REFERENCE_OF_ROOT: usize = 5;

/// Words of a leaf.
pub const LEAF_WORDS: usize = 4;
/// Words of an inner node, of which the first are those of a leaf.
pub const INNER_WORDS: usize = 8;

/// The first entry; once the node is in the pool, the reference to it.
const BEGIN: usize = 0;
/// One past the last entry.
const END: usize = 1;
/// The number of the parent.
const PARENT: usize = 2;
/// Packed coordinates in the parent.
const COORDINATES: usize = 3;
/// The number of the first child: a leaf's if the node is of height 1.
const FIRST_CHILD: usize = 4;
/// The number of children.
const CHILDREN: usize = 5;
/// While the node is binned, the pieces of the phase that are done; afterwards the children that are in the pool.
const ARRIVED: usize = 6;

/// The parent of the root.
pub(super) const NO_PARENT: u32 = u32::MAX;

parameters! {
    /// The entries of a matrix, and memory of the same size through which entries are moved.
    pub struct BinnedEntries {
        /// Row and column of each entry, the row in the upper half.
        pub positions: GlobalMut<u64>,
        /// The number of each entry in the matrix.
        pub sources: GlobalMut<u32>,
        /// Positions while they are moved.
        pub moved_positions: GlobalMut<u64>,
        /// Numbers while they are moved.
        pub moved_sources: GlobalMut<u32>,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

/// Entries in one of the two memories.
#[derive(Clone, Copy)]
pub(super) struct EntryArrays {
    pub(super) positions: GlobalMut<u64>,
    pub(super) sources: GlobalMut<u32>,
}

impl BinnedEntries {
    /// Returns the entries' own memory.
    #[device]
    pub(super) fn own(self) -> EntryArrays {
        EntryArrays { positions: self.positions, sources: self.sources }
    }

    /// Returns the other memory.
    #[device]
    pub(super) fn moved(self) -> EntryArrays {
        EntryArrays { positions: self.moved_positions, sources: self.moved_sources }
    }

    /// Returns the bin of an entry in a node of `height` levels above the leaves: the digit of its row, then that of its
    /// column.
    #[device]
    pub(super) fn bin(self, position: u64, height: u32) -> u32 {
        let shift = self.d_log2 * height;
        let mask = (1 << self.d_log2) - 1;
        ((position >> 32) as u32 >> shift & mask) << self.d_log2 | (position as u32 >> shift & mask)
    }

    /// Returns the packed coordinates of a [`bin`](Self::bin).
    #[device]
    pub(super) fn coordinates(self, bin: u32) -> u32 {
        layout::pack(bin >> self.d_log2, bin & ((1 << self.d_log2) - 1))
    }
}

parameters! {
    /// The nodes. The root has number 0.
    pub struct Skeleton {
        /// [`LEAF_WORDS`] for each leaf.
        pub leaves: GlobalMut<u32>,
        /// [`INNER_WORDS`] for each inner node.
        pub inner: GlobalMut<u32>,
        /// The [results](BINNING_RESULTS), zero before.
        pub results: GlobalMut<u64>,
        /// The number of levels below the root.
        pub height: u32,
    }
}

/// A node's entries, parent, and coordinates in the parent.
#[derive(Clone, Copy)]
pub(super) struct SkeletonNode {
    pub(super) begin: u32,
    pub(super) end: u32,
    pub(super) parent: u32,
    pub(super) coordinates: u32,
}

impl Skeleton {
    /// Returns the words of a node.
    #[device(track_caller)]
    fn words(self, height: u32, node: u32) -> GlobalMut<u32> {
        if height == 0 {
            self.leaves.skip(node as usize * LEAF_WORDS)
        } else {
            self.inner.skip(node as usize * INNER_WORDS)
        }
    }

    /// Returns the first entry of a node that is not in the pool, and one past the last.
    #[device(track_caller)]
    pub(super) fn extent(self, height: u32, node: u32) -> (u32, u32) {
        let words = self.words(height, node);
        (words.load(BEGIN), words.load(END))
    }

    /// Returns a leaf that is not in the pool.
    #[device(track_caller)]
    pub(super) fn leaf(self, node: u32) -> SkeletonNode {
        let words = self.words(0, node);
        SkeletonNode {
            begin: words.load(BEGIN),
            end: words.load(END),
            parent: words.load(PARENT),
            coordinates: words.load(COORDINATES),
        }
    }

    /// Returns the number of an inner node's parent.
    #[device(track_caller)]
    pub(super) fn parent(self, node: u32) -> u32 {
        self.words(1, node).load(PARENT)
    }

    /// Writes a node, without its end.
    #[device(track_caller)]
    pub(super) fn begin(self, height: u32, node: u32, begin: u32, (parent, coordinates): (u32, u32)) {
        let words = self.words(height, node);
        words.store(BEGIN, begin);
        words.store(PARENT, parent);
        words.store(COORDINATES, coordinates);
        if height > 0 {
            words.store(ARRIVED, 0);
        }
    }

    /// Writes the end of a node.
    #[device(track_caller)]
    pub(super) fn end(self, height: u32, node: u32, end: u32) {
        self.words(height, node).store(END, end);
    }

    /// Writes a node.
    #[device(track_caller)]
    pub(super) fn write(self, height: u32, node: u32, written: SkeletonNode) {
        let SkeletonNode { begin, end, parent, coordinates } = written;
        self.begin(height, node, begin, (parent, coordinates));
        self.end(height, node, end);
    }

    /// Returns the number of an inner node's first child, and the number of children.
    #[device(track_caller)]
    pub(super) fn children(self, node: u32) -> (u32, u32) {
        let words = self.words(1, node);
        (words.load(FIRST_CHILD), words.load(CHILDREN))
    }

    /// Writes the children of an inner node.
    #[device(track_caller)]
    pub(super) fn set_children(self, node: u32, first: u32, count: u32) {
        let words = self.words(1, node);
        words.store(FIRST_CHILD, first);
        words.store(CHILDREN, count);
    }

    /// Returns the reference to a node in the pool, and its coordinates in its parent.
    #[device(track_caller)]
    pub(super) fn reference(self, height: u32, node: u32) -> (u32, u32) {
        let words = self.words(height, node);
        (words.load(BEGIN), words.load(COORDINATES))
    }

    /// Writes the reference to a node that is in the pool.
    #[device(track_caller)]
    pub(super) fn set_reference(self, height: u32, node: u32, reference: u32) {
        self.words(height, node).store(BEGIN, reference);
    }

    /// Counts a piece or a child of an inner node as done, and returns whether it was the last of `count`. Releases what this
    /// thread has seen, and acquires what the others had.
    #[device(track_caller)]
    pub(super) fn arrive(self, node: u32, count: u32) -> bool {
        let words = self.words(1, node);
        let arrived = words.fetch_add(ARRIVED, 1, Ordering::AcquireRelease, Scope::Device);
        let is_last = arrived + 1 == count;
        if is_last {
            words.atomic_store(ARRIVED, 0, Ordering::Relaxed, Scope::Device);
        }
        is_last
    }

    /// Returns the number of the first of `count` new nodes. By one thread.
    #[device(track_caller)]
    pub(super) fn make(self, height: u32, count: u32) -> u32 {
        let counter = if height == 0 { LEAVES } else { INNER_NODES };
        self.results.fetch_add(counter, u64::from(count), Ordering::Relaxed, Scope::Device) as u32
    }

    /// [`make`](Self::make) for each lane of a warp, which call it together.
    #[device(track_caller)]
    pub(super) fn make_by_warp(self, height: u32, count: u32) -> u32 {
        let end = warp::inclusive_sum(count);
        let total = warp::shuffle(warp::FULL, end, thread::WARP_SIZE - 1);
        let mut first = 0;
        if thread::lane() == 0 && total > 0 {
            first = self.make(height, total);
        }
        warp::shuffle(warp::FULL, first, 0) + end - count
    }
}
