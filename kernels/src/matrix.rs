//! Views of sparse matrices, as kernels get them.

use evenpath_simt::{device, parameters, Aligned16, Element, Global};

use crate::Offset;

parameters! {
    /// The pattern of a CSR matrix.
    pub struct GlobalPattern<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one per nonzero.
        pub column_indices: Global<u32, Aligned16>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Rows of the matrix.
        pub rows: u32,
    }
}

parameters! {
    /// A CSR matrix.
    pub struct GlobalCsr<V: Element, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one per nonzero.
        pub column_indices: Global<u32, Aligned16>,
        /// Values, one per nonzero.
        pub values: Global<V, Aligned16>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Rows of the matrix.
        pub rows: u32,
    }
}

parameters! {
    /// A matrix of coordinates, sorted by row.
    pub struct GlobalCoo<V: Element> {
        /// Row indices, one per nonzero, ascending.
        pub row_indices: Global<u32, Aligned16>,
        /// Column indices, one per nonzero.
        pub column_indices: Global<u32, Aligned16>,
        /// Values, one per nonzero.
        pub values: Global<V, Aligned16>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
    }
}

parameters! {
    /// Rows of the matrix that a list of rows stands for.
    pub struct RowMap {
        /// The rows of the matrix, in the order of the list; not read if the list has all rows in their own order.
        pub rows: Global<u32>,
        /// Zero if the list has all rows in their own order.
        pub is_mapped: u32,
    }
}

impl RowMap {
    /// Returns the row of the matrix at `position` of the list.
    #[device(track_caller)]
    pub fn row(self, position: usize) -> usize {
        if self.is_mapped == 0 {
            position
        } else {
            self.rows.load(position) as usize
        }
    }

    /// Returns the rows at `position` and after it, one for each of the `ITEMS` items that is wanted. All are loaded
    /// together.
    #[device(track_caller)]
    pub fn next_rows<const ITEMS: usize>(
        self,
        mut position: u32,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS] {
        let mut rows = [0; ITEMS];
        for item in 0..ITEMS {
            rows[item] = position;
            position += u32::from(is_wanted(item));
        }
        if self.is_mapped != 0 {
            for item in 0..ITEMS {
                rows[item] = self.rows.load_if(rows[item] as usize, is_wanted(item));
            }
        }
        rows
    }
}

impl<O: Offset> GlobalPattern<O> {
    /// Returns the first nonzero of a row, and the first one after it.
    #[device(track_caller)]
    pub fn row_bounds(self, row: usize) -> (usize, usize) {
        (self.row_offsets.load(row).to_usize(), self.row_offsets.load(row + 1).to_usize())
    }

    /// Nonzeros of a row.
    #[device(track_caller)]
    pub fn row_len(self, row: usize) -> u64 {
        (self.row_offsets.load(row + 1).to_usize() - self.row_offsets.load(row).to_usize()) as u64
    }
}

impl<V: Element, O: Offset> GlobalCsr<V, O> {
    /// Returns the matrix without its values.
    #[device]
    pub fn pattern(self) -> GlobalPattern<O> {
        let Self { row_offsets, column_indices, nonzeros, rows, .. } = self;
        GlobalPattern { row_offsets, column_indices, nonzeros, rows }
    }
}
