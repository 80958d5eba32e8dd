//! Rows of a CSR matrix by a list, in any order and perhaps repeated: their lengths, and copies of their entries.
//!
//! The *whole* matrix has all rows; the *listed* one has a row for each element of the list, in its order. [`CopyListedRows`]
//! copies entries from the whole matrix to the listed one, or back.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared};

use crate::block::reduce::BlockReduce;
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Finds the length of each listed row: one thread for `ITEMS` rows.
    pub struct ListedLengths<O: Offset> {
        /// The row offsets of the whole matrix.
        pub row_offsets: Global<O>,
        /// The list.
        pub list: Global<u32>,
        /// Output: the lengths, `len` + 1; the last is zero.
        pub lengths: GlobalMut<u64>,
        /// Output, two words that are zero before: the sum of the lengths; and, if rows are listed that do not exist, the number
        /// of elements from the first of them to the end of the list.
        pub totals: GlobalMut<u64>,
        /// The number of rows of the whole matrix.
        pub rows: u32,
        /// The length of the list.
        pub len: u32,
    }
    shared: 2 * BlockReduce::<u64, BLOCK>::BYTES;
    body: ListedLengths::find_lengths::<BLOCK, ITEMS>;
    entry: csr_rows_lengths_{O} in csr_rows: O in [u32, u64], 256 x 4;
}

impl<O: Offset> ListedLengths<O> {
    #[device]
    fn find_lengths<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let sums = BlockReduce::<u64, BLOCK>::take(&mut arena);
        let maxima = BlockReduce::<u64, BLOCK>::take(&mut arena);
        let len = self.len as usize;
        let index =
            |item: usize| (thread::block() as usize * ITEMS + item) * BLOCK + thread::index() as usize;
        let mut rows = [0; ITEMS];
        for item in 0..ITEMS {
            rows[item] = self.list.load_if(index(item), index(item) < len);
        }
        let mut lengths = [0; ITEMS];
        for item in 0..ITEMS {
            if index(item) < len && rows[item] < self.rows {
                let row = rows[item] as usize;
                lengths[item] =
                    self.row_offsets.load(row + 1).to_bits() - self.row_offsets.load(row).to_bits();
            }
        }
        let (mut sum, mut missing) = (0, 0);
        for item in 0..ITEMS {
            if index(item) <= len {
                self.lengths.store(index(item), lengths[item]);
            }
            if index(item) < len && rows[item] >= self.rows {
                missing = missing.max((len - index(item)) as u64);
            }
            sum += lengths[item];
        }
        sums.share(sum, |a, b| a + b);
        maxima.share(missing, u64::max);
        if thread::index() == 0 {
            self.totals.fetch_add(0, sums.total(|a, b| a + b), Ordering::Relaxed, Scope::Device);
            let missing = maxima.total(u64::max);
            if missing > 0 {
                self.totals.fetch_max(1, missing, Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

/// [`CopyListedRows::arrays`]: column indices are copied.
pub const COLUMNS: u32 = 1;
/// [`CopyListedRows::arrays`]: values are copied.
pub const VALUES: u32 = 2;

kernel! {
    /// Copies the entries of listed rows: one block per tile of the merge of row ends and nonzeros of the listed matrix.
    pub struct CopyListedRows<W: Element, O: Offset> {
        /// The row offsets of the whole matrix.
        pub row_offsets: Global<O>,
        /// The list.
        pub list: Global<u32>,
        /// The listed matrix; its column indices are not read.
        pub listed: GlobalPattern<O>,
        /// First row of each tile, and the length of the list at the end.
        pub tile_rows: Global<u32>,
        /// The column indices that are read.
        pub source_columns: Global<u32>,
        /// The bits of the values that are read.
        pub source_values: Global<W>,
        /// The column indices that are written.
        pub target_columns: GlobalMut<u32>,
        /// The bits of the values that are written.
        pub target_values: GlobalMut<W>,
        /// The copied arrays, [`COLUMNS`] and [`VALUES`]; the others are not there.
        pub arrays: u32,
        /// Zero if entries are copied to the listed matrix; else they are copied from there, and no row is listed twice.
        pub to_whole: u32,
    }
    shared: BLOCK * ITEMS * u64::SIZE;
    body: CopyListedRows::copy_rows::<BLOCK, ITEMS>;
    entries: {
        csr_rows_copy_{W}_{O} in csr_rows: W in [u16, u32, u64], O in [u32, u64], 256 x 8;
        csr_rows_copy_{W}_{O} in csr_rows_c64: W = Complex<f64> as c64, O in [u32, u64], 256 x 8;
    }
}

impl<W: Element, O: Offset> CopyListedRows<W, O> {
    #[device]
    fn copy_rows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let listed = self.listed;
        let shifts: Shared<u64> = arena.take(BLOCK * ITEMS);
        // 1. Find how far each entry is moved; modulo 2⁶⁴.
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, listed);
        tile.spread::<u64, O, BLOCK>(listed.row_offsets, shifts, |row| {
            let begin = self.row_offsets.load(self.list.load(row) as usize).to_bits();
            begin.wrapping_sub(listed.row_offsets.load(row).to_bits())
        });
        thread::barrier();
        // 2. Load all entries of the thread before the first is stored.
        let ends = |place: u32| {
            let in_listed = tile.first_nonzero + place as usize;
            let in_whole = (in_listed as u64).wrapping_add(shifts.load(place as usize)) as usize;
            if self.to_whole == 0 {
                (in_whole, in_listed)
            } else {
                (in_listed, in_whole)
            }
        };
        let (mut columns, mut values) = ([0; ITEMS], [W::ZERO; ITEMS]);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let (from, _) = ends(place);
                columns[item] = self.source_columns.load_if(from, self.arrays & COLUMNS != 0);
                values[item] = self.source_values.load_if(from, self.arrays & VALUES != 0);
            }
        }
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let (_, to) = ends(place);
                if self.arrays & COLUMNS != 0 {
                    self.target_columns.store(to, columns[item]);
                }
                if self.arrays & VALUES != 0 {
                    self.target_values.store(to, values[item]);
                }
            }
        }
    }
}
