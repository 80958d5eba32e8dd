use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Float, Global};

use crate::unroll::unroll;
use crate::update::Update;

parameters! {
    /// The rows that are cut, and the sums of their pieces.
    pub struct CutRows<V: Float> {
        /// The rows.
        pub rows: Global<u32>,
        /// The first piece of each, and the number of pieces.
        pub first_pieces: Global<u32>,
        /// The sums of each piece.
        pub sums: Global<V>,
        /// Rows that are cut.
        pub count: u32,
        /// Sums of a piece, that is, rows of y for each row that is cut; not 0.
        pub height: u32,
        /// Rows of y: the last row that is cut may have fewer than `height`.
        pub y_rows: u32,
    }
}

/// A row of y.
#[derive(Clone, Copy)]
struct SumOfPieces {
    row: usize,
    /// Its place in the sums of a piece.
    place: usize,
    first: u32,
    end: u32,
}

impl<V: Float> CutRows<V> {
    /// Returns the row of y with number `at` of those that are cut, if there is one.
    #[device]
    fn sum(self, at: usize) -> Option<SumOfPieces> {
        let height = self.height.max(1) as usize;
        let cut = at / height;
        let place = at - cut * height;
        if cut >= self.count as usize {
            return None;
        }
        let row = self.rows.load(cut) as usize * height + place;
        if row >= self.y_rows as usize {
            return None;
        }
        Some(SumOfPieces {
            row,
            place,
            first: self.first_pieces.load(cut),
            end: self.first_pieces.load(cut + 1),
        })
    }
}

kernel! {
    /// y = αs + βy for the sums s of pieces: a warp for each row of y that is cut.
    pub struct AddPieces<V: Float> {
        /// The pieces.
        pub cut_rows: CutRows<V>,
        /// y.
        pub update: Update<V>,
    }
    shared: 0;
    body: AddPieces::add::<BLOCK>;
    entry: add_pieces_{V} in pieces: V in [f32, f64], 128 x 1;
}

impl<V: Float> AddPieces<V> {
    #[device]
    fn add<const BLOCK: usize>(self, _: Arena) {
        // The same in all lanes of a warp.
        let Some(sum) = self.cut_rows.sum(thread::global_warp::<BLOCK>()) else { return };
        let mut total = V::ZERO;
        let mut piece = sum.first + thread::lane();
        while piece < sum.end {
            total += self.cut_rows.sums.load(piece as usize * self.cut_rows.height as usize + sum.place);
            piece += thread::WARP_SIZE;
        }
        let total = warp::reduce_add(total);
        if thread::lane() == 0 {
            self.update.store(sum.row, total);
        }
    }
}

kernel! {
    /// C = αS + βC for the sums S of pieces, each of `columns` columns: a thread for each element of the rows of C that
    /// are cut.
    pub struct AddPiecesOfColumns<V: Float> {
        /// The pieces.
        pub cut_rows: CutRows<V>,
        /// C.
        pub update: Update<V>,
        /// Columns of C, not 0.
        pub columns: u32,
        /// Elements of C from a row to the next.
        pub row_stride: u64,
        /// Elements of C from a column to the next.
        pub column_stride: u64,
    }
    shared: 0;
    body: AddPiecesOfColumns::add::<BLOCK, ITEMS>;
    entry: add_pieces_of_columns_{V} in pieces: V in [f32, f64], 128 x 8;
}

impl<V: Float> AddPiecesOfColumns<V> {
    #[device]
    fn add<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let columns = self.columns.max(1) as usize;
        let at = thread::global_index::<BLOCK>();
        let row = at / columns;
        let column = at - row * columns;
        let Some(sum) = self.cut_rows.sum(row) else { return };
        let stride = self.cut_rows.height as usize * columns;
        let sums = self.cut_rows.sums.skip(sum.place * columns + column);
        let mut total = V::ZERO;
        let mut piece = sum.first;
        while piece < sum.end {
            let mut parts = [V::ZERO; ITEMS];
            unroll!(for item in 0..ITEMS {
                let other = piece + item as u32;
                parts[item] = sums.load_if(other as usize * stride, other < sum.end);
            });
            unroll!(for item in 0..ITEMS {
                total += parts[item];
            });
            piece += ITEMS as u32;
        }
        let index = sum.row * self.row_stride as usize + column * self.column_stride as usize;
        self.update.store(index, total);
    }
}
