//! Rows of a CSR matrix that have elements, and the place of each among them.

use evenpath_simt::{device, thread, Arena, Global, GlobalMut, Shared};

use super::count_scan::CountScan;
use super::lookback::{Lookback, Tickets};
use crate::Offset;

/// A thread's row.
#[derive(Debug, Clone, Copy)]
pub struct NumberedRow {
    /// Its index; threads past the last row have one too.
    pub row: usize,
    /// True if it has elements.
    pub is_filled: bool,
    /// Rows before it that have elements.
    pub before: usize,
}

/// Shared memory of [`number_filled_rows`].
pub const fn numbering_bytes<const BLOCK: usize>() -> usize {
    CountScan::<u32, BLOCK>::BYTES + 8
}

/// Numbers the rows that have elements, by the look-back of counts: one thread per row, blocks in the order in which they
/// start. `seen` is called with the beginning of each such row, before any block waits. `states` is a ticket and one word
/// per block, all zero before the launch.
#[device(track_caller)]
pub fn number_filled_rows<O: Offset, const BLOCK: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    states: GlobalMut<u64>,
    rows: u32,
    seen: impl Fn(usize),
) -> NumberedRow {
    let scan = CountScan::<u32, BLOCK>::take(&mut arena);
    let shared: Shared<u32> = arena.take(2);
    let tile = Tickets::new(states).draw_for_block(shared);
    let row = tile as usize * BLOCK + thread::index() as usize;
    let mut is_filled = false;
    if row < rows as usize {
        let begin = row_offsets.load(row).to_usize();
        is_filled = begin < row_offsets.load(row + 1).to_usize();
        if is_filled {
            seen(begin);
        }
    }
    let counted = scan.exclusive(u32::from(is_filled));
    Lookback::new(states.skip(1)).store_prefix(tile, counted.total, shared.skip(1));
    thread::barrier();
    NumberedRow { row, is_filled, before: (shared.load(1) + counted.before) as usize }
}
