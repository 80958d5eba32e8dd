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

/// A row that a warp's row needs.
#[derive(Clone, Copy)]
pub(super) struct NeededRow {
    /// The first entry that counts, and the end of these, in the matrix.
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) diagonal: usize,
}

/// Where entries of a needed row, one for each lane, meet the warp's row.
#[derive(Clone, Copy)]
pub(super) struct Meeting<V> {
    needed: NeededRow,
    /// The lane's entry in the matrix.
    at: usize,
    /// The entry of the warp's row with the same column.
    pub(super) met: Option<usize>,
    /// Words of the diagonal and of the lane's entry, as far as they were there.
    pivot: V,
    value: V,
}

impl NeededRow {
    const NONE: Self = Self { begin: 0, end: 0, diagonal: 0 };

    /// Returns that of another lane.
    #[device]
    fn of_lane(self, lane: u32) -> Self {
        let shuffle = |place: usize| warp::shuffle(warp::FULL, place as u64, lane) as usize;
        Self { begin: shuffle(self.begin), end: shuffle(self.end), diagonal: shuffle(self.diagonal) }
    }
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

    /// Calls `take` for each entry below the diagonal, one after the other, with where the row of its column meets the warp's. `bounds`
    /// returns the entries of a row that count, and `range` those of the warp's row that they may meet.
    ///
    /// The lanes look up the rows of 32 entries at once. The columns of a row are loaded two entries ahead, and its values one ahead.
    #[device(track_caller)]
    pub(super) fn for_each_needed(
        self,
        own: OwnRow<V>,
        bounds: impl Fn(usize) -> NeededRow,
        range: impl Fn(usize) -> (usize, usize),
        take: impl Fn(usize, Meeting<V>),
    ) {
        let lane = thread::lane() as usize;
        let mut looked_up = NeededRow::NONE;
        let mut load = |entry: usize| {
            if entry.is_multiple_of(thread::WARP_SIZE as usize) {
                let is_there = entry + lane < own.below;
                looked_up =
                    if is_there { bounds(own.column(entry + lane) as usize) } else { NeededRow::NONE };
            }
            let needed = looked_up.of_lane(entry as u32 % thread::WARP_SIZE);
            (needed, self.column(needed, needed.begin + lane))
        };
        let look = |entry: usize, (needed, column): (NeededRow, u32)| {
            self.look(own, (needed, needed.begin + lane, column), range(entry), V::ZERO)
        };
        let mut next = look(0, load(0));
        let mut loaded = load(1);
        let mut entry = 0;
        while entry < own.below {
            let current = next;
            let columns = loaded;
            loaded = load(entry + 2);
            next = look(entry + 1, columns);
            take(entry, current);
            entry += 1;
        }
    }

    /// Loads the column of a needed row's entry, if it counts.
    #[device(track_caller)]
    fn column(self, needed: NeededRow, at: usize) -> u32 {
        self.pattern.column_indices.load_if(at, at < needed.end)
    }

    /// Finds where a needed row's entry meets one of the warp's row in a range, and looks for its value. `pivot` has the words of the
    /// diagonal, as far as they are there.
    #[device(track_caller)]
    fn look(
        self,
        own: OwnRow<V>,
        (needed, at, column): (NeededRow, usize, u32),
        (first, last): (usize, usize),
        pivot: V,
    ) -> Meeting<V> {
        let met = if at < needed.end { own.find(column, first, last) } else { None };
        let pivot = pivot.look_if(self.passed, needed.diagonal, needed.end > 0);
        let value = V::ZERO.look_if(self.passed, at, met.is_some());
        Meeting { needed, at, met, pivot, value }
    }

    /// Returns where the next 32 entries of a needed row meet the warp's row, or none after its last.
    #[device(track_caller)]
    pub(super) fn following(
        self,
        own: OwnRow<V>,
        Meeting { needed, at, pivot, .. }: Meeting<V>,
        range: (usize, usize),
    ) -> Option<Meeting<V>> {
        let at = at + thread::WARP_SIZE as usize;
        if at - thread::lane() as usize >= needed.end {
            return None;
        }
        Some(self.look(own, (needed, at, self.column(needed, at)), range, pivot))
    }

    /// Returns the end of a row.
    #[device(track_caller)]
    pub(super) fn end(self, row: usize) -> usize {
        self.pattern.row_offsets.load(row + 1).to_usize()
    }

    /// Waits for the diagonal of a needed row, and for this lane's entry unless it meets none. All lanes of a warp call it.
    #[device(track_caller)]
    pub(super) fn wait(self, meeting: &mut Meeting<V>) -> (V, V) {
        loop {
            let Meeting { needed, at, met, pivot, value } = *meeting;
            meeting.pivot = pivot.look_if(self.passed, needed.diagonal, true);
            meeting.value = value.look_if(self.passed, at, met.is_some());
            let is_there = !meeting.pivot.is_none() && (met.is_none() || !meeting.value.is_none());
            if warp::all(warp::FULL, is_there) {
                return (meeting.pivot.of_words(), meeting.value.of_words());
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
