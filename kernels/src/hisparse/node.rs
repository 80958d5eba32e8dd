//! Views of a pool's nodes.

use evenpath_simt::{device, parameters, Aligned16, Global, Word};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES};

parameters! {
    /// A pool of nodes, as three views of the same memory.
    pub struct Pool<T: Word> {
        /// The pool as words: the entry counts of sparse nodes.
        pub words: Global<u32, Aligned16>,
        /// The pool as coordinates.
        pub coordinates: Global<u16>,
        /// The pool as slots: references, or values.
        pub slots: Global<T, Aligned16>,
    }
}

parameters! {
    /// Nodes of one level of a tree.
    pub struct NodeList<T: Word> {
        /// The tree's pool.
        pub pool: Pool<T>,
        /// References to the nodes, none of them null.
        pub references: Global<u32>,
        /// The number of nodes.
        pub len: u32,
        /// log2 of a node's rows, which are as many as its columns.
        pub d_log2: u32,
    }
}

/// A node of a pool: one slot per entry of a sparse node, D² slots of a dense one.
#[derive(Clone, Copy)]
pub struct Node<T> {
    /// The number of slots, including those of a dense node's absent entries.
    pub len: u32,
    /// Packed coordinates of each slot; only for sparse nodes.
    pub coordinates: Global<u16>,
    /// The slots. Those of dense nodes begin at a multiple of 16 bytes.
    pub slots: Global<T, Aligned16>,
}

impl<T: Word> Pool<T> {
    /// Returns the pool with references as slots.
    #[device]
    pub fn inner(self) -> Pool<u32> {
        Pool { words: self.words, coordinates: self.coordinates, slots: self.words }
    }

    /// Returns the node behind a reference that is not null.
    #[device(track_caller)]
    pub fn node(self, reference: u32, d_log2: u32) -> Node<T> {
        self.node_of_len(reference, self.slot_count(reference, d_log2))
    }

    /// Returns the number of slots of the node behind a reference that is not null.
    #[device(track_caller)]
    pub fn slot_count(self, reference: u32, d_log2: u32) -> u32 {
        if layout::kind(reference) == DENSE {
            1 << (2 * d_log2)
        } else {
            self.words.load(layout::unit(reference) as usize * layout::UNIT_WORDS as usize)
        }
    }

    /// Returns the node behind a reference, whose [`slot_count`](Self::slot_count) is known. For a null reference `len`
    /// is 0, and nothing may be loaded from the views.
    #[device(track_caller)]
    pub fn node_of_len(self, reference: u32, len: u32) -> Node<T> {
        let (unit, kind) = (layout::unit(reference) as usize, layout::kind(reference));
        let size = T::SIZE as u32;
        let slots = self.slots.skip_aligned(unit * (UNIT_BYTES as usize / T::SIZE));
        let coordinates = self.coordinates.skip(unit * (UNIT_BYTES / COORDINATES_BYTES) as usize);
        if kind == DENSE {
            return Node { len, coordinates, slots };
        }
        let first = layout::slots_offset(kind, len, size) / size;
        let coordinates = coordinates.skip((COUNT_BYTES / COORDINATES_BYTES) as usize);
        Node { len, coordinates, slots: slots.skip_aligned(first as usize) }
    }
}

impl<T: Word> NodeList<T> {
    /// Returns the reference to a node of the list.
    #[device(track_caller)]
    pub fn reference(self, index: usize) -> u32 {
        self.references.load(index)
    }

    /// Returns the node behind a reference of the list.
    #[device(track_caller)]
    pub fn node(self, reference: u32) -> Node<T> {
        self.pool.node(reference, self.d_log2)
    }
}
