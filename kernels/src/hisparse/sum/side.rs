//! The trees of a sum, and the nodes of both at one position.

use evenpath_simt::{device, thread, Packet, Word};

use crate::block::strided::each_loaded;
use crate::hisparse::layout;
use crate::hisparse::node::{Node, Pool};

/// One of the trees.
#[derive(Clone, Copy)]
pub(super) struct SumTree<T: Word> {
    pub(super) pool: Pool<T>,
    pub(super) is_transposed: bool,
    pub(super) d_log2: u32,
}

/// A node of one tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeHandle {
    /// Null if there is no node.
    pub(super) reference: u32,
    /// The number of slots: one per entry of a sparse node, D² of a dense one, none if there is no node.
    pub(super) len: u32,
    /// The first unit of a sparse node, with the count and the first coordinates.
    pub(super) head: Packet,
}

/// The nodes of both trees at one position. At least one of them exists.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodePair {
    pub(super) a: NodeHandle,
    pub(super) b: NodeHandle,
}

impl NodeHandle {
    #[device]
    pub(super) fn is_dense(self) -> bool {
        self.reference != layout::NULL && layout::kind(self.reference) == layout::DENSE
    }
}

impl<T: Word> SumTree<T> {
    #[device(track_caller)]
    pub(super) fn handle(self, reference: u32) -> NodeHandle {
        let is_dense = layout::kind(reference) == layout::DENSE;
        let first = layout::unit(reference) as usize * layout::UNIT_WORDS as usize;
        let head = self.pool.words.load_16_if(first, !is_dense);
        let len = if !is_dense {
            head[0] as u32
        } else if reference == layout::NULL {
            0
        } else {
            1 << (2 * self.d_log2)
        };
        NodeHandle { reference, len, head }
    }

    /// Returns the node; without slots if the reference is null.
    #[device(track_caller)]
    pub(super) fn node(self, handle: NodeHandle) -> Node<T> {
        self.pool.node_of_len(handle.reference, handle.len)
    }

    /// Coordinates in the sum.
    #[device]
    pub(super) fn oriented(self, coordinates: u32) -> u32 {
        if self.is_transposed {
            let (row, col) = layout::unpack(coordinates);
            layout::pack(col, row)
        } else {
            coordinates
        }
    }

    /// Calls `visit` with the index of each entry of a sparse node, and its coordinates in the sum, over the lanes of a warp. A lane
    /// has `BATCH` entries in flight.
    #[device(track_caller)]
    pub(super) fn each_entry<const BATCH: usize>(self, handle: NodeHandle, mut visit: impl FnMut(u32, u32)) {
        let node = self.node(handle);
        each_loaded::<u16, BATCH>(
            (thread::lane(), thread::WARP_SIZE, handle.len),
            |at, is_entry| node.coordinates.load_if(at, is_entry),
            |at, coordinates| visit(at, self.oriented(u32::from(coordinates))),
        );
    }

    /// Returns the slot of a dense node at a position in the sum.
    #[device]
    pub(super) fn slot_of(self, row: u32, col: u32) -> u32 {
        if self.is_transposed {
            col << self.d_log2 | row
        } else {
            row << self.d_log2 | col
        }
    }
}
