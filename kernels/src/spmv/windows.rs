//! SpMV by row tiles with windows: the elements of x that a block's rows use are copied to shared memory first.
//!
//! Gathering from shared memory costs a fraction of gathering through the first-level cache, which serves one line per
//! cycle. It pays where the rows of a block use the same few thousand elements of x several times, as in matrices of a
//! mesh whose unknowns are numbered along it, and where their columns are scattered there. Windows are found once, from
//! the column indices.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Aligned16, Arena, Arithmetic, Global, GlobalMut, Shared};

use super::product::AlignedProduct;
use super::row_group::{product_bytes, warp_products, Exact, RowGroup};
use crate::{GlobalPattern, Offset};

/// Windows begin and end at multiples of this, where the vector does not end before.
pub const WINDOW_STEP: u32 = 4;

/// Words of [`FindWindows`]' totals, in this order: the nonzeros of the blocks with a window, the elements of all
/// windows, the elements of the longest window, and the number of nonzeros whose column is at most [`NEAR`] after the
/// one before.
pub const WINDOW_TOTALS: usize = 4;

/// Columns this close count as near: nearly always in the same 32 bytes of x.
pub const NEAR: u32 = 3;

kernel! {
    /// Finds the window of each block of rows: one block each.
    pub struct FindWindows<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the first column of each window, a multiple of [`WINDOW_STEP`].
        pub firsts: GlobalMut<u32>,
        /// Output: the elements of each window; 0 where there are no nonzeros or more than `limit` elements.
        pub lens: GlobalMut<u32>,
        /// Output: [`WINDOW_TOTALS`] words, all zero before.
        pub totals: GlobalMut<u64>,
        /// Columns of the matrix.
        pub cols: u32,
        /// Rows of a block.
        pub block_rows: u32,
        /// The most elements of a window.
        pub limit: u32,
    }
    shared: BLOCK / 32 * 16;
    body: FindWindows::find_windows::<BLOCK, ITEMS>;
    entry: spmv_find_windows_{O} in spmv_plan: O in [u32, u64], 256 x 4;
}

/// Statistics of the columns that a thread, a warp or a block has seen.
#[derive(Clone, Copy)]
struct ColumnsSeen {
    least: u32,
    greatest: u32,
    near: u32,
}

impl ColumnsSeen {
    #[device]
    fn with(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            near: self.near + other.near,
        }
    }

    #[device]
    fn by_warp(self) -> Self {
        Self {
            least: warp::reduce(self.least, u32::min),
            greatest: warp::reduce(self.greatest, u32::max),
            near: warp::reduce_add(self.near),
        }
    }
}

impl<O: Offset> FindWindows<O> {
    #[device]
    fn find_windows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let warps = BLOCK / 32;
        let parts: Shared<u32> = arena.take(3 * warps);
        let block = thread::block() as usize;
        let row = block * self.block_rows as usize;
        let GlobalPattern { row_offsets, column_indices, rows, .. } = self.pattern;
        let row_end = (row + self.block_rows as usize).min(rows as usize);
        let (begin, end) = (row_offsets.load(row).to_usize(), row_offsets.load(row_end).to_usize());
        let mut seen = ColumnsSeen { least: u32::MAX, greatest: 0, near: 0 };
        let mut start = begin;
        while start < end {
            let mut columns = [0_u32; ITEMS];
            for item in 0..ITEMS {
                let place = start + thread::index() as usize + item * BLOCK;
                columns[item] = column_indices.load_streaming(if place < end { place } else { end - 1 });
            }
            for item in 0..ITEMS {
                let place = start + thread::index() as usize + item * BLOCK;
                let column = columns[item];
                let before = warp::shuffle_up(warp::FULL, column, 1);
                let near = thread::lane() > 0 && place < end && column.wrapping_sub(before) <= NEAR;
                seen = seen.with(ColumnsSeen { least: column, greatest: column, near: u32::from(near) });
            }
            start += BLOCK * ITEMS;
        }
        let all = seen.by_warp();
        let own = 3 * thread::warp() as usize;
        if thread::lane() == 0 {
            parts.store(own, all.least);
            parts.store(own + 1, all.greatest);
            parts.store(own + 2, all.near);
        }
        thread::barrier();
        if thread::index() > 0 {
            return;
        }
        let mut all = all;
        for warp in 1..warps {
            let part = |index: usize| parts.load(3 * warp + index);
            all = all.with(ColumnsSeen { least: part(0), greatest: part(1), near: part(2) });
        }
        let add = |word: usize, value: u64| {
            self.totals.fetch_add(word, value, Ordering::Relaxed, Scope::Device);
        };
        let mut window = (0, 0);
        if begin < end {
            let first = all.least / WINDOW_STEP * WINDOW_STEP;
            let behind = (all.greatest / WINDOW_STEP + 1).saturating_mul(WINDOW_STEP).min(self.cols);
            add(3, u64::from(all.near));
            if behind - first <= self.limit {
                window = (first, behind - first);
                add(0, (end - begin) as u64);
                add(1, u64::from(window.1));
                self.totals.fetch_max(2, u64::from(window.1), Ordering::Relaxed, Scope::Device);
            }
        }
        self.firsts.store(block, window.0);
        self.lens.store(block, window.1);
    }
}

kernel! {
    /// Computes y = αAx + βy, one block per block of rows; its warps take groups of 32 / 2^`lanes_log2` rows in turn. The
    /// launch-sized shared memory holds the longest window. Groups of rows with 2³² − 2¹⁰ nonzeros and more are
    /// beyond it.
    pub struct RowWindows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: AlignedProduct<V, O>,
        /// First column of each window, from [`FindWindows`].
        pub firsts: Global<u32>,
        /// Elements of each window, from [`FindWindows`]; rows of a block without one gather from x.
        pub lens: Global<u32>,
        /// Elements of the longest window.
        pub longest: u32,
        /// Rows of a block.
        pub block_rows: u32,
        /// log2 of the lanes per row.
        pub lanes_log2: u32,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: RowWindows::row_windows::<BLOCK, ITEMS>;
    entry: spmv_row_windows_{V}_{O} in spmv_rows_{V}: (V, N) in [(f32, 6), (f64, 4)], O in [u32, u64], 512 x N resident 3;
}

impl<V: Arithmetic, O: Offset> RowWindows<V, O> {
    #[device]
    fn row_windows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let window: Shared<V> = Arena::dynamic(self.longest * V::SIZE as u32).take(self.longest as usize);
        let products = warp_products::<V, BLOCK, ITEMS>(&mut arena);
        let block = thread::block() as usize;
        let (window_first, window_len) = (self.firsts.load(block), self.lens.load(block));
        let AlignedProduct { matrix, x, update } = self.product;
        fill_window::<V, BLOCK>(window, x, window_first, window_len);
        thread::barrier();

        let block_first = thread::block() * self.block_rows;
        let block_end = matrix.rows.min(block_first + self.block_rows);
        let count = 32 >> self.lanes_log2;
        let mut first = block_first + thread::warp() * count;
        while first < block_end {
            let end = block_end.min(first + count);
            let group = RowGroup::<1> { first, end, lanes_log2: self.lanes_log2, limit: u32::MAX };
            let gather = |column: u32| {
                if window_len > 0 {
                    window.load((column - window_first) as usize)
                } else {
                    x.load(column as usize)
                }
            };
            let sums = group.sums::<V, O, _, Exact, false, ITEMS>(
                matrix,
                matrix.column_indices,
                group.bounds(matrix.row_offsets),
                products,
                gather,
            );
            let row = group.row(0);
            if group.stores() && row < end {
                update.store(row as usize, sums[0]);
            }
            first += (BLOCK / 32) as u32 * count;
        }
    }
}

/// Copies the window's elements of x; they are there after a barrier.
#[device]
pub(super) fn fill_window<V: Arithmetic, const BLOCK: usize>(
    window: Shared<V>,
    x: Global<V, Aligned16>,
    first: u32,
    len: u32,
) {
    let packet = (16 / V::SIZE) as u32;
    let x = x.skip_aligned(first as usize);
    let whole = len / packet * packet;
    let mut place = thread::index() * packet;
    while place < whole {
        window.copy_16(place as usize, x, place as usize);
        place += BLOCK as u32 * packet;
    }
    let rest = whole + thread::index();
    if rest < len {
        window.store(rest as usize, x.load(rest as usize));
    }
    thread::await_copies();
}
