use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, warp, Aligned16, Arena, Global, GlobalMut};

use super::triangle::{toward_diagonal, TriangleEntries};
use crate::block::waiting::{compute_rows, RowLane, Turn, WaitingRow, TURN_WORDS};
use crate::Offset;

kernel! {
    /// Finds the level of each row: 1 if it needs no other row, else one more than the highest of the rows that it needs. Lower
    /// triangles are computed from the first row on, upper ones from the last.
    pub struct FindLevels<O: Offset> {
        /// The entries of the triangle, in the order of rows.
        pub entries: TriangleEntries<O>,
        /// The column indices of the matrix.
        pub column_indices: Global<u32, Aligned16>,
        /// Output, zero before: the level of each row.
        pub levels: GlobalMut<u32>,
        /// One word, zero before.
        pub drawn: GlobalMut<u64>,
        /// Lanes of a row: a power of two up to 32.
        pub lanes: u32,
    }
    shared: TURN_WORDS * 4;
    body: FindLevels::find::<BLOCK>;
    entry: triangular_find_levels_{O} in triangular: O in [u32, u64], 128 x 1;
}

impl<O: Offset> FindLevels<O> {
    #[device]
    fn find<const BLOCK: usize>(self, mut arena: Arena) {
        let turn = Turn::draw(self.drawn, arena.take(TURN_WORDS));
        let of = RowLane::of_ticket::<BLOCK>(turn.ticket, self.lanes);
        let count = self.entries.count as usize;
        let is_row = of.slot < count;
        let (mut row, mut begin, mut len) = (0, 0, 0);
        if is_row {
            row = if self.entries.is_upper == 0 { of.slot } else { count - 1 - of.slot };
            (begin, len) = self.entries.of(row);
        }
        let mut part = RowLevel {
            levels: self.levels,
            columns: self.column_indices.skip(begin),
            is_upper: self.entries.is_upper != 0,
            row,
            len,
            of,
            at: of.lane,
            needed: 0,
            level: 0,
        };
        part.load();
        compute_rows(part, of, is_row);
    }
}

/// A lane's part of a row, of which it needs every `lanes`-th entry.
struct RowLevel {
    levels: GlobalMut<u32>,
    columns: Global<u32>,
    is_upper: bool,
    row: usize,
    len: u32,
    of: RowLane,
    /// The next entry, and its column.
    at: u32,
    needed: u32,
    /// The highest level so far.
    level: u32,
}

impl RowLevel {
    /// Loads the column of the next entry.
    #[device]
    fn load(&mut self) {
        let place = toward_diagonal(self.len as usize, self.at as usize, self.is_upper);
        self.needed = self.columns.load_if(place, self.at < self.len);
    }
}

impl WaitingRow for RowLevel {
    #[device]
    fn advance(&mut self) {
        if self.at < self.len {
            let level = self.levels.atomic_load(self.needed as usize, Ordering::Relaxed, Scope::Device);
            if level > 0 {
                self.level = self.level.max(level);
                self.at += self.of.lanes;
                self.load();
            }
        }
    }

    #[device]
    fn is_waiting(&self) -> bool {
        self.at < self.len
    }

    #[device]
    fn finish(&mut self, is_complete: bool) {
        let highest = warp::reduce_groups(self.level, self.of.lanes, |a, b| if a > b { a } else { b });
        if is_complete && self.of.lane == 0 {
            self.levels.atomic_store(self.row, highest + 1, Ordering::Relaxed, Scope::Device);
        }
    }
}
