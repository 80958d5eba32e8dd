//! What a plan asks of the row lengths.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use crate::Offset;

/// Words of [`RowLengths`]' totals, in this order: the longest row, the empty rows, and the sum over every 32 rows of
/// their longest.
pub const LENGTH_TOTALS: usize = 3;

kernel! {
    /// Counts what a plan asks of the row lengths: one thread for `ITEMS` rows.
    pub struct RowLengths<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: [`LENGTH_TOTALS`] words, all zero before.
        pub totals: GlobalMut<u64>,
        /// Rows of the matrix.
        pub rows: u32,
    }
    shared: BLOCK / 32 * 24;
    body: row_lengths::<O, BLOCK, ITEMS>;
    entries: {
        spmv_row_lengths_u32 in spmv_plan: <O = u32>, 256 x 8;
        spmv_row_lengths_u64 in spmv_plan: <O = u64>, 256 x 8;
    }
}

#[inline(always)]
fn row_lengths<O: Offset, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    totals: GlobalMut<u64>,
    rows: u32,
) {
    let warps = BLOCK / 32;
    let parts: Shared<u64> = arena.take(LENGTH_TOTALS * warps);
    let start = thread::block() as usize * BLOCK * ITEMS + thread::index() as usize;
    let mut lengths = [0_u64; ITEMS];
    let mut empty = 0;
    for (item, length) in lengths.iter_mut().enumerate() {
        let row = start + item * BLOCK;
        if row < rows as usize {
            *length = (row_offsets.load(row + 1).to_usize() - row_offsets.load(row).to_usize()) as u64;
            empty += u64::from(*length == 0);
        }
    }
    let (mut longest, mut sum_of_longest) = (0, 0);
    for length in lengths {
        let mut of_warp = length;
        let mut distance = thread::WARP_SIZE / 2;
        while distance > 0 {
            of_warp = of_warp.max(warp::shuffle_xor(warp::FULL, of_warp, distance));
            distance /= 2;
        }
        longest = longest.max(of_warp);
        sum_of_longest += of_warp;
    }
    let empty = warp::reduce_add(empty);
    let own = LENGTH_TOTALS * thread::warp() as usize;
    if thread::lane() == 0 {
        parts.store(own, longest);
        parts.store(own + 1, empty);
        parts.store(own + 2, sum_of_longest);
    }
    thread::barrier();
    if thread::index() > 0 {
        return;
    }
    let (mut empty, mut sum_of_longest) = (empty, sum_of_longest);
    for warp in 1..warps {
        longest = longest.max(parts.load(LENGTH_TOTALS * warp));
        empty += parts.load(LENGTH_TOTALS * warp + 1);
        sum_of_longest += parts.load(LENGTH_TOTALS * warp + 2);
    }
    totals.fetch_max(0, longest, Ordering::Relaxed, Scope::Device);
    totals.fetch_add(1, empty, Ordering::Relaxed, Scope::Device);
    totals.fetch_add(2, sum_of_longest, Ordering::Relaxed, Scope::Device);
}
