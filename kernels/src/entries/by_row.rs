//! Values of entries, changed in place by their rows and columns.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Element, Global, GlobalMut, Shared};

use crate::elementary::Elementary;
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Multiplies each value by the factor of its row: one block per tile of row ends plus entries.
    pub struct ScaleRows<V: Arithmetic, O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// The values.
        pub values: GlobalMut<V>,
        /// A factor per row.
        pub factors: Global<V>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
    }
    shared: BLOCK * ITEMS * V::SIZE;
    body: ScaleRows::scale_rows::<BLOCK, ITEMS>;
    entries: {
        entries_scale_rows_{V}_{O} in entries_{V}: V in [f32, f64], O in [u32, u64], 256 x 8;
        entries_scale_rows_{V}_{O} in entries_complex:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 8;
    }
}

impl<V: Arithmetic, O: Offset> ScaleRows<V, O> {
    #[device]
    fn scale_rows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let factors: Shared<V> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        tile.spread::<V, O, BLOCK>(self.pattern.row_offsets, factors, |row| self.factors.load(row));
        thread::barrier();
        let values = self.values.skip(tile.first_nonzero);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let (value, factor) = (values.load(place as usize), factors.load(place as usize));
                values.store(place as usize, factor * value);
            }
        }
    }
}

kernel! {
    /// Multiplies each value by the factor of its column: one thread per entry.
    pub struct ScaleColumns<V: Arithmetic> {
        /// The columns of the entries.
        pub column_indices: Global<u32>,
        /// Their values.
        pub values: GlobalMut<V>,
        /// A factor per column.
        pub factors: Global<V>,
        /// Number of entries.
        pub len: u64,
    }
    shared: 0;
    body: ScaleColumns::scale_columns::<BLOCK>;
    entries: {
        entries_scale_columns_{V} in entries_{V}: V in [f32, f64], 256 x 1;
        entries_scale_columns_{V} in entries_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> ScaleColumns<V> {
    #[device]
    fn scale_columns<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let factor = self.factors.load(self.column_indices.load_streaming(index) as usize);
            self.values.store(index, factor * self.values.load(index));
        }
    }
}

kernel! {
    /// Counts the entries of each row: one thread per row.
    pub struct CountRows<V: Elementary, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: a number per row.
        pub counts: GlobalMut<V>,
        /// Rows.
        pub rows: u32,
    }
    shared: 0;
    body: CountRows::count_rows::<BLOCK>;
    entry: entries_count_rows_{V}_{O} in entries_{V}: V in [f32, f64], O in [u32, u64], 256 x 1;
}

impl<V: Elementary, O: Offset> CountRows<V, O> {
    #[device]
    fn count_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.rows as usize {
            let (begin, end) =
                (self.row_offsets.load(row).to_usize(), self.row_offsets.load(row + 1).to_usize());
            self.counts.store(row, V::from_count((end - begin) as u64));
        }
    }
}
