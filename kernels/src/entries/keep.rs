//! Marks of the entries that a filter keeps: one bit per entry, 32 per word, the lowest first.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use crate::absolute::Absolute;
use crate::elementary::Elementary;
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

/// Codes of conditions.
pub mod code {
    /// Column minus row is between two bounds.
    pub const BAND: u32 = 0;
    /// The absolute value is above a limit, or NaN.
    pub const ABS_ABOVE: u32 = 1;
    /// The value is not zero.
    pub const NONZERO: u32 = 2;
}

parameters! {
    /// A condition on an entry.
    pub struct Condition<V: Elementary> {
        /// One of [`code`].
        pub code: u32,
        /// Limit of absolute values.
        pub limit: V,
        /// Least column minus row.
        pub lower: i64,
        /// Greatest column minus row.
        pub upper: i64,
    }
}

impl<V: Elementary> Condition<V> {
    /// Returns whether an entry fulfills the condition; `absolute` returns its absolute value, and is called only if that matters.
    #[device]
    pub fn holds(self, row: u32, column: u32, absolute: impl FnOnce() -> V) -> bool {
        if self.code == code::BAND {
            let diagonal = i64::from(column) - i64::from(row);
            return diagonal >= self.lower && diagonal <= self.upper;
        }
        let absolute = absolute();
        if self.code == code::ABS_ABOVE {
            // Holds for NaN.
            let is_small = absolute <= self.limit;
            !is_small
        } else {
            absolute != V::ZERO
        }
    }
}

/// Adds the marks of 32 entries, the first of which has index `first`. All lanes of a warp call it.
#[device(track_caller)]
fn add_marks(bits: GlobalMut<u32>, first: usize, marks: u32) {
    let shift = (first % 32) as u32;
    // Each bit is set by one warp alone: adding sets it.
    if thread::lane() == 0 && marks << shift != 0 {
        bits.fetch_add(first / 32, marks << shift, Ordering::Relaxed, Scope::Device);
    }
    if thread::lane() == 1 && shift > 0 && marks >> (32 - shift) != 0 {
        bits.fetch_add(first / 32 + 1, marks >> (32 - shift), Ordering::Relaxed, Scope::Device);
    }
}

kernel! {
    /// Marks the entries that fulfill a condition: one block per tile of row ends plus entries.
    pub struct MarkEntries<V: Absolute, O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Its values; read only if the condition is about them.
        pub values: Global<V>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Output: a bit per entry, all zero before.
        pub bits: GlobalMut<u32>,
        /// The condition.
        pub condition: Condition<<V as Absolute>::Magnitude>,
    }
    shared: BLOCK * ITEMS * 4;
    body: MarkEntries::mark_entries::<BLOCK, ITEMS>;
    entries: {
        entries_mark_{V}_{O} in entries_{V}: V in [f32, f64], O in [u32, u64], 256 x 8;
        entries_mark_{V}_{O} in entries_complex:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 8;
    }
}

impl<V: Absolute, O: Offset> MarkEntries<V, O> {
    #[device]
    fn mark_entries<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let rows: Shared<u32> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        tile.spread::<u32, O, BLOCK>(self.pattern.row_offsets, rows, |row| row as u32);
        thread::barrier();
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            let mut is_kept = false;
            if place < tile.nonzeros {
                let index = tile.first_nonzero + place as usize;
                let column = self.pattern.column_indices.load_streaming(index);
                let row = rows.load(place as usize);
                is_kept = self.condition.holds(row, column, || self.values.load_streaming(index).absolute());
            }
            let marks = warp::ballot(warp::FULL, is_kept);
            add_marks(self.bits, tile.first_nonzero + (place - thread::lane()) as usize, marks);
        }
    }
}

kernel! {
    /// Marks the first entries of each row in another order: one block per tile of row ends plus entries.
    pub struct MarkLargest<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// The entries, row by row, in that order.
        pub order: Global<u32>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Output: a bit per entry, all zero before.
        pub bits: GlobalMut<u32>,
        /// Entries that are marked in a row.
        pub count: u64,
    }
    shared: BLOCK * ITEMS * O::SIZE;
    body: MarkLargest::mark_largest::<BLOCK, ITEMS>;
    entry: entries_mark_largest_{O} in entries: O in [u32, u64], 256 x 8;
}

impl<O: Offset> MarkLargest<O> {
    #[device]
    fn mark_largest<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let begins: Shared<O> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        let row_offsets = self.pattern.row_offsets;
        tile.spread::<O, O, BLOCK>(row_offsets, begins, |row| row_offsets.load(row));
        thread::barrier();
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let index = tile.first_nonzero + place as usize;
                if ((index - begins.load(place as usize).to_usize()) as u64) < self.count {
                    let entry = self.order.load_streaming(index);
                    self.bits.fetch_add(
                        entry as usize / 32,
                        1 << (entry % 32),
                        Ordering::Relaxed,
                        Scope::Device,
                    );
                }
            }
        }
    }
}
