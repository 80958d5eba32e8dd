use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Aligned16, Arena, Element, Global, GlobalMut};

use super::near::Near;
use super::triangle::TriangleEntries;
use crate::block::waiting::{compute_rows, RowLane, Turn, WaitingRow, TURN_WORDS};
use crate::Offset;

/// Word of [`FindLevels::longest`] with the number of levels.
const LEVELS_WORD: usize = 0;
/// Word of [`FindLevels::longest`] with the longest way.
const WAY_WORD: usize = 1;
/// Length of the way to a row from another of the block.
const NEAR_STEP: u32 = 1;

kernel! {
    /// Finds the level of each row: 1 if it needs no other row, else one more than the highest of the rows that it needs. Lower
    /// triangles are computed from the first row on, upper ones from the last.
    ///
    /// Finds the *way* of each row, too: the sum of the longest chain of rows up to it, where a row that needs one of the same block
    /// counts 1, and others count `far_step`.
    pub struct FindLevels<O: Offset> {
        /// The entries of the triangle, in the order of rows.
        pub entries: TriangleEntries<O>,
        /// The column indices of the matrix.
        pub column_indices: Global<u32, Aligned16>,
        /// Workspace, zero before: the level of each row, and its way in the higher half.
        pub passed: GlobalMut<u64>,
        /// Output: the level of each row.
        pub levels: GlobalMut<u32>,
        /// Output, zero before: the number of levels, and the longest way.
        pub longest: GlobalMut<u64>,
        /// One word, zero before.
        pub drawn: GlobalMut<u64>,
        /// Lanes of a row: a power of two up to 32.
        pub lanes: u32,
        /// Length of the way to a row from a row of another block.
        pub far_step: u32,
    }
    shared: 2 * TURN_WORDS * 4 + BLOCK * u64::SIZE;
    body: FindLevels::find::<BLOCK>;
    entry: triangular_find_levels_{O} in triangular: O in [u32, u64], 512 x 1;
}

impl<O: Offset> FindLevels<O> {
    #[device]
    fn find<const BLOCK: usize>(self, mut arena: Arena) {
        let turn = Turn::draw(self.drawn, arena.take(TURN_WORDS));
        let of = RowLane::of_ticket::<BLOCK>(turn.ticket, self.lanes);
        let near = Near::new::<BLOCK>(arena.take(BLOCK), self.entries, of);
        let is_row = of.slot < self.entries.count as usize;
        let (mut row, mut begin, mut len) = (0, 0, 0);
        if is_row {
            row = self.entries.row_of(of.slot);
            (begin, len) = self.entries.of(row);
        }
        let needed = self.column_indices.load_if(begin + of.lane as usize, of.lane < len);
        let part = RowLevel {
            passed: self.passed,
            levels: self.levels,
            near,
            columns: self.column_indices.skip(begin),
            far_step: self.far_step,
            row,
            len,
            of,
            at: of.lane,
            needed,
            level: 0,
            way: 0,
        };
        let part = compute_rows(part, of, is_row);
        self.note(part.level + 1, part.way, is_row);
    }

    /// Notes the highest of a warp's levels and ways; `level` and `way` are those of a row if `is_row` holds.
    #[device]
    fn note(self, level: u32, way: u32, is_row: bool) {
        let higher = |a, b| if a > b { a } else { b };
        let level = warp::reduce(if is_row { level } else { 0 }, higher);
        let way = warp::reduce(if is_row { way } else { 0 }, higher);
        if thread::lane() == 0 {
            self.longest.fetch_max(LEVELS_WORD, u64::from(level), Ordering::Relaxed, Scope::Device);
            self.longest.fetch_max(WAY_WORD, u64::from(way), Ordering::Relaxed, Scope::Device);
        }
    }
}

/// A lane's part of a row, of which it needs every `lanes`-th entry.
struct RowLevel {
    passed: GlobalMut<u64>,
    levels: GlobalMut<u32>,
    near: Near<u64>,
    columns: Global<u32>,
    far_step: u32,
    row: usize,
    len: u32,
    of: RowLane,
    /// The next entry, and its column.
    at: u32,
    needed: u32,
    /// The highest level and the longest way so far.
    level: u32,
    way: u32,
}

impl WaitingRow for RowLevel {
    #[device]
    fn advance(&mut self) {
        if self.at >= self.len {
            return;
        }
        let near = self.near.place_of(self.needed);
        let word = match near {
            Some(place) => self.near.words.atomic_load(place),
            None => self.passed.atomic_load(self.needed as usize, Ordering::Relaxed, Scope::Device),
        };
        if word > 0 {
            let step = if near.is_some() { NEAR_STEP } else { self.far_step };
            self.level = self.level.max(word as u32);
            self.way = self.way.max(((word >> 32) as u32).saturating_add(step));
            self.at += self.of.lanes;
            self.needed = self.columns.load_if(self.at as usize, self.at < self.len);
        }
    }

    #[device]
    fn is_waiting(&self) -> bool {
        self.at < self.len
    }

    #[device]
    fn finish(&mut self, is_complete: bool) {
        let higher = |a, b| if a > b { a } else { b };
        let level = warp::reduce_groups(self.level, self.of.lanes, higher);
        let way = warp::reduce_groups(self.way, self.of.lanes, higher);
        if is_complete && self.of.lane == 0 {
            let word = u64::from(level + 1) | u64::from(way) << 32;
            if let Some(place) = self.near.place_of(self.row as u32) {
                self.near.words.atomic_store(place, word);
            }
            self.passed.atomic_store(self.row, word, Ordering::Relaxed, Scope::Device);
            self.levels.store(self.row, level + 1);
        }
    }
}
