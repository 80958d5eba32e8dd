//! Coordinates of triplets as sort keys.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

/// Position of an entry that is not a triplet's: the diagonal entry of a fixed unknown.
pub const FIXED_ENTRY: u32 = u32::MAX;

/// [`TripletKeys::part`]: triplets whose row and column are free.
pub const FREE_COLUMNS: u32 = 0;
/// [`TripletKeys::part`]: triplets whose row is free and whose column is fixed.
pub const FIXED_COLUMNS: u32 = 1;

kernel! {
    /// Marks fixed unknowns: one thread per element of the list, which may name an unknown more than once.
    pub struct MarkFixed {
        /// Fixed unknowns, `len` elements.
        pub fixed: Global<u32>,
        /// Output, all zero before: 1 at each fixed unknown.
        pub is_fixed: GlobalMut<u32>,
        /// Output, one element, all ones before: the first element of the list that is not below `unknowns`, if there is one.
        pub outside: GlobalMut<u64>,
        /// Number of unknowns.
        pub unknowns: u32,
        /// Elements of the list.
        pub len: u32,
    }
    shared: 0;
    body: MarkFixed::mark_fixed::<BLOCK>;
    entry: assembly_mark_fixed in assembly: 256 x 1;
}

impl MarkFixed {
    #[device]
    fn mark_fixed<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index >= self.len as usize {
            return;
        }
        let unknown = self.fixed.load(index);
        if unknown < self.unknowns {
            self.is_fixed.fetch_max(unknown as usize, 1, Ordering::Relaxed, Scope::Device);
        } else {
            self.outside.fetch_min(0, index as u64, Ordering::Relaxed, Scope::Device);
        }
    }
}

kernel! {
    /// Writes a key for each triplet, the row above the column, and its position: one thread per key. Triplets of another
    /// part get the last key, which is that of the row after the last one. After the triplets come the diagonal entries of
    /// the fixed unknowns, and the last key once more.
    pub struct TripletKeys {
        /// Row indices, `triplets` elements; the nodes of all elements if `degrees` is not zero.
        pub row_indices: Global<u32>,
        /// Column indices, or the same nodes.
        pub column_indices: Global<u32>,
        /// Fixed unknowns, `fixed_len` elements.
        pub fixed: Global<u32>,
        /// 1 for each fixed unknown and 0 for others; not read if `fixed_len` is zero.
        pub is_fixed: Global<u32>,
        /// Output: `triplets` + `fixed_len` + 1 keys.
        pub keys: GlobalMut<u64>,
        /// Output: the position of each key's triplet, or [`FIXED_ENTRY`].
        pub positions: GlobalMut<u32>,
        /// Output, two elements, all ones before: the first triplet whose row, and the first whose column is outside the
        /// matrix, if there are any.
        pub outside: GlobalMut<u64>,
        /// Number of triplets.
        pub triplets: u32,
        /// Elements of `fixed`.
        pub fixed_len: u32,
        /// Rows of the matrix.
        pub rows: u32,
        /// Columns of the matrix.
        pub cols: u32,
        /// Nodes per element; zero for triplets with indices of their own.
        pub degrees: u32,
        /// Bits of a column in a key, at most 32.
        pub column_bits: u32,
        /// [`FREE_COLUMNS`] or [`FIXED_COLUMNS`].
        pub part: u32,
    }
    shared: 0;
    body: TripletKeys::triplet_keys::<BLOCK>;
    entry: assembly_triplet_keys in assembly: 256 x 1;
}

impl TripletKeys {
    #[device]
    fn triplet_keys<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        let triplets = self.triplets as usize;
        let entries = triplets + self.fixed_len as usize;
        if index > entries {
            return;
        }
        let (mut key, mut position) = (u64::from(self.rows) << self.column_bits, FIXED_ENTRY);
        if index < triplets {
            position = index as u32;
            let (row, column) = self.coordinates(position);
            if self.is_inside(index, row, column) && self.is_in_part(row, column) {
                key = self.key(row, column);
            }
        } else if index < entries {
            let unknown = self.fixed.load(index - triplets);
            key = self.key(unknown, unknown);
        }
        self.keys.store(index, key);
        self.positions.store(index, position);
    }

    #[device(track_caller)]
    fn key(&self, row: u32, column: u32) -> u64 {
        u64::from(row) << self.column_bits | u64::from(column)
    }

    /// Row and column of a triplet.
    #[device(track_caller)]
    fn coordinates(&self, triplet: u32) -> (u32, u32) {
        if self.degrees == 0 {
            return (self.row_indices.load(triplet as usize), self.column_indices.load(triplet as usize));
        }
        // Blocks are row-major.
        let row = triplet / self.degrees;
        let (column, first) = (triplet - row * self.degrees, row - row % self.degrees);
        (self.row_indices.load(row as usize), self.column_indices.load((first + column) as usize))
    }

    /// Notes a triplet that is outside the matrix.
    #[device(track_caller)]
    fn is_inside(&self, triplet: usize, row: u32, column: u32) -> bool {
        if row >= self.rows {
            self.outside.fetch_min(0, triplet as u64, Ordering::Relaxed, Scope::Device);
        }
        if column >= self.cols {
            self.outside.fetch_min(1, triplet as u64, Ordering::Relaxed, Scope::Device);
        }
        row < self.rows && column < self.cols
    }

    #[device(track_caller)]
    fn is_in_part(&self, row: u32, column: u32) -> bool {
        self.fixed_len == 0
            || self.is_fixed.load(row as usize) == 0 && self.is_fixed.load(column as usize) == self.part
    }
}
