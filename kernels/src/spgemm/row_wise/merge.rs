//! Rows that add up a few short rows of B: a thread a row, which merges them.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Element, Float, Global, GlobalMut, Shared};

use super::entries::{nth_row, Entries, Matrix};
use crate::Offset;

/// Rows of B that a row of C adds up, at most.
pub const MERGE_WAYS: u32 = 8;
/// Products of a row of C, at most.
pub const MERGE_PRODUCTS: u32 = 64;

const WAYS: usize = MERGE_WAYS as usize;
/// Lanes that store a row of C together.
const STORE_LANES: u32 = 16;
/// A way that has no more: no matrix has so many columns.
const NONE: u32 = u32::MAX;

/// Bytes of shared memory of a block of `block` threads, for rows of `products` products and `results` results, which
/// who only counts has none of, nor values.
pub const fn merge_shared_bytes(block: u32, products: u32, results: u32, value_bytes: u32) -> u32 {
    block * (stride(products) + if results > 0 { stride(results) } else { 0 }) * (4 + value_bytes)
}

/// Rows are an odd number of elements apart, so that lanes which are as far in theirs are in different banks.
const fn stride(len: u32) -> u32 {
    len | 1
}

kernel! {
    /// Counts the entries of rows of C that have [`MERGE_PRODUCTS`] products of [`MERGE_WAYS`] rows of B, at most.
    pub struct SpgemmMergeCount<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// Output: entries of each of the rows.
        pub lengths: GlobalMut<u64>,
        /// How many rows there are.
        pub rows: u32,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Most products of one of the rows.
        pub products: u32,
    }
    shared: 0;
    body: count_rows::<O, BLOCK>;
    entries: {
        spgemm_merge_count_u32 in spgemm_count: <O = u32>, 64 x 1;
        spgemm_merge_count_u64 in spgemm_count: <O = u64>, 64 x 1;
    }
}

#[inline(always)]
fn count_rows<O: Offset, const BLOCK: usize>(
    _: Arena,
    a_row_offsets: Global<O>,
    a_columns: Global<u32>,
    b_row_offsets: Global<O>,
    b_columns: Global<u32>,
    list: Global<u32>,
    lengths: GlobalMut<u64>,
    rows: u32,
    listed: u32,
    products: u32,
) {
    let a = Matrix { row_offsets: a_row_offsets, columns: a_columns, values: a_columns };
    let b = Matrix { row_offsets: b_row_offsets, columns: b_columns, values: b_columns };
    let mut arena = Arena::dynamic(merge_shared_bytes(BLOCK as u32, products, 0, 0));
    let index = thread::block() * BLOCK as u32 + thread::index();
    let row = nth_row(list, listed, index, index < rows);
    let merge =
        Merge::<u32>::stage::<_, BLOCK, false>(&mut arena, a, b, a.entries_if(row, index < rows), products);
    let (mut count, mut last) = (0_u64, NONE);
    merge.each_product::<false>(|column, _, _| {
        count += u64::from(column != last);
        last = column;
    });
    if index < rows {
        lengths.store(row as usize, count);
    }
}

kernel! {
    /// Computes rows of C that have [`MERGE_PRODUCTS`] products of [`MERGE_WAYS`] rows of B, at most.
    pub struct SpgemmMergeFill<V: Float, O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Values of A.
        pub a_values: Global<V>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// Values of B.
        pub b_values: Global<V>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Column indices of C: output, unless `known`.
        pub c_columns: GlobalMut<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// How many rows there are.
        pub rows: u32,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Not zero if C's columns are there: those of all products.
        pub known: u32,
        /// Most products of one of the rows.
        pub products: u32,
        /// Most entries of C of one of the rows.
        pub results: u32,
    }
    shared: 0;
    body: fill_rows::<V, O, BLOCK>;
    entries: {
        spgemm_merge_fill_f32_u32 in spgemm_fill_f32_u32: <V = f32, O = u32>, 64 x 1;
        spgemm_merge_fill_f32_u64 in spgemm_fill_f32_u64: <V = f32, O = u64>, 64 x 1;
        spgemm_merge_fill_f64_u32 in spgemm_fill_f64_u32: <V = f64, O = u32>, 64 x 1;
        spgemm_merge_fill_f64_u64 in spgemm_fill_f64_u64: <V = f64, O = u64>, 64 x 1;
    }
}

#[inline(always)]
fn fill_rows<V: Float, O: Offset, const BLOCK: usize>(
    _: Arena,
    a_row_offsets: Global<O>,
    a_columns: Global<u32>,
    a_values: Global<V>,
    b_row_offsets: Global<O>,
    b_columns: Global<u32>,
    b_values: Global<V>,
    c_row_offsets: Global<u64>,
    c_columns: GlobalMut<u32>,
    c_values: GlobalMut<V>,
    list: Global<u32>,
    rows: u32,
    listed: u32,
    known: u32,
    products: u32,
    results: u32,
) {
    let a = Matrix { row_offsets: a_row_offsets, columns: a_columns, values: a_values };
    let b = Matrix { row_offsets: b_row_offsets, columns: b_columns, values: b_values };
    let bytes = merge_shared_bytes(BLOCK as u32, products, results, V::SIZE as u32);
    let mut arena = Arena::dynamic(bytes);
    let index = thread::block() * BLOCK as u32 + thread::index();
    let row = nth_row(list, listed, index, index < rows);
    let result_stride = stride(results) as usize;
    // Values first, whose elements may be wider.
    let sums: Shared<V> = arena.take(BLOCK * result_stride);
    let merge = Merge::stage::<_, BLOCK, true>(&mut arena, a, b, a.entries_if(row, index < rows), products);
    let columns: Shared<u32> = arena.take(BLOCK * result_stride);
    let c_begin = c_row_offsets.load_if(row as usize, index < rows);

    let base = thread::index() as usize * result_stride;
    let (mut count, mut last, mut sum) = (0, NONE, V::ZERO);
    merge.each_product::<true>(|column, left, right| {
        if column != last {
            if last != NONE {
                columns.store(base + count, last);
                sums.store(base + count, sum);
                count += 1;
            }
            (last, sum) = (column, V::ZERO);
        }
        sum = left.fma(right, sum);
    });
    if last != NONE {
        columns.store(base + count, last);
        sums.store(base + count, sum);
        count += 1;
    }
    warp::sync(warp::FULL);
    let lane = thread::index() % STORE_LANES;
    for mate in 0..STORE_LANES {
        let source = thread::lane() - lane + mate;
        let len = warp::shuffle(warp::FULL, count as u32, source);
        let begin = warp::shuffle(warp::FULL, c_begin, source) as usize;
        let base = (thread::index() - lane + mate) as usize * result_stride;
        let (c_columns, c_values) = (c_columns.skip(begin), c_values.skip(begin));
        let mut place = lane as usize;
        while place < len as usize {
            if known == 0 {
                c_columns.store_streaming(place, columns.load(base + place));
            }
            c_values.store_streaming(place, sums.load(base + place));
            place += STORE_LANES as usize;
        }
    }
}

/// The rows of B that a thread merges, in shared memory.
struct Merge<V> {
    columns: Shared<u32>,
    rights: Shared<V>,
    /// The place of each row's next entry, and behind its last.
    next: [u32; WAYS],
    end: [u32; WAYS],
    lefts: [V; WAYS],
}

impl<V: Element> Merge<V> {
    /// Brings the rows of B to shared memory that the thread's entries of A name. As many lanes as ways bring the rows of
    /// each other's, one after the other: a lane for each entry of A, and then for entries of B side by side. All lanes of
    /// the warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn stage<O: Offset, const BLOCK: usize, const VALUES: bool>(
        arena: &mut Arena,
        a: Matrix<V, O>,
        b: Matrix<V, O>,
        own: Entries,
        products: u32,
    ) -> Self {
        let stride = stride(products) as usize;
        let rights: Shared<V> = arena.take(if VALUES { BLOCK * stride } else { 0 });
        let columns: Shared<u32> = arena.take(BLOCK * stride);
        let lane = thread::index() % MERGE_WAYS;
        let first_lane = thread::lane() - lane;
        let mut next = [0; WAYS];
        let mut end = [0; WAYS];
        let mut lefts = [V::ZERO; WAYS];
        let mut mate = 0;
        while mate < MERGE_WAYS {
            let source = first_lane + mate;
            let entries = Entries {
                begin: warp::shuffle(warp::FULL, own.begin as u64, source) as usize,
                len: warp::shuffle(warp::FULL, own.len, source),
            };
            let is_entry = lane < entries.len;
            let left = if VALUES { a.value_if(entries, lane, is_entry) } else { V::ZERO };
            let row = b.entries_if(a.column_if(entries, lane, is_entry), is_entry);
            let mut upto = row.len;
            let mut distance = 1;
            while distance < MERGE_WAYS {
                let below = warp::shuffle_up(warp::FULL, upto, distance);
                if lane >= distance {
                    upto += below;
                }
                distance *= 2;
            }
            let base = (thread::index() - lane + mate) as usize * stride;
            let (columns, rights) = (columns.skip(base), rights.skip(if VALUES { base } else { 0 }));
            let mut begin = [0; WAYS];
            let mut len = [0; WAYS];
            let mut start = [0; WAYS];
            let mut column = [0; WAYS];
            let mut right = [V::ZERO; WAYS];
            for way in 0..WAYS {
                let source = first_lane + way as u32;
                begin[way] = warp::shuffle(warp::FULL, row.begin as u64, source) as usize;
                len[way] = warp::shuffle(warp::FULL, row.len, source);
                start[way] = warp::shuffle(warp::FULL, upto, source) - len[way];
                if VALUES {
                    let left = warp::shuffle(warp::FULL, left, source);
                    if lane == mate {
                        lefts[way] = left;
                    }
                }
                if lane == mate {
                    next[way] = start[way];
                    end[way] = start[way] + len[way];
                }
                let row = Entries { begin: begin[way], len: len[way] };
                column[way] = b.column_if(row, lane, lane < row.len);
                if VALUES {
                    right[way] = b.value_if(row, lane, lane < row.len);
                }
            }
            for way in 0..WAYS {
                let row = Entries { begin: begin[way], len: len[way] };
                let (mut column, mut right, mut place) = (column[way], right[way], lane);
                while place < row.len {
                    columns.store((start[way] + place) as usize, column);
                    if VALUES {
                        rights.store((start[way] + place) as usize, right);
                    }
                    place += MERGE_WAYS;
                    column = b.column_if(row, place, place < row.len);
                    if VALUES {
                        right = b.value_if(row, place, place < row.len);
                    }
                }
            }
            mate += 1;
        }
        warp::sync(warp::FULL);
        let base = thread::index() as usize * stride;
        let rights = rights.skip(if VALUES { base } else { 0 });
        Self { columns: columns.skip(base), rights, next, end, lefts }
    }

    /// Calls `visit` with the column, the value of A and that of B of each product, ascending by column, those of a column
    /// in the order of A's entries.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn each_product<const VALUES: bool>(self, mut visit: impl FnMut(u32, V, V)) {
        let Self { columns, rights, mut next, end, lefts } = self;
        let mut head = [NONE; WAYS];
        for way in 0..WAYS {
            if next[way] < end[way] {
                head[way] = columns.load(next[way] as usize);
            }
        }
        loop {
            // The first of the least.
            let (mut least, mut place, mut behind, mut left) = (head[0], next[0], end[0], lefts[0]);
            for way in 1..WAYS {
                if head[way] < least {
                    (least, place, behind) = (head[way], next[way], end[way]);
                    if VALUES {
                        left = lefts[way];
                    }
                }
            }
            if least == NONE {
                break;
            }
            let right = if VALUES { rights.load(place as usize) } else { V::ZERO };
            let following = if place + 1 < behind { columns.load(place as usize + 1) } else { NONE };
            visit(least, left, right);
            for way in 0..WAYS {
                // Ways that are through are behind others' places, and have no head.
                if next[way] == place && head[way] == least {
                    next[way] = place + 1;
                    head[way] = following;
                }
            }
        }
    }
}
