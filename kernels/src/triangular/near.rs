use evenpath_simt::{device, thread, Element, Shared};

use super::triangle::TriangleEntries;
use crate::block::waiting::RowLane;
use crate::Offset;

/// Words that rows of a block pass on among themselves, where the block takes rows in the order of the matrix.
pub(super) struct Near<P: Element> {
    pub(super) words: Shared<P>,
    /// The first of these rows.
    first: u32,
    /// How many there are.
    rows: u32,
}

impl<P: Element> Near<P> {
    /// No rows, and none of the words.
    #[device]
    pub(super) fn none(words: Shared<P>) -> Self {
        Self { words, first: 0, rows: 0 }
    }

    /// Clears the words of a block that takes rows by [`TriangleEntries::row_of`]. Every thread calls it; it has a barrier.
    #[device(track_caller)]
    pub(super) fn new<const BLOCK: usize>(
        words: Shared<P>,
        entries: TriangleEntries<impl Offset>,
        of: RowLane,
    ) -> Self {
        let mut at = thread::index() as usize;
        while at < words.len() {
            words.store(at, P::ZERO);
            at += BLOCK;
        }
        thread::barrier();
        let rows = BLOCK as u32 >> of.lanes.trailing_zeros();
        let slot = of.slot as u32 / rows * rows;
        // Of an upper triangle, the last block may have places before the first row. They wrap, and no row needs them.
        let first = if entries.is_upper == 0 { slot } else { entries.count.wrapping_sub(slot + rows) };
        Self { words, first, rows }
    }

    /// Returns whether there are such rows.
    #[device]
    pub(super) fn is_any(&self) -> bool {
        self.rows > 0
    }

    /// Returns the place of a row, if it is one of the block's.
    #[device]
    pub(super) fn place_of(&self, row: u32) -> Option<usize> {
        let place = row.wrapping_sub(self.first);
        (place < self.rows).then_some(place as usize)
    }
}
