//! Rows of a factorization. A warp factorizes a row; other warps wait for it.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, warp, Arena, Global, GlobalMut, Shared};

use crate::block::search::partition_point;
use crate::block::waiting::{Turn, TURN_WORDS};
use crate::triangular::{Coefficient, TriangleEntries};
use crate::{GlobalPattern, Offset};

/// Maximum number of entries of a row that is in shared memory while it is factorized.
const KEPT_LEN: usize = 128;

/// Bytes of shared memory of a block.
#[device]
pub(super) const fn shared_bytes<V: Coefficient>(block: usize) -> usize {
    2 * TURN_WORDS * 4 + block / thread::WARP_SIZE as usize * KEPT_LEN * (V::SIZE + 4)
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
    /// Columns and values of a row that is in shared memory.
    kept_columns: Shared<u32>,
    kept_values: Shared<V>,
}

/// A row that a warp's row needs, as far as no value counts.
#[derive(Clone, Copy)]
pub(super) struct NeededRow {
    /// The first entry that counts, and the end of these, in the matrix.
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) diagonal: usize,
    /// Where this lane's first entry meets one of the warp's row.
    pub(super) meets: Option<usize>,
}

impl NeededRow {
    const NONE: Self = Self { begin: 0, end: 0, diagonal: 0, meets: None };
}

impl<V: Coefficient, O: Offset> FactorRows<V, O> {
    /// Draws a ticket for the block, and returns the row of this warp, or none.
    #[device(track_caller)]
    pub(super) fn draw<const BLOCK: usize>(self, mut arena: Arena) -> Option<OwnRow<V>> {
        let turn = Turn::draw(self.drawn, arena.take(TURN_WORDS));
        let (warp, warps) = (thread::warp() as usize, BLOCK / thread::WARP_SIZE as usize);
        let kept_values: Shared<V> = arena.take(warps * KEPT_LEN);
        let kept_columns: Shared<u32> = arena.take(warps * KEPT_LEN);
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
            kept_columns: kept_columns.skip(warp * KEPT_LEN),
            kept_values: kept_values.skip(warp * KEPT_LEN),
        })
    }

    /// Returns the first entry and the diagonal of a row.
    #[device(track_caller)]
    pub(super) fn bounds(self, row: usize) -> (usize, usize) {
        let (begin, len) = self.entries.of(row);
        (begin, begin + len as usize)
    }

    /// Calls `take` for each entry below the diagonal, one after the other, with the row of its column that `find` returns. The next
    /// row is looked up before the values of a row are waited for.
    #[device(track_caller)]
    pub(super) fn for_each_needed(
        self,
        own: OwnRow<V>,
        find: impl Fn(usize) -> NeededRow,
        take: impl Fn(usize, NeededRow),
    ) {
        let look_up = |entry| if entry < own.below { find(entry) } else { NeededRow::NONE };
        let mut next = look_up(0);
        let mut entry = 0;
        while entry < own.below {
            let needed = next;
            next = look_up(entry + 1);
            take(entry, needed);
            entry += 1;
        }
    }

    /// Returns the end of a row.
    #[device(track_caller)]
    pub(super) fn end(self, row: usize) -> usize {
        self.pattern.row_offsets.load(row + 1).to_usize()
    }

    /// Returns where an entry at `at`, if it is before `end`, meets one of `own` between `first` and `last`.
    #[device(track_caller)]
    pub(super) fn meet(
        self,
        at: usize,
        end: usize,
        own: OwnRow<V>,
        (first, last): (usize, usize),
    ) -> Option<usize> {
        if at >= end {
            return None;
        }
        own.find(self.pattern.column_indices.load(at), first, last)
    }

    /// Waits for the diagonal of a needed row, and for this lane's entry at `at` unless it meets none. All lanes of a warp call it.
    #[device(track_caller)]
    pub(super) fn wait(self, needed: NeededRow, at: usize, meets: Option<usize>) -> (V, V) {
        let (mut pivot, mut value) = (V::ZERO, V::ZERO);
        loop {
            pivot = pivot.look_if(self.passed, needed.diagonal, true);
            value = value.look_if(self.passed, at, meets.is_some());
            let is_there = !pivot.is_none() && (meets.is_none() || !value.is_none());
            if warp::all(warp::FULL, is_there) {
                return (pivot.of_words(), value.of_words());
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
            if own.is_kept() {
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
    /// Returns whether the row is in shared memory, and not where the factors are.
    #[device]
    fn is_kept(self) -> bool {
        self.len <= KEPT_LEN
    }

    /// Takes the columns of all entries, and the values that `value` returns for them. All lanes of a warp call it.
    #[device(track_caller)]
    pub(super) fn fill(self, value: impl Fn(usize) -> V) {
        let mut at = thread::lane() as usize;
        while at < self.len {
            if self.is_kept() {
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
        if self.is_kept() {
            self.kept_columns.load(at)
        } else {
            self.columns.load(at)
        }
    }

    /// Returns the value of an entry.
    #[device(track_caller)]
    pub(super) fn value(self, at: usize) -> V {
        if self.is_kept() {
            self.kept_values.load(at)
        } else {
            self.factors.load(at)
        }
    }

    /// Replaces the value of an entry.
    #[device(track_caller)]
    pub(super) fn set(self, at: usize, value: V) {
        if self.is_kept() {
            self.kept_values.store(at, value);
        } else {
            self.factors.store(at, value);
        }
    }

    /// Returns the entry with a column between two entries.
    #[device(track_caller)]
    fn find(self, column: u32, first: usize, last: usize) -> Option<usize> {
        let at = partition_point(first, last, |at| self.column(at) < column);
        (at < last && self.column(at) == column).then_some(at)
    }
}
