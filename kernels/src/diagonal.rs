//! The diagonal of a matrix: its entries are found tile by tile, and each element is then read by one thread.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut, Shared};

use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Finds the first and the last entry of each row that is on the diagonal: one block per tile of row ends plus entries.
    pub struct FindDiagonal<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Output, an element per row and column, all zero before: the index of the first such entry, with all bits inverted.
        pub firsts: GlobalMut<u64>,
        /// Output, likewise: one more than the index of the last.
        pub lasts: GlobalMut<u64>,
    }
    shared: BLOCK * ITEMS * 4;
    body: FindDiagonal::find_diagonal::<BLOCK, ITEMS>;
    entry: diagonal_find_{O} in diagonal: O in [u32, u64], 256 x 8;
}

impl<O: Offset> FindDiagonal<O> {
    #[device]
    fn find_diagonal<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let rows: Shared<u32> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        tile.spread::<u32, O, BLOCK>(self.pattern.row_offsets, rows, |row| row as u32);
        thread::barrier();
        let columns = tile.load::<u32, BLOCK, ITEMS>(self.pattern.column_indices.natural());
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros && columns[item] == rows.load(place as usize) {
                let (row, index) = (columns[item] as usize, (tile.first_nonzero + place as usize) as u64);
                self.firsts.fetch_max(row, !index, Ordering::Relaxed, Scope::Device);
                self.lasts.fetch_max(row, index + 1, Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

kernel! {
    /// Adds up the entries of the diagonal that are duplicates, in their order: one thread per element.
    pub struct GatherDiagonal<V: Arithmetic> {
        /// The columns of the matrix.
        pub columns: Global<u32>,
        /// Its values.
        pub values: Global<V>,
        /// The first entries, of [`FindDiagonal`].
        pub firsts: Global<u64>,
        /// The last ones.
        pub lasts: Global<u64>,
        /// Output: the diagonal.
        pub diagonal: GlobalMut<V>,
        /// Its elements.
        pub len: u32,
    }
    shared: 0;
    body: GatherDiagonal::gather_diagonal::<BLOCK>;
    entries: {
        diagonal_gather_{V} in diagonal: V in [f32, f64], 256 x 1;
        diagonal_gather_{V} in diagonal_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> GatherDiagonal<V> {
    #[device]
    fn gather_diagonal<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.len as usize {
            let (mut index, end) = (!self.firsts.load(row), self.lasts.load(row));
            let mut sum = V::ZERO;
            // Without an entry the first index is the largest number.
            while index < end {
                if self.columns.load(index as usize) == row as u32 {
                    sum += self.values.load(index as usize);
                }
                index += 1;
            }
            self.diagonal.store(row, sum);
        }
    }
}
