//! Statistics of the row lengths, for plans.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut, Shared};

use super::long_rows::piece_count;
use crate::{GlobalPattern, Offset};

/// Words of [`RowLengths`]' totals, in this order: the longest row, the empty rows, the rows over the limit, their
/// nonzeros, and the pieces that they make.
pub const LENGTH_TOTALS: usize = 5;

kernel! {
    /// Counts what a plan asks of the row lengths: `ITEMS` rows per thread.
    pub struct RowLengths<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: [`LENGTH_TOTALS`] words, all zero before.
        pub totals: GlobalMut<u64>,
        /// The limit: the most nonzeros of a row that is not long.
        pub limit: u32,
    }
    shared: BLOCK / 32 * LENGTH_TOTALS * 8;
    body: RowLengths::row_lengths::<BLOCK, ITEMS>;
    entry: spmv_row_lengths_{O} in spmv_plan: O in [u32, u64], 256 x 8;
}

impl<O: Offset> RowLengths<O> {
    #[device]
    fn row_lengths<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let warps = BLOCK / 32;
        let parts: Shared<u64> = arena.take(LENGTH_TOTALS * warps);
        let start = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
        let mut own = [0_u64; LENGTH_TOTALS];
        for item in 0..ITEMS {
            let row = start + item * BLOCK;
            if row < self.pattern.rows as usize {
                let length = self.pattern.row_len(row);
                own[0] = own[0].max(length);
                own[1] += u64::from(length == 0);
                if length > u64::from(self.limit) {
                    own[2] += 1;
                    own[3] += length;
                    own[4] += piece_count(length);
                }
            }
        }
        own[0] = warp::reduce(own[0], u64::max);
        for word in 1..LENGTH_TOTALS {
            own[word] = warp::reduce_add(own[word]);
        }
        if thread::lane() == 0 {
            for word in 0..LENGTH_TOTALS {
                parts.store(LENGTH_TOTALS * thread::warp() as usize + word, own[word]);
            }
        }
        thread::barrier();
        let word = thread::index() as usize;
        if word >= LENGTH_TOTALS {
            return;
        }
        let mut total = parts.load(word);
        for warp in 1..warps {
            let part = parts.load(LENGTH_TOTALS * warp + word);
            total = if word == 0 { total.max(part) } else { total + part };
        }
        if word == 0 {
            self.totals.fetch_max(word, total, Ordering::Relaxed, Scope::Device);
        } else if total > 0 {
            self.totals.fetch_add(word, total, Ordering::Relaxed, Scope::Device);
        }
    }
}
