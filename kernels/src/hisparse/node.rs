//! Views of a pool's nodes.

use evenpath_simt::{Element, Global};

use super::layout::{self, COORDINATES_BYTES, COUNT_BYTES, DENSE, UNIT_BYTES};

/// A pool of nodes, as three views of the same memory.
#[derive(Clone, Copy)]
pub struct Pool<T> {
    /// As words: counts.
    pub words: Global<u32>,
    /// As coordinates.
    pub coordinates: Global<u16>,
    /// As slots: references, or values.
    pub slots: Global<T>,
}

/// A node of a pool: as many slots as entries, or D² of them.
#[derive(Clone, Copy)]
pub struct Node<T> {
    /// Slots, those of absent entries of a dense node included.
    pub len: u32,
    /// Packed coordinates of each slot; of a sparse node only.
    pub coordinates: Global<u16>,
    /// The slots.
    pub slots: Global<T>,
}

impl<T: Element> Pool<T> {
    /// The node that a reference refers to, not null.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn node(self, reference: u32, d_log2: u32) -> Node<T> {
        self.node_of_len(reference, self.slot_count(reference, d_log2))
    }

    /// Slots of the node that a reference refers to, not null.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn slot_count(self, reference: u32, d_log2: u32) -> u32 {
        if layout::kind(reference) == DENSE {
            1 << (2 * d_log2)
        } else {
            self.words.load(layout::unit(reference) as usize * layout::UNIT_WORDS as usize)
        }
    }

    /// The node that a reference refers to, whose [`slot_count`](Self::slot_count) is known; of a null reference, whose it
    /// is 0, views that nothing may be loaded from.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn node_of_len(self, reference: u32, len: u32) -> Node<T> {
        let (unit, kind) = (layout::unit(reference) as usize, layout::kind(reference));
        let size = T::SIZE as u32;
        let slots = self.slots.skip(unit * (UNIT_BYTES as usize / T::SIZE));
        let coordinates = self.coordinates.skip(unit * (UNIT_BYTES / COORDINATES_BYTES) as usize);
        if kind == DENSE {
            return Node { len, coordinates, slots };
        }
        let first = layout::slots_offset(kind, len, size) / size;
        let coordinates = coordinates.skip((COUNT_BYTES / COORDINATES_BYTES) as usize);
        Node { len, coordinates, slots: slots.skip(first as usize) }
    }
}
