//! Nonzeros of a tile of the merge of row ends and nonzeros, and the data that each needs of its row.

use evenpath_simt::{device, thread, warp, Element, Global, Shared};

use crate::block::strided;
use crate::{GlobalPattern, Offset};

/// A tile's place in a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathTile {
    /// Number of the tile's first row.
    pub(crate) first_row: usize,
    /// Rows that end in the tile; the next one may have its first nonzeros here.
    pub(crate) rows: u32,
    matrix_rows: u32,
    /// Number of the tile's first nonzero.
    pub(crate) first_nonzero: usize,
    /// Nonzeros of the tile.
    pub(crate) nonzeros: u32,
}

impl PathTile {
    /// Tile `index` of tiles that are `len` long; `tile_rows` is what `MergePartition` found for them.
    #[device]
    pub(crate) fn new<O: Offset>(
        index: usize,
        len: usize,
        tile_rows: Global<u32>,
        pattern: GlobalPattern<O>,
    ) -> Self {
        let first_row = tile_rows.load(index);
        Self::between(index, len, (first_row, tile_rows.load(index + 1)), pattern)
    }

    /// Tile `index` of tiles that are `len` long, which begins in the row `first_row`; the next begins in `next_row`.
    #[device]
    pub(crate) fn between<O: Offset>(
        index: usize,
        len: usize,
        (first_row, next_row): (u32, u32),
        pattern: GlobalPattern<O>,
    ) -> Self {
        let ends = next_row - first_row;
        let start = index * len;
        let left = pattern.rows as usize + pattern.nonzeros as usize - start;
        let items = if left < len { left as u32 } else { len as u32 };
        Self {
            first_row: first_row as usize,
            rows: ends,
            matrix_rows: pattern.rows,
            first_nonzero: start - first_row as usize,
            nonzeros: items - ends,
        }
    }

    /// Returns the `ITEMS` elements of this thread, every `BLOCK`th of the tile's: all are loaded before the first is
    /// used. Threads past the end repeat the last. A tile without nonzeros gives zeros.
    #[device]
    pub(crate) fn load<T: Element, const BLOCK: usize, const ITEMS: usize>(
        self,
        elements: Global<T>,
    ) -> [T; ITEMS] {
        let mut own = [T::ZERO; ITEMS];
        if self.nonzeros > 0 {
            let elements = elements.skip(self.first_nonzero);
            for item in 0..ITEMS {
                let place = Self::place::<BLOCK>(item).min(self.nonzeros - 1);
                own[item] = elements.load_streaming(place as usize);
            }
        }
        own
    }

    /// Writes the row ends, relative to the tile's first nonzero, and after the last more than there are nonzeros: one more
    /// than the tile has rows. The block sees them after a barrier.
    #[device]
    pub(crate) fn write_row_ends<O: Offset, const BLOCK: usize>(
        self,
        row_offsets: Global<O>,
        row_ends: Shared<u32>,
    ) {
        let ends = row_offsets.skip(self.first_row + 1);
        let mut row = thread::index();
        while row < self.rows {
            let end = ends.load_streaming(row as usize).to_usize() - self.first_nonzero;
            row_ends.store(row as usize, end as u32);
            row += BLOCK as u32;
        }
        if row == self.rows {
            row_ends.store(row as usize, u32::MAX);
        }
    }

    /// Returns the place in the tile of this thread's nonzero `item`, which exists if the place is below `nonzeros`.
    #[device]
    pub(crate) fn place<const BLOCK: usize>(item: usize) -> u32 {
        strided::place::<BLOCK>(item)
    }

    /// Writes to `entries`, for each nonzero, the value of `of_row` for its row. The block sees them after a barrier.
    ///
    /// The threads are divided evenly among the rows of the tile; the rest of a row that is much longer than others is
    /// written by its whole warp.
    #[device]
    pub(crate) fn spread<T: Element, O: Offset, const BLOCK: usize>(
        self,
        row_offsets: Global<O>,
        entries: Shared<T>,
        of_row: impl Fn(usize) -> T,
    ) {
        const { assert!((BLOCK as u32).is_power_of_two() && BLOCK >= 32) };
        let lanes_log2 = (BLOCK as u32 / (self.rows + 1)).max(1).ilog2();
        let rows_at_once = BLOCK as u32 >> lanes_log2;
        let mut first = 0;
        while first <= self.rows {
            // The offsets and entries of all rows are loaded before the first is used.
            let mut runs = [EntryRun { begin: 0, end: 0, entry: T::ZERO }; ROWS];
            for item in 0..ROWS {
                let row = first + (thread::index() >> lanes_log2) + item as u32 * rows_at_once;
                runs[item] = self.run(row, row_offsets, &of_row);
            }
            for item in 0..ROWS {
                runs[item].write(entries, lanes_log2);
            }
            first += ROWS as u32 * rows_at_once;
        }
    }

    /// Returns the nonzeros of a row, counted from the tile's first; none if the row is not in the tile.
    #[device]
    fn run<T: Element, O: Offset>(
        self,
        row: u32,
        row_offsets: Global<O>,
        of_row: &impl Fn(usize) -> T,
    ) -> EntryRun<T> {
        let index = self.first_row + row as usize;
        // After the matrix's last row there is no other.
        if row > self.rows || index >= self.matrix_rows as usize {
            return EntryRun { begin: 0, end: 0, entry: T::ZERO };
        }
        let entry = of_row(index);
        // A row that began before has its first nonzeros in other tiles; the last row may have its last there.
        let begin = row_offsets.load(index).to_usize().max(self.first_nonzero) - self.first_nonzero;
        let end = if row < self.rows {
            (row_offsets.load(index + 1).to_usize() - self.first_nonzero) as u32
        } else {
            self.nonzeros
        };
        EntryRun { begin: begin as u32, end, entry }
    }
}

/// Rows that a thread handles at a time.
const ROWS: usize = 2;

/// The most entries of a row that a thread writes before its warp helps.
const SHORT: u32 = 16;

/// Consecutive nonzeros that get the same entry.
#[derive(Clone, Copy)]
struct EntryRun<T> {
    begin: u32,
    end: u32,
    entry: T,
}

impl<T: Element> EntryRun<T> {
    /// Writes the run, by 2^`lanes_log2` threads. All threads of the warp call it.
    #[device]
    fn write(self, entries: Shared<T>, lanes_log2: u32) {
        let lanes = 1 << lanes_log2;
        let lane = thread::index() & (lanes - 1);
        let own_end = self.end.min(self.begin + SHORT * lanes);
        let mut place = self.begin + lane;
        while place < own_end {
            entries.store(place as usize, self.entry);
            place += lanes;
        }
        let mut long = warp::ballot(warp::FULL, lane == 0 && own_end < self.end);
        while long != 0 {
            let source = long.trailing_zeros();
            long &= long - 1;
            let entry = warp::shuffle(warp::FULL, self.entry, source);
            let end = warp::shuffle(warp::FULL, self.end, source);
            let mut place = warp::shuffle(warp::FULL, own_end, source) + thread::lane();
            while place < end {
                entries.store(place as usize, entry);
                place += thread::WARP_SIZE;
            }
        }
    }
}
