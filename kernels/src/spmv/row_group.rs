//! What a warp does with consecutive rows: their products go to shared memory in chunks, and 2^k lanes sum each row.
//!
//! Products are loaded as the nonzeros lie, so every load is of neighbours however short the rows are; only the sums
//! know rows. No warp waits for another.

use evenpath_simt::{thread, warp, Float, Global, Shared};

use crate::key::packet_of;
use crate::Offset;

/// The arrays of a CSR matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<V, O> {
    /// Row offsets, rows + 1.
    pub(super) row_offsets: Global<O>,
    /// Column indices.
    pub(super) column_indices: Global<u32>,
    /// Values.
    pub(super) values: Global<V>,
    /// Nonzeros.
    pub(super) nonzeros: u64,
}

/// Shared memory for `count` products.
pub(super) const fn product_bytes<V: Float>(count: usize) -> usize {
    count * V::SIZE
}

/// The rows that a warp sums together, `ROWS` a lane where there are more than lanes.
#[derive(Clone, Copy)]
pub(super) struct RowGroup<const ROWS: usize> {
    /// The first row.
    pub(super) first: usize,
    /// Behind the last row.
    pub(super) end: usize,
    /// Binary logarithm of the lanes that sum a row; 0 where `ROWS` is not 1.
    pub(super) lanes_log2: u32,
}

/// A part of a row's products that is this much longer than its lanes is summed by the whole warp.
const LONG: u32 = 16;

impl<const ROWS: usize> RowGroup<ROWS> {
    /// The row of which this lane has sum `index`; it may lie behind the last.
    #[inline(always)]
    pub(super) fn row(self, index: usize) -> usize {
        self.first + ((thread::lane() >> self.lanes_log2) as usize) + index * thread::WARP_SIZE as usize
    }

    /// Whether this lane is the one that stores its rows' sums.
    #[inline(always)]
    pub(super) fn stores(self) -> bool {
        thread::lane() & ((1 << self.lanes_log2) - 1) == 0
    }

    /// The sums of this lane's rows; every lane of a row has it. `products` holds 32 × `ITEMS`; `gather` gives the
    /// element of x of a column, and is asked only for columns of the group's rows if `EXACT`.
    ///
    /// The group has fewer than 2³² − 32 × `ITEMS` nonzeros. Every lane of the warp calls it. The order of additions
    /// depends on nothing but the rows' lengths and places.
    #[inline(always)]
    pub(super) fn sums<V: Float, O: Offset, const VECTOR: bool, const EXACT: bool, const ITEMS: usize>(
        self,
        matrix: Matrix<V, O>,
        products: Shared<V>,
        gather: impl Fn(u32) -> V,
    ) -> [V; ROWS] {
        let chunk_len = (32 * ITEMS) as u32;
        let offset =
            |row: usize| matrix.row_offsets.load(if row < self.end { row } else { self.end }).to_usize();
        let begin = offset(self.first);
        let end = offset(self.end);
        let mut starts = [0_u32; ROWS];
        let mut ends = [0_u32; ROWS];
        let base = if VECTOR { begin & !3 } else { begin & !7 };
        for index in 0..ROWS {
            let row = self.row(index);
            starts[index] = (offset(row) - base) as u32;
            ends[index] = (offset(row + 1) - base) as u32;
        }
        let mut sums = [V::ZERO; ROWS];
        let span = Span { first: (begin - base) as u32, end: (end - base) as u32 };
        let columns = matrix.column_indices.skip(base);
        let values = matrix.values.skip(base);
        let whole = (end + 3) & !3 <= matrix.nonzeros as usize;
        let mut chunk = 0;
        while begin < end && chunk < span.end {
            if VECTOR {
                span.load_packets::<V, ITEMS>(chunk, columns, values, whole, products, &gather);
            } else {
                span.load_strided::<V, EXACT, ITEMS>(chunk, columns, values, products, &gather);
            }
            warp::sync(warp::FULL);
            for index in 0..ROWS {
                let low = if starts[index] > chunk { starts[index] } else { chunk };
                let high = if ends[index] < chunk + chunk_len { ends[index] } else { chunk + chunk_len };
                let part =
                    Part { low: low - chunk, high: if high > low { high - chunk } else { low - chunk } };
                sums[index] += self.sum_part(part, products);
            }
            warp::sync(warp::FULL);
            chunk += chunk_len;
        }
        let mut distance = (1 << self.lanes_log2) >> 1;
        while distance > 0 {
            for sum in &mut sums {
                *sum = *sum + warp::shuffle_xor(warp::FULL, *sum, distance);
            }
            distance >>= 1;
        }
        sums
    }

    /// This lane's share of a part of its row.
    #[inline(always)]
    fn sum_part<V: Float>(self, part: Part, products: Shared<V>) -> V {
        let lanes = 1 << self.lanes_log2;
        let is_long = part.high - part.low > LONG * lanes;
        let mut sum = V::ZERO;
        let mut place = part.low + (thread::lane() & (lanes - 1));
        let end = if is_long { 0 } else { part.high };
        while place < end {
            sum += products.load(place as usize);
            place += lanes;
        }
        let mut long_rows = warp::ballot(warp::FULL, is_long && self.stores());
        while long_rows != 0 {
            let leader = long_rows.trailing_zeros();
            let high = warp::shuffle(warp::FULL, part.high, leader);
            let mut place = warp::shuffle(warp::FULL, part.low, leader) + thread::lane();
            let mut share = V::ZERO;
            while place < high {
                share += products.load(place as usize);
                place += thread::WARP_SIZE;
            }
            let total = warp::reduce_add(share);
            if thread::lane() == leader {
                sum += total;
            }
            long_rows &= long_rows - 1;
        }
        sum
    }
}

/// A part of a row's products in a chunk.
#[derive(Clone, Copy)]
struct Part {
    low: u32,
    high: u32,
}

/// A group's nonzeros, counted from where its loads begin.
#[derive(Clone, Copy)]
struct Span {
    first: u32,
    end: u32,
}

impl Span {
    /// Brings a chunk's products to shared memory, a column index and a value an access: neighbouring lanes gather for
    /// neighbouring nonzeros, whose columns are often neighbours too. Lanes past the end repeat the last nonzero.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // Iterators over two arrays leave registers for local memory.
    fn load_strided<V: Float, const EXACT: bool, const ITEMS: usize>(
        self,
        chunk: u32,
        column_indices: Global<u32>,
        values: Global<V>,
        products: Shared<V>,
        gather: &impl Fn(u32) -> V,
    ) {
        let inside = |item: usize| {
            let place = (chunk + thread::lane() + 32 * item as u32).min(self.end - 1);
            (if EXACT { place.max(self.first) } else { place }) as usize
        };
        let mut columns = [0_u32; ITEMS];
        let mut terms = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            columns[item] = column_indices.load_streaming(inside(item));
        }
        for item in 0..ITEMS {
            terms[item] = values.load_streaming(inside(item));
        }
        for item in 0..ITEMS {
            terms[item] = terms[item] * gather(columns[item]);
        }
        for item in 0..ITEMS {
            products.store(thread::lane() as usize + 32 * item, terms[item]);
        }
    }

    /// Brings a chunk's products to shared memory, four nonzeros an access; `whole` says that the matrix does not end
    /// within the last four.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn load_packets<V: Float, const ITEMS: usize>(
        self,
        chunk: u32,
        column_indices: Global<u32>,
        values: Global<V>,
        whole: bool,
        products: Shared<V>,
        gather: &impl Fn(u32) -> V,
    ) {
        let group = |index: usize| (chunk + 4 * thread::lane() + 128 * index as u32).min((self.end - 1) & !3);
        let inside = |index: usize, item: usize| (group(index) + item as u32).min(self.end - 1) as usize;
        let mut columns = [0_u32; ITEMS];
        let mut terms = [V::ZERO; ITEMS];
        if whole {
            for index in 0..ITEMS / 4 {
                let four = column_indices.load_streaming_4(group(index) as usize);
                for item in 0..4 {
                    columns[4 * index + item] = four[item];
                }
            }
            for index in 0..ITEMS / 4 {
                let four = values.load_streaming_4(group(index) as usize);
                for item in 0..4 {
                    terms[4 * index + item] = four[item];
                }
            }
        } else {
            for index in 0..ITEMS {
                columns[index] = column_indices.load_streaming(inside(index / 4, index % 4));
                terms[index] = values.load_streaming(inside(index / 4, index % 4));
            }
        }
        for item in 0..ITEMS {
            terms[item] = terms[item] * gather(columns[item]);
        }
        let packet = 16 / V::SIZE;
        for index in 0..ITEMS / packet {
            let (group, part) = (index / (4 / packet), index % (4 / packet));
            let place = 128 * group + 4 * thread::lane() as usize + part * packet;
            products.store_16(place, packet_of(|item| terms[index * packet + item]));
        }
    }
}
