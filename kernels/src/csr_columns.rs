//! Columns of a CSR matrix: those of a range, or of a list, in any order and perhaps repeated.
//!
//! An entry has a place in the result for each time that its column was chosen: none, one or more. A block counts the places of the
//! entries of its tile ([`CountChosen`]). Then the number of places before each tile is known, and the tile writes its entries
//! and the ends of its rows ([`CopyChosen`]).

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, parameters, thread, Arena, Element, Global, GlobalMut, Shared};

use crate::block::count_scan::CountScan;
use crate::block::reduce::BlockReduce;
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Checks a list of columns: one thread per element.
    pub struct CheckColumns {
        /// The list.
        pub list: Global<u32>,
        /// Output, two words that are zero before: if columns are listed that do not exist, the number of elements from the first of
        /// them to the end of the list; and the number of elements that are less than the one before.
        pub totals: GlobalMut<u64>,
        /// Columns of the matrix.
        pub cols: u32,
        /// The length of the list.
        pub len: u32,
    }
    shared: 2 * BlockReduce::<u64, BLOCK>::BYTES;
    body: CheckColumns::check_columns::<BLOCK>;
    entry: csr_columns_check in csr_columns: 256 x 1;
}

impl CheckColumns {
    #[device]
    fn check_columns<const BLOCK: usize>(self, mut arena: Arena) {
        let maxima = BlockReduce::<u64, BLOCK>::take(&mut arena);
        let sums = BlockReduce::<u64, BLOCK>::take(&mut arena);
        let (index, len) = (thread::global_index::<BLOCK>(), self.len as usize);
        let (mut missing, mut descents) = (0, 0);
        if index < len {
            let column = self.list.load(index);
            if column >= self.cols {
                missing = (len - index) as u64;
            }
            if index > 0 && self.list.load(index - 1) > column {
                descents = 1;
            }
        }
        maxima.share(missing, u64::max);
        sums.share(descents, |a, b| a + b);
        if thread::index() == 0 {
            let (missing, descents) = (maxima.total(u64::max), sums.total(|a, b| a + b));
            if missing > 0 {
                self.totals.fetch_max(0, missing, Ordering::Relaxed, Scope::Device);
            }
            if descents > 0 {
                self.totals.fetch_add(1, descents, Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

/// Codes of choices.
pub mod choice {
    /// A range of columns.
    pub const RANGE: u32 = 0;
    /// A list in which no column is less than the one before.
    pub const ASCENDING: u32 = 1;
    /// A list in any order.
    pub const LIST: u32 = 2;
}

parameters! {
    /// The columns that are chosen.
    pub struct ChosenColumns {
        /// One of [`choice`].
        pub code: u32,
        /// The first column of a range.
        pub first: u32,
        /// The number of columns of a range.
        pub count: u32,
        /// For a list: the number of its elements that are less than a column, and its length at the end.
        pub starts: Global<u32>,
        /// For a list in any order: the positions of its elements, sorted by column.
        pub positions: Global<u32>,
    }
}

/// Columns of the result that are one column of the matrix.
#[derive(Clone, Copy)]
struct Places {
    first: u32,
    count: u32,
}

impl ChosenColumns {
    #[device(track_caller)]
    fn places(self, column: u32) -> Places {
        if self.code == choice::RANGE {
            let place = column.wrapping_sub(self.first);
            return Places { first: place, count: u32::from(place < self.count) };
        }
        let first = self.starts.load(column as usize);
        Places { first, count: self.starts.load(column as usize + 1) - first }
    }

    #[device(track_caller)]
    fn column(self, places: Places, index: u32) -> u32 {
        let place = places.first + index;
        if self.code == choice::LIST {
            self.positions.load(place as usize)
        } else {
            place
        }
    }
}

kernel! {
    /// Counts the entries that each tile has in the result: one block per tile of row ends plus entries.
    pub struct CountChosen<O: Offset> {
        /// The matrix; its column indices are not read.
        pub pattern: GlobalPattern<O>,
        /// Its column indices.
        pub columns: Global<u32>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// The chosen columns.
        pub chosen: ChosenColumns,
        /// Output: a count per tile.
        pub counts: GlobalMut<u64>,
    }
    shared: BlockReduce::<u64, BLOCK>::BYTES;
    body: CountChosen::count_chosen::<BLOCK, ITEMS>;
    entry: csr_columns_count_{O} in csr_columns: O in [u32, u64], 256 x 8;
}

impl<O: Offset> CountChosen<O> {
    #[device]
    fn count_chosen<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let sums = BlockReduce::<u64, BLOCK>::take(&mut arena);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        let columns = tile.load::<u32, BLOCK, ITEMS>(self.columns);
        let mut count = 0;
        for item in 0..ITEMS {
            if PathTile::place::<BLOCK>(item) < tile.nonzeros {
                count += u64::from(self.chosen.places(columns[item]).count);
            }
        }
        let count = sums.sum(count);
        if thread::index() == 0 {
            self.counts.store(thread::block() as usize, count);
        }
    }
}

kernel! {
    /// Copies the entries of chosen columns, row by row: one block per tile of row ends plus entries.
    pub struct CopyChosen<W: Element, O: Offset> {
        /// The matrix; its column indices are not read.
        pub pattern: GlobalPattern<O>,
        /// Its column indices.
        pub columns: Global<u32>,
        /// The bits of its values; not read if the result has sources.
        pub values: Global<W>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// The chosen columns.
        pub chosen: ChosenColumns,
        /// The number of the result's entries before each tile.
        pub before: Global<u64>,
        /// Output: row offsets, `rows` + 1.
        pub chosen_offsets: GlobalMut<O>,
        /// Output: column indices.
        pub chosen_columns: GlobalMut<u32>,
        /// Output: the bits of values, unless the result has sources.
        pub chosen_values: GlobalMut<W>,
        /// Output: the index of each entry in the matrix, if the result has sources.
        pub sources: GlobalMut<u32>,
        /// Zero unless the result has sources instead of values.
        pub has_sources: u32,
    }
    shared: (BLOCK * ITEMS + 1) * u64::SIZE + CountScan::<u64, BLOCK>::BYTES;
    body: CopyChosen::copy_chosen::<BLOCK, ITEMS>;
    entries: {
        csr_columns_copy_{W}_{O} in csr_columns: W in [u16, u32, u64], O in [u32, u64], 256 x 8;
        csr_columns_copy_{W}_{O} in csr_columns_c64: W = Complex<f64> as c64, O in [u32, u64], 256 x 8;
    }
}

impl<W: Element, O: Offset> CopyChosen<W, O> {
    #[device]
    fn copy_chosen<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let starts: Shared<u64> = arena.take(BLOCK * ITEMS + 1);
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        // 1. Count the places of each entry.
        let columns = tile.load::<u32, BLOCK, ITEMS>(self.columns);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            let count = if place < tile.nonzeros { self.chosen.places(columns[item]).count } else { 0 };
            starts.store(place as usize, u64::from(count));
        }
        thread::barrier();
        // 2. Sum the counts of the entries before each one; a thread has consecutive entries.
        let total = Self::scan_counts::<BLOCK, ITEMS>(starts, scan);
        // 3. Write the ends of rows, and the entries: a place after the other, whatever entry it is of.
        let before = self.before.load(thread::block() as usize);
        self.write_row_ends::<BLOCK>(tile, starts, before);
        let mut place = u64::from(thread::index());
        while place < total {
            let entry = entry_of(starts, tile.nonzeros, place);
            let index = tile.first_nonzero + entry as usize;
            let copy = (place - starts.load(entry as usize)) as u32;
            let target = (before + place) as usize;
            let places = self.chosen.places(self.columns.load(index));
            self.chosen_columns.store(target, self.chosen.column(places, copy));
            if self.has_sources == 0 {
                self.chosen_values.store(target, self.values.load(index));
            } else {
                self.sources.store(target, index as u32);
            }
            place += BLOCK as u64;
        }
    }

    /// Replaces the counts of entries by sums of those before; the total is at the end, and returned.
    #[device]
    fn scan_counts<const BLOCK: usize, const ITEMS: usize>(
        counts: Shared<u64>,
        scan: CountScan<u64, BLOCK>,
    ) -> u64 {
        let first = thread::index() as usize * ITEMS;
        let (mut own, mut sum) = ([0; ITEMS], 0);
        for item in 0..ITEMS {
            own[item] = counts.load(first + item);
            sum += own[item];
        }
        let scanned = scan.exclusive(sum);
        let mut before = scanned.before;
        for item in 0..ITEMS {
            counts.store(first + item, before);
            before += own[item];
        }
        if thread::index() == 0 {
            counts.store(BLOCK * ITEMS, scanned.total);
        }
        thread::barrier();
        scanned.total
    }

    #[device]
    fn write_row_ends<const BLOCK: usize>(self, tile: PathTile, starts: Shared<u64>, before: u64) {
        if tile.first_row == 0 && thread::block() == 0 && thread::index() == 0 {
            self.chosen_offsets.store(0, O::from_bits(0));
        }
        let mut row = thread::index();
        while row < tile.rows {
            let next = tile.first_row + row as usize + 1;
            let end = self.pattern.row_offsets.load(next).to_usize() - tile.first_nonzero;
            self.chosen_offsets.store(next, O::from_bits(before + starts.load(end)));
            row += BLOCK as u32;
        }
    }
}

/// Returns the last of `entries` entries that starts at `place` or before.
#[device(track_caller)]
fn entry_of(starts: Shared<u64>, entries: u32, place: u64) -> u32 {
    let (mut low, mut high) = (0, entries);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if starts.load(middle as usize) <= place {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

kernel! {
    /// Subtracts a number from row offsets: one thread per offset.
    pub struct SubtractOffset<O: Offset> {
        /// The offsets.
        pub source: Global<O>,
        /// Output.
        pub target: GlobalMut<O>,
        /// The number.
        pub first: u64,
        /// Number of offsets.
        pub len: u64,
    }
    shared: 0;
    body: SubtractOffset::subtract_offset::<BLOCK>;
    entry: csr_columns_subtract_offset_{O} in csr_columns: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SubtractOffset<O> {
    #[device]
    fn subtract_offset<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            self.target.store(index, O::from_bits(self.source.load(index).to_bits() - self.first));
        }
    }
}

kernel! {
    /// `result[i] = source[positions[i]]`, for the bits of values: one thread per element.
    pub struct GatherValues<W: Element> {
        /// The values that are read.
        pub source: Global<W>,
        /// The index of each.
        pub positions: Global<u32>,
        /// Output: the values.
        pub result: GlobalMut<W>,
        /// Number of values.
        pub len: u32,
    }
    shared: 0;
    body: GatherValues::gather_values::<BLOCK>;
    entries: {
        csr_columns_gather_{W} in csr_columns: W in [u16, u32, u64], 256 x 1;
        csr_columns_gather_{W} in csr_columns_c64: W = Complex<f64> as c64, 256 x 1;
    }
}

impl<W: Element> GatherValues<W> {
    #[device]
    fn gather_values<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let position = self.positions.load_streaming(index) as usize;
            self.result.store(index, self.source.load(position));
        }
    }
}
