//! Sums of consecutive rows by a warp: products go to shared memory in chunks, and 2^k lanes sum each row.
//!
//! 1. Each lane loads where its rows begin and end ([`RowGroup::sums`]).
//! 2. The warp skips rows over the limit, if sums are limited ([`RowGroup::next_long_row`]).
//! 3. It loads a chunk of nonzeros, multiplies them with x, and writes the products to shared memory: one nonzero per access
//!    ([`GroupSpan::load_strided`]), or four ([`GroupSpan::load_packets`]).
//! 4. The lanes of each row add up its part of the chunk. Steps 2 to 4 are repeated for the next chunk.
//! 5. The lanes of a row add up their sums.
//!
//! Products are loaded in the order of the nonzeros, so loads are coalesced for rows of any length; only the sums
//! depend on rows. No warp waits for another.

use evenpath_simt::{device, thread, warp, Aligned16, Arena, Arithmetic, Global, Shared};

use super::columns::{place_of_four, ColumnForm};
use crate::key::packet_of;
use crate::unroll::unroll;
use crate::{GlobalCsr, Offset};

/// Shared memory for `count` products.
pub(super) const fn product_bytes<V: Arithmetic>(count: usize) -> usize {
    count * V::SIZE
}

/// Takes a block's memory for `ITEMS` products per thread, and returns the part of the warp.
#[device]
pub(super) fn warp_products<V: Arithmetic, const BLOCK: usize, const ITEMS: usize>(
    arena: &mut Arena,
) -> Shared<V> {
    let products: Shared<V> = arena.take(BLOCK * ITEMS);
    products.skip(thread::warp() as usize * 32 * ITEMS)
}

/// The rows that a warp sums together; `ROWS` per lane if there are more rows than lanes.
#[derive(Clone, Copy)]
pub(super) struct RowGroup<const ROWS: usize> {
    /// The first row.
    pub(super) first: u32,
    /// One past the last row.
    pub(super) end: u32,
    /// log2 of the lanes per row; 0 unless `ROWS` is 1.
    pub(super) lanes_log2: u32,
    /// The most nonzeros of a row: longer rows are left out if the sums are limited.
    pub(super) limit: u32,
}

/// Order in which a group's products are loaded.
pub(super) trait Loading {
    /// Four nonzeros per access instead of one.
    const PACKETS: bool;
    /// True if x is gathered only for columns of the group's rows.
    const EXACT: bool;
}

/// One nonzero per access, starting at a multiple of 32 bytes.
pub(super) struct StridedNonzeros;

impl Loading for StridedNonzeros {
    const PACKETS: bool = false;
    const EXACT: bool = false;
}

/// One nonzero per access, starting at the first.
pub(super) struct Exact;

impl Loading for Exact {
    const PACKETS: bool = false;
    const EXACT: bool = true;
}

/// Four nonzeros per access, starting at a multiple of four.
pub(super) struct PacketNonzeros;

impl Loading for PacketNonzeros {
    const PACKETS: bool = true;
    const EXACT: bool = false;
}

impl<const ROWS: usize> RowGroup<ROWS> {
    /// Returns the row of this lane's sum `index`; it may lie after the last.
    #[device]
    pub(super) fn row(self, index: usize) -> u32 {
        self.first + (thread::lane() >> self.lanes_log2) + index as u32 * thread::WARP_SIZE
    }

    /// Returns whether this lane is the one that stores its rows' sums.
    #[device]
    pub(super) fn stores(self) -> bool {
        thread::lane() & ((1 << self.lanes_log2) - 1) == 0
    }

    /// Returns the first nonzero of the rows, and the first after them.
    #[device]
    pub(super) fn bounds<O: Offset>(self, row_offsets: Global<O>) -> (usize, usize) {
        let offset = |row: u32| row_offsets.load(row as usize).to_usize();
        (offset(self.first), offset(self.end))
    }

    /// Returns the sums of this lane's rows; every lane of a row has its sum. `bounds` are those of the rows;
    /// `products` has room for 32 × `ITEMS`; `gather` returns the element of x of a column, and is called only for
    /// columns of the group's rows if the loading is exact.
    ///
    /// The group has fewer than 2³² − 32 × `ITEMS` nonzeros. Every lane of the warp calls it. The order of additions
    /// depends only on the lengths and places of rows.
    #[device]
    pub(super) fn sums<
        V: Arithmetic,
        O: Offset,
        C: ColumnForm,
        L: Loading,
        const LIMITED: bool,
        const ITEMS: usize,
    >(
        self,
        matrix: GlobalCsr<V, O>,
        columns: C,
        bounds: (usize, usize),
        products: Shared<V>,
        gather: impl Fn(u32) -> V,
    ) -> [V; ROWS] {
        let (begin, end) = bounds;
        // 1. Find where this lane's rows begin and end.
        let chunk_len = (32 * ITEMS) as u32;
        let offset = |row: u32| matrix.row_offsets.load(row.min(self.end) as usize).to_usize();
        let mut starts = [0_u32; ROWS];
        let mut ends = [0_u32; ROWS];
        let base = if L::EXACT { begin } else { begin & !7 };
        unroll!(for index in 0..ROWS {
            let row = self.row(index);
            starts[index] = (offset(row) - base) as u32;
            ends[index] = (offset(row + 1) - base) as u32;
        });
        let mut sums = [V::ZERO; ROWS];
        let span = GroupSpan { end: (end - base) as u32 };
        let columns = columns.skip(base);
        let values = matrix.values.skip_aligned(base);
        let whole = (end + 3) & !3 <= matrix.nonzeros as usize;
        let mut chunk = 0;
        while begin < end && chunk < span.end {
            let (mut span, mut next) = (span, chunk + chunk_len);
            if LIMITED {
                // 2. Only up to the next long row; then continue after it.
                let long = self.next_long_row(chunk, starts, ends);
                if long.start <= chunk {
                    chunk = long.end & !7;
                    continue;
                }
                if long.start <= next {
                    (span.end, next) = (long.start, long.end & !7);
                }
            }
            // 3. Write the products of a chunk to shared memory.
            if L::PACKETS {
                span.load_packets::<V, C, ITEMS>(chunk, columns, values, whole, products, &gather);
            } else {
                span.load_strided::<V, C, ITEMS>(chunk, columns, values.natural(), products, &gather);
            }
            warp::sync(warp::FULL);
            // 4. Add up each row's part of the chunk.
            let chunk_end = span.end.min(chunk + chunk_len);
            unroll!(for index in 0..ROWS {
                let lanes = 1 << self.lanes_log2;
                let low = starts[index].max(chunk) - chunk;
                let mut high = ends[index].min(chunk_end).saturating_sub(chunk);
                if LIMITED && ends[index] - starts[index] > self.limit {
                    high = 0;
                }
                let mut place = low + (thread::lane() & (lanes - 1));
                let mut sum = sums[index];
                while place < high {
                    sum += products.load(place as usize);
                    place += lanes;
                }
                sums[index] = sum;
            });
            chunk = next;
        }
        // 5. Add up the sums of a row's lanes.
        if ROWS == 1 {
            sums[0] = warp::reduce_groups(sums[0], 1 << self.lanes_log2, |a, b| a + b);
        }
        sums
    }

    /// Returns the first row over the limit that does not end before `place`, rounded up; after all nonzeros if there
    /// is none.
    #[device]
    fn next_long_row(self, place: u32, starts: [u32; ROWS], ends: [u32; ROWS]) -> LongRow {
        let mut found = LongRow { start: u32::MAX, end: u32::MAX };
        unroll!(for index in 0..ROWS {
            let (start, end) = (starts[index], ends[index]);
            let long = warp::ballot(warp::FULL, end - start > self.limit && end & !7 > place);
            if long != 0 && found.start == u32::MAX {
                let lane = long.trailing_zeros();
                found.start = warp::shuffle(warp::FULL, start, lane);
                found.end = warp::shuffle(warp::FULL, end, lane);
            }
        });
        found
    }
}

/// Bounds of a row.
#[derive(Clone, Copy)]
struct LongRow {
    start: u32,
    end: u32,
}

/// A group's nonzeros, counted from where its loads begin.
#[derive(Clone, Copy)]
struct GroupSpan {
    end: u32,
}

impl GroupSpan {
    /// Writes a chunk's products to shared memory once all lanes have used the last chunk's: one column index and one value
    /// per access, so that consecutive lanes gather for consecutive nonzeros, whose columns are often consecutive too.
    #[device]
    fn load_strided<V: Arithmetic, C: ColumnForm, const ITEMS: usize>(
        self,
        chunk: u32,
        column_indices: C,
        values: Global<V>,
        products: Shared<V>,
        gather: &impl Fn(u32) -> V,
    ) {
        let own = chunk + thread::lane();
        let inside = |item: usize| own + 32 * (item as u32) < self.end;
        let words = column_indices.load_strided::<ITEMS>(own as usize, inside);
        let mut terms = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            if inside(item) {
                terms[item] = values.load_streaming(own as usize + 32 * item);
            }
        }
        let mut columns = [0; ITEMS];
        for item in 0..ITEMS {
            columns[item] = column_indices.strided(words, own as usize, item);
        }
        for item in 0..ITEMS {
            if inside(item) {
                terms[item] = terms[item] * gather(columns[item]);
            }
        }
        // Here and not at the chunk's end, so that all loads are issued before it.
        warp::sync(warp::FULL);
        for item in 0..ITEMS {
            products.store(thread::lane() as usize + 32 * item, terms[item]);
        }
    }

    /// Writes a chunk's products to shared memory once all lanes have used the last chunk's, four nonzeros per access;
    /// `whole` says that the matrix does not end within the last four.
    #[device]
    fn load_packets<V: Arithmetic, C: ColumnForm, const ITEMS: usize>(
        self,
        chunk: u32,
        column_indices: C,
        values: Global<V, Aligned16>,
        whole: bool,
        products: Shared<V>,
        gather: &impl Fn(u32) -> V,
    ) {
        let own = chunk + 4 * thread::lane();
        let inside = |index: usize| own + 128 * (index as u32) < self.end;
        let words: [u32; ITEMS];
        let mut terms = [V::ZERO; ITEMS];
        if whole {
            words = column_indices.load_fours(own as usize, inside);
            for index in 0..ITEMS / 4 {
                if inside(index) {
                    let four = values.load_streaming_4(own as usize + 128 * index);
                    for item in 0..4 {
                        terms[4 * index + item] = four[item];
                    }
                }
            }
        } else {
            let is_inside = |place: usize| place < self.end as usize;
            words = column_indices.load_singles(own as usize, is_inside);
            for item in 0..ITEMS {
                let place = own as usize + place_of_four(item);
                if is_inside(place) {
                    terms[item] = values.load_streaming(place);
                }
            }
        }
        let mut columns = [0; ITEMS];
        for item in 0..ITEMS {
            columns[item] = column_indices.of_four(words, item);
        }
        for index in 0..ITEMS / 4 {
            if inside(index) {
                for item in 4 * index..4 * index + 4 {
                    terms[item] = terms[item] * gather(columns[item]);
                }
            }
        }
        warp::sync(warp::FULL);
        let packet = 16 / V::SIZE;
        for index in 0..ITEMS / packet {
            let (group, part) = (index / (4 / packet), index % (4 / packet));
            let place = 128 * group + 4 * thread::lane() as usize + part * packet;
            products.store_16(place, packet_of(|item| terms[index * packet + item]));
        }
    }
}
