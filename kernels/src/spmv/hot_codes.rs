//! Kernels that analyze a pattern for [`super::HotColumns`]: they count the nonzeros of columns, and encode them.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut};

use super::hot_columns::ROW_END;
use crate::block::search::partition_point;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Counts the nonzeros of each column, modulo 2³²: one thread per nonzero.
    pub struct CountColumns {
        /// The column of each nonzero.
        pub column_indices: Global<u32>,
        /// Output: one word per column, zero before.
        pub counts: GlobalMut<u32>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
    }
    shared: 0;
    body: CountColumns::count_columns::<BLOCK>;
    entry: spmv_count_columns in spmv_hot_plan: 256 x 1;
}

impl CountColumns {
    #[device]
    fn count_columns<const BLOCK: usize>(self, _: Arena) {
        let nonzero = thread::global_index::<BLOCK>();
        let is_inside = (nonzero as u64) < self.nonzeros;
        let lanes = warp::ballot(warp::FULL, is_inside);
        if is_inside {
            let column = self.column_indices.load_streaming(nonzero);
            // One lane adds for all that have its column: a dense column would mean one addition per nonzero to one
            // word.
            let mates = warp::match_any(lanes, column);
            if mates.trailing_zeros() == thread::lane() {
                self.counts.fetch_add(column as usize, mates.count_ones(), Ordering::Relaxed, Scope::Device);
            }
        }
    }
}

kernel! {
    /// Codes the columns: the place of a hot column, or the column plus the number of hot ones. One thread per nonzero.
    pub struct EncodeHotColumns {
        /// The column of each nonzero.
        pub column_indices: Global<u32>,
        /// The hot columns, ascending.
        pub hot_columns: Global<u32>,
        /// Output: one code per nonzero.
        pub codes: GlobalMut<u32>,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Hot columns. With the number of columns at most 2³¹.
        pub hot: u32,
    }
    shared: 0;
    body: EncodeHotColumns::encode::<BLOCK>;
    entry: spmv_encode_hot_columns in spmv_hot_plan: 256 x 1;
}

impl EncodeHotColumns {
    #[device]
    fn encode<const BLOCK: usize>(self, _: Arena) {
        let nonzero = thread::global_index::<BLOCK>();
        if nonzero as u64 >= self.nonzeros {
            return;
        }
        let column = self.column_indices.load_streaming(nonzero);
        let hot = |place: u32| self.hot_columns.load(place as usize);
        let place = partition_point(0, self.hot, |place| hot(place) < column);
        let is_hot = place < self.hot && hot(place) == column;
        self.codes.store(nonzero, if is_hot { place } else { self.hot + column });
    }
}

kernel! {
    /// Marks the last nonzero of each row in its code: one thread per row.
    pub struct MarkRowEnds<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// The codes, from [`EncodeHotColumns`].
        pub codes: GlobalMut<u32>,
    }
    shared: 0;
    body: MarkRowEnds::mark::<BLOCK>;
    entry: spmv_mark_row_ends_{O} in spmv_hot_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> MarkRowEnds<O> {
    #[device]
    fn mark<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row >= self.pattern.rows as usize {
            return;
        }
        let (begin, end) = self.pattern.row_bounds(row);
        if begin < end {
            self.codes.store(end - 1, self.codes.load(end - 1) | ROW_END);
        }
    }
}
