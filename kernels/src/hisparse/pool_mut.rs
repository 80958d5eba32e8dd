//! Nodes that kernels write.

use evenpath_simt::{device, parameters, Aligned16, GlobalMut, Word};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES};

parameters! {
    /// A pool of nodes to be written, as three views of the same memory, which is zero before.
    pub struct PoolMut<T: Word> {
        /// The pool as words: the entry counts of sparse nodes.
        pub words: GlobalMut<u32, Aligned16>,
        /// The pool as coordinates.
        pub coordinates: GlobalMut<u16>,
        /// The pool as slots: references, or values.
        pub slots: GlobalMut<T, Aligned16>,
    }
}

/// A node of such a pool.
#[derive(Clone, Copy)]
pub struct NodeMut<T> {
    coordinates: GlobalMut<u16>,
    slots: GlobalMut<T>,
    is_dense: bool,
    d_log2: u32,
}

impl<T: Word> PoolMut<T> {
    /// Returns the pool with references as slots.
    #[device]
    pub fn inner(self) -> PoolMut<u32> {
        PoolMut { words: self.words, coordinates: self.coordinates, slots: self.words }
    }

    /// Returns the node of `count` entries behind a reference.
    #[device(track_caller)]
    pub fn node(self, reference: u32, count: u32, d_log2: u32) -> NodeMut<T> {
        let (unit, kind) = (layout::unit(reference) as usize, layout::kind(reference));
        let is_dense = kind == DENSE;
        let first = if is_dense { 0 } else { layout::slots_offset(kind, count, T::SIZE as u32) as usize };
        let first_coordinate =
            unit * (UNIT_BYTES / COORDINATES_BYTES) as usize + (COUNT_BYTES / COORDINATES_BYTES) as usize;
        NodeMut {
            coordinates: self.coordinates.skip(first_coordinate),
            slots: self.slots.skip((unit * UNIT_BYTES as usize + first) / T::SIZE),
            is_dense,
            d_log2,
        }
    }
}

impl<T: Word> NodeMut<T> {
    /// Returns whether the node is dense: then the positions of entries do not matter.
    #[device]
    pub fn is_dense(self) -> bool {
        self.is_dense
    }

    /// Writes the entry at position `at` in the order of coordinates.
    #[device(track_caller)]
    pub fn put(self, at: u32, coordinates: u32, slot: T) {
        if self.is_dense {
            self.slots.store(self.place(at, coordinates), in_dense(slot));
        } else {
            self.coordinates.store(at as usize, coordinates as u16);
            self.slots.store(at as usize, slot);
        }
    }

    /// Writes only the coordinates of the entry at position `at`. A dense node has none.
    #[device(track_caller)]
    pub fn put_coordinates(self, at: u32, coordinates: u32) {
        if !self.is_dense {
            self.coordinates.store(at as usize, coordinates as u16);
        }
    }

    /// Writes only the slot of an entry. In a dense node it may be zero until the entry is put.
    #[device(track_caller)]
    pub fn put_slot(self, at: u32, coordinates: u32, slot: T) {
        self.slots.store(self.place(at, coordinates), slot);
    }

    /// Returns the slot of an entry that this block has written.
    #[device(track_caller)]
    pub fn slot(self, at: u32, coordinates: u32) -> T {
        self.slots.load(self.place(at, coordinates))
    }

    #[device]
    fn place(self, at: u32, coordinates: u32) -> usize {
        (if self.is_dense { layout::place(coordinates, self.d_log2) } else { at }) as usize
    }
}

/// Returns a slot as dense nodes store it: all bits zero mean no entry, so zero is stored as −0.
#[device]
fn in_dense<T: Word>(slot: T) -> T {
    if slot.to_bits() == 0 {
        T::from_bits(1 << (8 * T::SIZE - 1))
    } else {
        slot
    }
}
