//! Coordinates as sort keys, for sums that are unions of sets of coordinates or sorted sequences of them.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut};

/// Element of [`CoordinateKeys::found`] for the first entry whose coordinates are less than those of the entry before it.
pub const DESCENT: usize = 0;
/// Element of [`CoordinateKeys::found`] for the first entry whose coordinates are those of the entry before it.
pub const DUPLICATE: usize = 1;

kernel! {
    /// Makes a key of each entry's coordinates, the row above the column, and multiplies the values by a factor: one thread per
    /// entry. Values are not read if the factor is zero.
    pub struct CoordinateKeys<V: Arithmetic> {
        /// Row indices, `len` elements.
        pub row_indices: Global<u32>,
        /// Column indices, `len` elements.
        pub column_indices: Global<u32>,
        /// Values, `len` elements.
        pub values: Global<V>,
        /// Output: the keys.
        pub keys: GlobalMut<u64>,
        /// Output: the products of values and factor.
        pub scaled: GlobalMut<V>,
        /// Output, all ones before: an entry at [`DESCENT`] and one at [`DUPLICATE`], if there are any.
        pub found: GlobalMut<u64>,
        /// Factor of the values.
        pub factor: V,
        /// Bits of a column in a key, at most 32.
        pub column_bits: u32,
        /// Number of entries.
        pub len: u64,
    }
    shared: 0;
    body: CoordinateKeys::coordinate_keys::<BLOCK>;
    entry: spadd_coordinate_keys_{V} in spadd_coordinates: V in [f32, f64], 256 x 1;
}

impl<V: Arithmetic> CoordinateKeys<V> {
    #[device]
    fn coordinate_keys<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::global_index::<BLOCK>();
        if entry as u64 >= self.len {
            return;
        }
        let key = self.key(entry);
        let value = self.values.load_if(entry, self.factor != V::ZERO);
        self.keys.store(entry, key);
        self.scaled.store(entry, self.factor * value);
        if entry > 0 {
            let previous = self.key(entry - 1);
            if key <= previous {
                let place = if key < previous { DESCENT } else { DUPLICATE };
                self.found.fetch_min(place, entry as u64, Ordering::Relaxed, Scope::Device);
            }
        }
    }

    #[device(track_caller)]
    fn key(&self, entry: usize) -> u64 {
        let (row, column) = (self.row_indices.load(entry), self.column_indices.load(entry));
        u64::from(row) << self.column_bits | u64::from(column)
    }
}

kernel! {
    /// Makes coordinates of keys: one thread per key.
    pub struct SplitCoordinates {
        /// The keys, `len` elements.
        pub keys: Global<u64>,
        /// Output: row indices.
        pub row_indices: GlobalMut<u32>,
        /// Output: column indices.
        pub column_indices: GlobalMut<u32>,
        /// Bits of a column in a key, at most 32.
        pub column_bits: u32,
        /// Number of keys.
        pub len: u64,
    }
    shared: 0;
    body: SplitCoordinates::split_coordinates::<BLOCK>;
    entry: spadd_split_coordinates in spadd_coordinates: 256 x 1;
}

impl SplitCoordinates {
    #[device]
    fn split_coordinates<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::global_index::<BLOCK>();
        if entry as u64 >= self.len {
            return;
        }
        let key = self.keys.load(entry);
        self.row_indices.store(entry, (key >> self.column_bits) as u32);
        self.column_indices.store(entry, (key & ((1 << self.column_bits) - 1)) as u32);
    }
}
