//! Long rows are cut into pieces. The sums of a row's pieces are added up, in order, by the lanes that finish last.

use evenpath_simt::{device, parameters, Global};

use super::group::Group;
use crate::block::tagged_sums::TaggedWords;

/// Shared memory for a flag per piece of a block: at most one per warp of a block of 128 threads.
pub(super) const FLAG_BYTES: usize = 16;

parameters! {
    /// The pieces of long rows, and the memory in which their sums meet.
    pub struct Pieces {
        /// The row of each piece, from [`SpmmLongRows`](super::SpmmLongRows); the pieces of a row are consecutive.
        pub rows: Global<u32>,
        /// The place of each piece within its row, likewise.
        pub places: Global<u32>,
        /// The pieces in the order in which they are summed: by their first columns, so that blocks that run at once gather
        /// from one part of B.
        pub order: Global<u32>,
        /// One part per piece and column, and one sum per piece and tile of columns, of which a row's first is used.
        pub sums: TaggedWords,
        /// Pieces.
        pub count: u32,
        /// log2 of the nonzeros of a piece, of which the last of a row may have fewer: at most 4 per lane.
        pub len_log2: u32,
        /// The lanes of a piece: one or more warps.
        pub group: Group,
    }
}

impl Pieces {
    /// Blocks of `BLOCK` threads for a tile of columns.
    #[device]
    pub(super) fn blocks<const BLOCK: usize>(self) -> u32 {
        self.count.div_ceil(BLOCK as u32 >> self.group.lanes_log2())
    }
}
