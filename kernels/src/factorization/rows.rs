//! Rows that are factorized by a warp each, and that other warps wait for.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, warp, Arena, Global, GlobalMut, Shared};

use crate::block::search::partition_point;
use crate::block::waiting::{Turn, TURN_WORDS};
use crate::triangular::{Coefficient, TriangleEntries};
use crate::unroll::unroll;
use crate::{GlobalPattern, Offset};

/// Entries of a needed row that a lane looks at together, after the first.
pub(super) const AT_ONCE: usize = 4;

/// Bytes of dynamic shared memory for the entries of rows of up to `kept_len` entries, one for each warp of a block of `block` threads.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn kept_bytes<V: Coefficient>(block: usize, kept_len: usize) -> usize {
    block / thread::WARP_SIZE as usize * kept_len * (V::SIZE + 4)
}

parameters! {
    /// The rows of a matrix that is factorized, and their state.
    pub struct FactorRows<V: Coefficient, O: Offset> {
        /// The pattern of the factors: canonical, with a diagonal.
        pub pattern: GlobalPattern<O>,
        /// The entries below the diagonal of each row; the diagonal follows them.
        pub entries: TriangleEntries<O>,
        /// The rows in an order in which each comes after those that it needs.
        pub order: Global<u32>,
        /// Output: the values of the factors.
        pub factors: GlobalMut<V>,
        /// [Words](Coefficient) of the entries that other rows need, zero before.
        pub passed: GlobalMut<<V as Coefficient>::Part>,
        /// Tickets drawn by all launches with the same rows.
        pub drawn: GlobalMut<u64>,
        /// Output, zero before: the complement of the first row whose pivot is not valid, or zero if there is none.
        pub found: GlobalMut<u64>,
        /// Maximum number of entries of a row that is in shared memory while it is factorized.
        pub kept_len: u32,
    }
}

/// A warp's row. Entries are numbered from the first of the row.
#[derive(Clone, Copy)]
pub(super) struct OwnRow<V: Coefficient> {
    pub(super) row: usize,
    /// The first entry in the matrix.
    pub(super) begin: usize,
    /// Number of entries below the diagonal: the number of the diagonal.
    pub(super) below: usize,
    pub(super) len: usize,
    columns: Global<u32>,
    factors: GlobalMut<V>,
    /// True if the row is in shared memory, and not where the factors are; then its columns and values.
    is_kept: bool,
    kept_columns: Shared<u32>,
    kept_values: Shared<V>,
}

/// The entries that count of a row that a warp's row needs.
#[derive(Clone, Copy)]
pub(super) struct NeededRow {
    /// The first, and their end, in the matrix.
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) diagonal: usize,
}

impl NeededRow {
    /// No row.
    #[device]
    pub(super) fn none() -> Self {
        Self { begin: 0, end: 0, diagonal: 0 }
    }
}

impl<V: Coefficient, O: Offset> FactorRows<V, O> {
    /// Draws a ticket for the block, and returns the row of this warp, or none.
    #[device(track_caller)]
    pub(super) fn draw<const BLOCK: usize>(self, mut arena: Arena) -> Option<OwnRow<V>> {
        let turn = Turn::draw(self.drawn, arena.take(TURN_WORDS));
        let (warp, warps) = (thread::warp() as usize, BLOCK / thread::WARP_SIZE as usize);
        let kept_len = self.kept_len as usize;
        let mut kept = Arena::dynamic((warps * kept_len * (V::SIZE + 4)) as u32);
        let kept_values: Shared<V> = kept.take(warps * kept_len);
        let kept_columns: Shared<u32> = kept.take(warps * kept_len);
        let slot = turn.ticket as usize * warps + warp;
        if slot >= self.entries.count as usize {
            return None;
        }
        let row = self.order.load(slot) as usize;
        let (begin, diagonal) = self.bounds(row);
        Some(OwnRow {
            row,
            begin,
            below: diagonal - begin,
            len: self.end(row) - begin,
            columns: self.pattern.column_indices.skip(begin),
            factors: self.factors.skip(begin),
            is_kept: self.end(row) - begin <= kept_len,
            kept_columns: kept_columns.skip(warp * kept_len),
            kept_values: kept_values.skip(warp * kept_len),
        })
    }

    /// Returns the first entry and the diagonal of a row.
    #[device(track_caller)]
    pub(super) fn bounds(self, row: usize) -> (usize, usize) {
        let (begin, len) = self.entries.of(row);
        (begin, begin + len as usize)
    }

    /// Returns the end of a row.
    #[device(track_caller)]
    pub(super) fn end(self, row: usize) -> usize {
        self.pattern.row_offsets.load(row + 1).to_usize()
    }

    /// Returns the column of this lane's entry at `at` of a needed row, or that of no entry.
    #[device(track_caller)]
    pub(super) fn column_of(self, needed: NeededRow, at: usize) -> u32 {
        self.pattern.column_indices.load_if(at, at < needed.end)
    }

    /// Returns where the lane's entries from `at` on meet those of a row.
    #[device(track_caller)]
    pub(super) fn meets(
        self,
        own: OwnRow<V>,
        needed: NeededRow,
        at: usize,
        between: (usize, usize),
    ) -> [Option<usize>; AT_ONCE] {
        let mut meets = [None; AT_ONCE];
        unroll!(for item in 0..AT_ONCE {
            let place = at + item * thread::WARP_SIZE as usize;
            meets[item] = own.meet(needed, place, self.column_of(needed, place), between);
        });
        meets
    }

    /// Waits for the diagonal of a needed row, and for those entries of this lane, every 32nd from `at` on, that meet one of the warp's
    /// row. All lanes of a warp call it.
    #[device(track_caller)]
    pub(super) fn wait<const N: usize>(
        self,
        needed: NeededRow,
        at: usize,
        meets: [Option<usize>; N],
    ) -> (V, [V; N]) {
        let (mut pivot, mut values) = (V::ZERO, [V::ZERO; N]);
        loop {
            pivot = pivot.look_if(self.passed, needed.diagonal, true);
            unroll!(for item in 0..N {
                let place = at + item * thread::WARP_SIZE as usize;
                values[item] = values[item].look_if(self.passed, place, meets[item].is_some());
            });
            let mut are_there = !pivot.is_none();
            unroll!(for item in 0..N {
                are_there &= meets[item].is_none() || !values[item].is_none();
            });
            if warp::all(warp::FULL, are_there) {
                unroll!(for item in 0..N {
                    values[item] = values[item].of_words();
                });
                return (pivot.of_words(), values);
            }
            thread::spin_hint();
        }
    }

    /// Stores a row's factors, and passes those of `first` and after it on. All lanes of a warp call it.
    #[device(track_caller)]
    pub(super) fn store(self, own: OwnRow<V>, first: usize) {
        warp::sync(warp::FULL);
        let mut at = thread::lane() as usize;
        while at < own.len {
            let value = own.value(at);
            if at >= first {
                value.pass(self.passed, own.begin + at);
            }
            if own.is_kept {
                own.factors.store(at, value);
            }
            at += thread::WARP_SIZE as usize;
        }
    }

    /// Notes that a row's pivot is not valid: for one lane.
    #[device(track_caller)]
    pub(super) fn note_breakdown(self, row: usize) {
        self.found.fetch_max(0, !(row as u64), Ordering::Relaxed, Scope::Device);
    }
}

impl<V: Coefficient> OwnRow<V> {
    /// Takes the columns of all entries, and the values that `value` returns for them. All lanes of a warp call it.
    #[device(track_caller)]
    pub(super) fn fill(self, value: impl Fn(usize) -> V) {
        let mut at = thread::lane() as usize;
        while at < self.len {
            if self.is_kept {
                self.kept_columns.store(at, self.columns.load(at));
            }
            self.set(at, value(at));
            at += thread::WARP_SIZE as usize;
        }
        warp::sync(warp::FULL);
    }

    /// Returns the column of an entry.
    #[device(track_caller)]
    pub(super) fn column(self, at: usize) -> u32 {
        if self.is_kept {
            self.kept_columns.load(at)
        } else {
            self.columns.load(at)
        }
    }

    /// Returns the value of an entry.
    #[device(track_caller)]
    pub(super) fn value(self, at: usize) -> V {
        if self.is_kept {
            self.kept_values.load(at)
        } else {
            self.factors.load(at)
        }
    }

    /// Replaces the value of an entry.
    #[device(track_caller)]
    pub(super) fn set(self, at: usize, value: V) {
        if self.is_kept {
            self.kept_values.store(at, value);
        } else {
            self.factors.store(at, value);
        }
    }

    /// Returns where this lane's entry at `at` of a needed row, of a column, meets one of the row between `first` and `last`.
    #[device(track_caller)]
    pub(super) fn meet(
        self,
        needed: NeededRow,
        at: usize,
        column: u32,
        (first, last): (usize, usize),
    ) -> Option<usize> {
        if at >= needed.end {
            return None;
        }
        let at = partition_point(first, last, |at| self.column(at) < column);
        (at < last && self.column(at) == column).then_some(at)
    }
}
