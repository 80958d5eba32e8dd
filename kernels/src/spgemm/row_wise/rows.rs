//! The rows of C that kernels compute, and the arrays that they read and write.

use evenpath_simt::{device, parameters, thread, Element, Global, GlobalMut};

use super::bitmap::Bitmap;
use super::spans::Window;

parameters! {
    /// The rows of C that a launch computes.
    pub struct RowList {
        /// The rows, if `is_listed`.
        pub rows: Global<u32>,
        /// The number of rows.
        pub len: u32,
        /// 1 if `rows` lists them; 0 if they are the first rows of the matrix.
        pub is_listed: u32,
    }
}

impl RowList {
    /// Returns the `index`th of the rows, if `wanted`.
    #[device(track_caller)]
    pub(super) fn nth(self, index: u32, wanted: bool) -> u32 {
        if self.is_listed == 0 {
            return index;
        }
        self.rows.load_if(index as usize, wanted)
    }
}

parameters! {
    /// The work of each row of C, to be written.
    pub struct RowWork {
        /// The number of products of each row; then a zero, so that an exclusive scan ends with the sum.
        pub products: GlobalMut<u64>,
        /// The first column that each row can have.
        pub firsts: GlobalMut<u32>,
        /// The last column that each row can have; below the first if the row is empty.
        pub lasts: GlobalMut<u32>,
    }
}

impl RowWork {
    /// Stores the work of a row.
    #[device(track_caller)]
    pub(super) fn store(self, row: u32, products: u64, first: u32, last: u32) {
        self.products.store(row as usize, products);
        self.firsts.store(row as usize, first);
        self.lasts.store(row as usize, last);
    }

    /// Stores the offset after the last of the `rows` rows. Every thread of the grid calls it, and one stores.
    #[device(track_caller)]
    pub(super) fn end(self, rows: u32) {
        if thread::block() == 0 && thread::index() == 0 {
            self.products.store(rows as usize, 0);
        }
    }
}

parameters! {
    /// The pattern of C.
    pub struct ResultPattern {
        /// Row offsets.
        pub row_offsets: Global<u64>,
        /// Column indices; output unless `is_known`.
        pub column_indices: GlobalMut<u32>,
        /// 1 if column indices are given; products in other columns are then left out.
        pub is_known: u32,
    }
}

parameters! {
    /// The entries of C.
    pub struct ResultEntries<V: Element> {
        /// Places of the entries.
        pub pattern: ResultPattern,
        /// Output: values.
        pub values: GlobalMut<V>,
    }
}

/// A row of C.
#[derive(Clone, Copy)]
pub(super) struct ResultRow {
    /// Its first entry.
    pub(super) begin: usize,
    /// The number of its entries.
    pub(super) len: u32,
    /// Its columns.
    pub(super) columns: GlobalMut<u32>,
}

impl ResultPattern {
    /// Row `row` if `wanted`, else a row without entries.
    #[device(track_caller)]
    pub(super) fn row_if(self, row: u32, wanted: bool) -> ResultRow {
        let begin = self.row_offsets.load_if(row as usize, wanted);
        let len = (self.row_offsets.load_if(row as usize + 1, wanted) - begin) as u32;
        ResultRow { begin: begin as usize, len, columns: self.column_indices.skip(begin as usize) }
    }
}

impl ResultRow {
    /// Sets the bits of the row's known columns in a window.
    #[device(track_caller)]
    pub(super) fn mark<const BLOCK: usize>(self, window: Window, bitmap: Bitmap) {
        each::<BLOCK>(self.len, |place| {
            let column = self.columns.load(place as usize);
            if window.has(column) {
                bitmap.set(column);
            }
        });
    }
}

/// Calls `visit` with 0 to `len` − 1, each in one thread of the block.
#[device]
pub(super) fn each<const BLOCK: usize>(len: u32, mut visit: impl FnMut(u32)) {
    thread::block_stride::<BLOCK>(len, |place| {
        visit(place);
    });
}
