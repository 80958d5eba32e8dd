//! Rows that are complete for other blocks.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, warp, Global, GlobalMut, Shared};

use crate::block::search::partition_point;
use crate::block::waiting::Turn;
use crate::triangular::TriangleEntries;
use crate::{GlobalPattern, Offset};

parameters! {
    /// The rows of a matrix that is factorized, and their state.
    pub struct FactorRows<O: Offset> {
        /// The pattern of the factors: canonical, with a diagonal.
        pub pattern: GlobalPattern<O>,
        /// The entries below the diagonal of each row; the diagonal follows them.
        pub entries: TriangleEntries<O>,
        /// The rows in an order in which each comes after those that it needs.
        pub order: Global<u32>,
        /// The last launch in which each row was completed; zero before the first.
        pub completed: GlobalMut<u32>,
        /// Tickets drawn by all launches with the same rows.
        pub drawn: GlobalMut<u64>,
        /// Output, zero before: the complement of the first row whose pivot is not valid, or zero if there is none.
        pub found: GlobalMut<u64>,
    }
}

/// A warp's row.
#[derive(Clone, Copy)]
pub(super) struct WarpRow {
    pub(super) row: usize,
    /// The first entry, the diagonal, and the end.
    pub(super) begin: usize,
    pub(super) diagonal: usize,
    pub(super) end: usize,
    /// Number of the launch.
    run: u32,
}

impl<O: Offset> FactorRows<O> {
    /// Draws a ticket for the block, and returns the row of this warp, or none.
    #[device(track_caller)]
    pub(super) fn draw<const BLOCK: usize>(self, words: Shared<u32>) -> Option<WarpRow> {
        let turn = Turn::draw(self.drawn, words);
        let slot = turn.ticket as usize * (BLOCK / thread::WARP_SIZE as usize) + thread::warp() as usize;
        if slot >= self.entries.count as usize {
            return None;
        }
        let row = self.order.load(slot) as usize;
        let (begin, diagonal) = self.bounds(row);
        // Zero is no launch.
        let run = turn.run.wrapping_add(1);
        Some(WarpRow { row, begin, diagonal, end: self.pattern.row_offsets.load(row + 1).to_usize(), run })
    }

    /// Returns the first entry and the diagonal of a row.
    #[device(track_caller)]
    pub(super) fn bounds(self, row: usize) -> (usize, usize) {
        let (begin, len) = self.entries.of(row);
        (begin, begin + len as usize)
    }

    /// Returns the column of an entry.
    #[device(track_caller)]
    pub(super) fn column(self, entry: usize) -> u32 {
        self.pattern.column_indices.load(entry)
    }

    /// Returns the entry with a column among consecutive ones of a row, or their end.
    #[device(track_caller)]
    pub(super) fn find(self, column: u32, begin: usize, end: usize) -> usize {
        let at = partition_point(begin, end, |entry| self.column(entry) < column);
        if at < end && self.column(at) == column {
            at
        } else {
            end
        }
    }

    /// Waits until a row is complete. Then all lanes of the warp see its values.
    #[device(track_caller)]
    pub(super) fn wait(self, row: u32, by: WarpRow) {
        loop {
            let completed = self.completed.atomic_load(row as usize, Ordering::Acquire, Scope::Device);
            if warp::all(warp::FULL, completed == by.run) {
                return;
            }
            thread::spin_hint();
        }
    }

    /// Tells others that the warp's row is complete.
    #[device(track_caller)]
    pub(super) fn complete(self, by: WarpRow) {
        warp::sync(warp::FULL);
        if thread::lane() == 0 {
            self.completed.atomic_store(by.row, by.run, Ordering::Release, Scope::Device);
        }
    }

    /// Notes that a row's pivot is not valid: for one lane.
    #[device(track_caller)]
    pub(super) fn note_breakdown(self, row: usize) {
        self.found.fetch_max(0, !(row as u64), Ordering::Relaxed, Scope::Device);
    }
}
