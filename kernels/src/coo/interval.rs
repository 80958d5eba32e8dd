//! The intervals, one per warp.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Aligned16, Arena, Arithmetic, Global, GlobalMut};

use crate::block::segmented_scan::warp_inclusive;
use crate::update::Update;
use crate::GlobalCoo;

/// Consecutive entries that a lane loads in one access.
const VECTOR: usize = 4;

kernel! {
    /// Adds to y, or writes, the sums of the rows that end in an interval; keeps each interval's carry.
    pub struct CooInterval<V: Arithmetic> {
        /// The matrix.
        pub matrix: GlobalCoo<V>,
        /// The dense vector, one element per column.
        pub x: Global<V>,
        /// The result, one element per row. Its `beta` is for rows that end in an interval.
        pub update: Update<V>,
        /// Output: the row of each interval's last entry.
        pub carry_rows: GlobalMut<u32>,
        /// Output: the interval's part of that row's sum.
        pub carries: GlobalMut<V>,
        /// Entries of an interval: a multiple of what a warp takes in one step, `32 * ITEMS`.
        pub interval_len: u32,
    }
    shared: 0;
    body: CooInterval::interval::<BLOCK, ITEMS>;
    entries: {
        spmv_coo_interval_{V} in coo_{V}: V in [f32, f64], 256 x 8;
        spmv_coo_interval_{V} in coo_{V}: (V, N) in [(Complex<f32> as c32, 8), (Complex<f64> as c64, 4)], 256 x N;
    }
}

/// The row that a warp has reached, and the sum of its part of it. Every lane knows both.
#[derive(Clone, Copy)]
struct Open<V> {
    row: u32,
    sum: V,
}

/// An interval's entries.
#[derive(Clone, Copy)]
struct IntervalEntries<V> {
    row_indices: Global<u32, Aligned16>,
    column_indices: Global<u32, Aligned16>,
    values: Global<V, Aligned16>,
    len: u32,
}

impl<V: Arithmetic> CooInterval<V> {
    #[device]
    fn interval<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        const { assert!(ITEMS.is_multiple_of(VECTOR)) };
        let warps = BLOCK / thread::WARP_SIZE as usize;
        let index = thread::block() as usize * warps + thread::warp() as usize;
        let first = index as u64 * u64::from(self.interval_len);
        if first >= self.matrix.nonzeros {
            return;
        }
        let left = self.matrix.nonzeros - first;
        let entries = IntervalEntries {
            row_indices: self.matrix.row_indices.skip_aligned(first as usize),
            column_indices: self.matrix.column_indices.skip_aligned(first as usize),
            values: self.matrix.values.skip_aligned(first as usize),
            len: if left < u64::from(self.interval_len) { left as u32 } else { self.interval_len },
        };
        let mut open = Open { row: entries.row_indices.load(0), sum: V::ZERO };
        let mut step = 0;
        while step < entries.len {
            open = entries.reduce_step::<ITEMS>(step, self.x, open, self.update);
            step += thread::WARP_SIZE * ITEMS as u32;
        }
        if thread::lane() == 0 {
            self.carry_rows.store(index, open.row);
            self.carries.store(index, open.sum);
        }
    }
}

impl<V: Arithmetic> IntervalEntries<V> {
    /// Continues from `open` through the `32 * ITEMS` entries starting at `step`; all loads are issued before the first
    /// is used. Every lane has `VECTOR` consecutive entries at a time.
    #[device(track_caller)]
    fn reduce_step<const ITEMS: usize>(
        self,
        step: u32,
        x: Global<V>,
        mut open: Open<V>,
        update: Update<V>,
    ) -> Open<V> {
        let mut rows = [0; ITEMS];
        let mut columns = [0; ITEMS];
        let mut products = [V::ZERO; ITEMS];
        if step + thread::WARP_SIZE * ITEMS as u32 <= self.len {
            for vector in 0..ITEMS / VECTOR {
                let at = (step + place(vector)) as usize;
                let loaded = self.column_indices.load_streaming_4(at);
                for lane_item in 0..VECTOR {
                    columns[vector * VECTOR + lane_item] = loaded[lane_item];
                }
            }
            for vector in 0..ITEMS / VECTOR {
                let at = (step + place(vector)) as usize;
                let (loaded, values) =
                    (self.row_indices.load_streaming_4(at), self.values.load_streaming_4(at));
                for lane_item in 0..VECTOR {
                    rows[vector * VECTOR + lane_item] = loaded[lane_item];
                    products[vector * VECTOR + lane_item] = values[lane_item];
                }
            }
            for item in 0..ITEMS {
                products[item] = products[item] * x.load(columns[item] as usize);
            }
        } else {
            // After the end, zeros in the row of the last entry.
            for item in 0..ITEMS {
                let at = step + place(item / VECTOR) + (item % VECTOR) as u32;
                let inside = at.min(self.len - 1) as usize;
                rows[item] = self.row_indices.load(inside);
                if at < self.len {
                    let element = x.load(self.column_indices.load(inside) as usize);
                    products[item] = self.values.load(inside) * element;
                }
            }
        }
        for vector in 0..ITEMS / VECTOR {
            let at = vector * VECTOR;
            let rows = [rows[at], rows[at + 1], rows[at + 2], rows[at + 3]];
            let products = [products[at], products[at + 1], products[at + 2], products[at + 3]];
            open = open.reduce(rows, products, update);
        }
        open
    }
}

/// Returns the start of this lane's part of a vector of the warp.
#[device]
fn place(vector: usize) -> u32 {
    (thread::lane() + vector as u32 * thread::WARP_SIZE) * VECTOR as u32
}

impl<V: Arithmetic> Open<V> {
    /// Continues through the warp's next entries, `VECTOR` consecutive ones per lane.
    #[device(track_caller)]
    fn reduce(self, rows: [u32; VECTOR], products: [V; VECTOR], update: Update<V>) -> Self {
        let lane = thread::lane();
        // 1. Rows that begin and end in the lane are the lane's alone.
        let first_row = rows[0];
        let last_row = rows[VECTOR - 1];
        let mut first = V::ZERO;
        let mut sum = products[0];
        for item in 1..VECTOR {
            if rows[item] == rows[item - 1] {
                sum += products[item];
            } else {
                if rows[item - 1] == first_row {
                    first = sum;
                } else {
                    update.store(rows[item - 1] as usize, sum);
                }
                sum = products[item];
            }
        }

        // 2. The others: the sum over the lanes before of the row in which each lane begins.
        let row_above = warp::shuffle_up(warp::FULL, last_row, 1);
        let row_before = if lane == 0 { self.row } else { row_above };
        let goes_on = first_row == row_before;
        let ends = first_row != last_row;
        let heads = warp::ballot(warp::FULL, ends || !goes_on);
        let with_open = if lane == 0 && goes_on && !ends { self.sum + sum } else { sum };
        let inclusive = warp_inclusive(with_open, heads, lane);
        let sum_above = warp::shuffle_up(warp::FULL, inclusive, 1);
        let before = if lane == 0 { self.sum } else { sum_above };
        if !goes_on {
            update.store(row_before as usize, before);
        }
        if ends {
            update.store(first_row as usize, if goes_on { before + first } else { first });
        }
        let last_lane = thread::WARP_SIZE - 1;
        Self {
            row: warp::shuffle(warp::FULL, last_row, last_lane),
            sum: warp::shuffle(warp::FULL, inclusive, last_lane),
        }
    }
}
