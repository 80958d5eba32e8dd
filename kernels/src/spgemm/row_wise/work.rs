//! What the rows of C take: their products, and the span of their columns.

use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut};

use super::classes::{EMPTY_CLASS, MERGE_CLASS};
use super::entries::{Entries, Matrix};
use super::merge::MERGE_WAYS;
use crate::Offset;

kernel! {
    /// Counts the products of each row of C; finds the first and the last column that it can have, for rows with more than
    /// `short` products; and marks those that are merged. `1 << lanes_log2` lanes a row. A row without a span has a first
    /// column above its last.
    pub struct SpgemmRowWork<O: Offset> {
        /// Row offsets of A, `rows` + 1.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B.
        pub b_columns: Global<u32>,
        /// Output: products of each row.
        pub products: GlobalMut<u64>,
        /// Output: first column of each row.
        pub firsts: GlobalMut<u32>,
        /// Output: last column of each row.
        pub lasts: GlobalMut<u32>,
        /// Output: [`MERGE_CLASS`] for rows that are merged, [`EMPTY_CLASS`] for the others.
        pub classes: GlobalMut<u8>,
        /// Rows.
        pub rows: u32,
        /// Products of rows whose span does not matter, at most.
        pub short: u32,
        /// Products of rows that are merged, at most.
        pub merged: u32,
        /// Lanes a row, as a power of two, at most 5.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: row_work::<O, BLOCK>;
    entries: {
        spgemm_row_work_u32 in spgemm_plan: <O = u32>, 256 x 1;
        spgemm_row_work_u64 in spgemm_plan: <O = u64>, 256 x 1;
    }
}

/// Entries of A that a lane has on their way at once.
const IN_FLIGHT: usize = 4;

#[inline(always)]
fn row_work<O: Offset, const BLOCK: usize>(
    _: Arena,
    a_row_offsets: Global<O>,
    a_columns: Global<u32>,
    b_row_offsets: Global<O>,
    b_columns: Global<u32>,
    products: GlobalMut<u64>,
    firsts: GlobalMut<u32>,
    lasts: GlobalMut<u32>,
    classes: GlobalMut<u8>,
    rows: u32,
    short: u32,
    merged: u32,
    lanes_log2: u32,
) {
    let a = Matrix { row_offsets: a_row_offsets, columns: a_columns, values: a_columns };
    let b = Matrix { row_offsets: b_row_offsets, columns: b_columns, values: b_columns };
    let row = thread::block() * (BLOCK as u32 >> lanes_log2) + (thread::index() >> lanes_log2);
    let lane = thread::index() & ((1 << lanes_log2) - 1);
    let own = a.entries_if(row, row < rows);
    let mut count = 0_u64;
    each_row_of_b(a, b, own, lane, lanes_log2, |entries| count += u64::from(entries.len));
    let mut distance = (1 << lanes_log2) / 2;
    while distance > 0 {
        count += warp::shuffle_xor(warp::FULL, count, distance);
        distance /= 2;
    }
    let (mut first, mut last) = (u32::MAX, 0);
    if count > u64::from(short) {
        each_row_of_b(a, b, own, lane, lanes_log2, |entries| {
            if entries.len > 0 {
                first = first.min(b.column_if(entries, 0, true));
                last = last.max(b.column_if(entries, entries.len - 1, true));
            }
        });
    }
    let mut distance = (1 << lanes_log2) / 2;
    while distance > 0 {
        first = first.min(warp::shuffle_xor(warp::FULL, first, distance));
        last = last.max(warp::shuffle_xor(warp::FULL, last, distance));
        distance /= 2;
    }
    if row < rows && lane == 0 {
        let is_merged = own.len <= MERGE_WAYS && count <= u64::from(merged);
        products.store(row as usize, count);
        firsts.store(row as usize, first);
        lasts.store(row as usize, last);
        classes.store(row as usize, if is_merged { MERGE_CLASS } else { EMPTY_CLASS } as u8);
    }
}

/// Calls `visit` with the rows of B that a lane's entries of a row of A name.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Iterators over arrays leave registers for local memory.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn each_row_of_b<O: Offset>(
    a: Matrix<u32, O>,
    b: Matrix<u32, O>,
    own: Entries,
    lane: u32,
    lanes_log2: u32,
    mut visit: impl FnMut(Entries),
) {
    let mut place = lane;
    while place < own.len {
        let mut entries = [Entries::NONE; IN_FLIGHT];
        for at in 0..IN_FLIGHT {
            let place = place + ((at as u32) << lanes_log2);
            let column = a.column_if(own, place, place < own.len);
            entries[at] = b.entries_if(column, place < own.len);
        }
        for at in 0..IN_FLIGHT {
            visit(entries[at]);
        }
        place += (IN_FLIGHT as u32) << lanes_log2;
    }
}

kernel! {
    /// What [`SpgemmRowWork`] says, for the entries of C that a pattern has: its length and columns. One thread a row.
    pub struct SpgemmMaskWork<O: Offset> {
        /// Row offsets of the pattern, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Its columns.
        pub columns: Global<u32>,
        /// Output: entries of each row.
        pub lengths: GlobalMut<u64>,
        /// Output: first column of each row.
        pub firsts: GlobalMut<u32>,
        /// Output: last column of each row.
        pub lasts: GlobalMut<u32>,
        /// Output: [`EMPTY_CLASS`] for all rows: none is merged.
        pub classes: GlobalMut<u8>,
        /// Rows.
        pub rows: u32,
    }
    shared: 0;
    body: mask_work::<O, BLOCK>;
    entries: {
        spgemm_mask_work_u32 in spgemm_plan: <O = u32>, 256 x 1;
        spgemm_mask_work_u64 in spgemm_plan: <O = u64>, 256 x 1;
    }
}

#[inline(always)]
fn mask_work<O: Offset, const BLOCK: usize>(
    _: Arena,
    row_offsets: Global<O>,
    columns: Global<u32>,
    lengths: GlobalMut<u64>,
    firsts: GlobalMut<u32>,
    lasts: GlobalMut<u32>,
    classes: GlobalMut<u8>,
    rows: u32,
) {
    let row = thread::block() * BLOCK as u32 + thread::index();
    if row >= rows {
        return;
    }
    let mask = Matrix { row_offsets, columns, values: columns };
    let own = mask.entries_if(row, true);
    lengths.store(row as usize, u64::from(own.len));
    let (mut first, mut last) = (u32::MAX, 0);
    if own.len > 0 {
        first = mask.column_if(own, 0, true);
        last = mask.column_if(own, own.len - 1, true);
    }
    firsts.store(row as usize, first);
    lasts.store(row as usize, last);
    classes.store(row as usize, EMPTY_CLASS as u8);
}
