//! Rows of few columns: a group of lanes a row, with a hash table in shared memory.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Element, Float, Global, GlobalMut, Shared};

use super::entries::{nth_row, Entries, Matrix};
use super::hash_table::HashTable;
use crate::Offset;

/// Entries of A, and then rows of B, that a group has on their way at once.
const IN_FLIGHT: usize = 4;

/// Columns of C that a lane ranks at once.
const RANKED: usize = 4;

/// Bytes of shared memory of a block of `block` threads, for values of `value_bytes`, none when only counting.
pub const fn hash_shared_bytes(block: u32, lanes_log2: u32, table_log2: u32, value_bytes: u32) -> u32 {
    ((block >> lanes_log2) << table_log2) * (4 + value_bytes)
}

kernel! {
    /// Counts the entries of rows of C: `1 << lanes_log2` lanes a row.
    pub struct SpgemmHashCount<O: Offset> {
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
        /// Lanes a row, as a power of two, at most 5.
        pub lanes_log2: u32,
        /// Slots of a row's table, as a power of two: more than a row has products, no fewer than lanes.
        pub table_log2: u32,
    }
    shared: 0;
    body: SpgemmHashCount::count_rows::<BLOCK>;
    entries: {
        spgemm_hash_count_u32 in spgemm_count: <O = u32>, 256 x 1;
        spgemm_hash_count_u64 in spgemm_count: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> SpgemmHashCount<O> {
    #[inline(always)]
    fn count_rows<const BLOCK: usize>(self, _: Arena) {
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_columns };
        let mut arena = Arena::dynamic(hash_shared_bytes(BLOCK as u32, self.lanes_log2, self.table_log2, 0));
        let group = Group::<BLOCK>::new(self.lanes_log2);
        let (row, is_row) = group.row(self.list, self.listed, self.rows);
        let table = group.table(&mut arena, self.table_log2);
        group.each_slot(table, |slot| table.clear(slot));
        warp::sync(warp::FULL);
        let mut count = 0;
        group.each_product::<false, _, _>(a, b, a.entries_if(row, is_row), |column, _, _, is_product| {
            if is_product {
                count += u64::from(table.insert(column).is_new);
            }
        });
        let mut distance = group.lanes / 2;
        while distance > 0 {
            count += warp::shuffle_xor(warp::FULL, count, distance);
            distance /= 2;
        }
        if is_row && group.lane == 0 {
            self.lengths.store(row as usize, count);
        }
    }
}

kernel! {
    /// Computes rows of C: `1 << lanes_log2` lanes a row.
    pub struct SpgemmHashFill<V: Float, O: Offset> {
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
        /// Not zero if C's columns are given; products that fall elsewhere are left out.
        pub known: u32,
        /// Lanes a row, as a power of two, at most 5.
        pub lanes_log2: u32,
        /// Slots of a row's table, as a power of two: more than a row of C has entries, no fewer than lanes.
        pub table_log2: u32,
    }
    shared: 0;
    body: SpgemmHashFill::fill_rows::<BLOCK>;
    entries: {
        spgemm_hash_fill_f32_u32 in spgemm_fill_f32_u32: <V = f32, O = u32>, 256 x 1;
        spgemm_hash_fill_f32_u64 in spgemm_fill_f32_u64: <V = f32, O = u64>, 256 x 1;
        spgemm_hash_fill_f64_u32 in spgemm_fill_f64_u32: <V = f64, O = u32>, 256 x 1;
        spgemm_hash_fill_f64_u64 in spgemm_fill_f64_u64: <V = f64, O = u64>, 256 x 1;
    }
}

impl<V: Float, O: Offset> SpgemmHashFill<V, O> {
    #[inline(always)]
    fn fill_rows<const BLOCK: usize>(self, _: Arena) {
        let Self { c_columns, c_values, .. } = self;
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_values };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_values };
        let mut arena =
            Arena::dynamic(hash_shared_bytes(BLOCK as u32, self.lanes_log2, self.table_log2, V::SIZE as u32));
        let group = Group::<BLOCK>::new(self.lanes_log2);
        let (row, is_row) = group.row(self.list, self.listed, self.rows);
        let sums: Shared<V> = group.take(&mut arena, self.table_log2);
        let table = group.table(&mut arena, self.table_log2);
        let c_begin = self.c_row_offsets.load_if(row as usize, is_row);
        let c_len = (self.c_row_offsets.load_if(row as usize + 1, is_row) - c_begin) as u32;
        let (c_columns, c_values) = (c_columns.skip(c_begin as usize), c_values.skip(c_begin as usize));
        group.each_slot(table, |slot| {
            table.clear(slot);
            sums.store(slot as usize, V::ZERO);
        });
        warp::sync(warp::FULL);
        if self.known != 0 {
            group.each(c_len, |place| {
                table.insert(c_columns.load(place as usize));
            });
            warp::sync(warp::FULL);
        }
        group.each_product::<true, _, _>(
            a,
            b,
            a.entries_if(row, is_row),
            |column, left, right, is_product| {
                if is_product {
                    let (slot, is_there) =
                        if self.known != 0 { table.find(column) } else { (table.insert(column).index, true) };
                    if is_there {
                        sums.store(slot as usize, left.fma(right, sums.load(slot as usize)));
                    }
                }
                // The next row of B may add to the same sums.
                warp::sync(warp::FULL);
            },
        );
        if self.known != 0 {
            group.each(c_len, |place| {
                let (slot, _) = table.find(c_columns.load(place as usize));
                c_values.store_streaming(place as usize, sums.load(slot as usize));
            });
            return;
        }
        let columns = group.compact(table, sums);
        group.store_sorted(columns, sums, c_len, c_columns, c_values);
    }
}

/// The lanes that do a row together. All groups of a warp call what has a collective.
#[derive(Clone, Copy)]
struct Group<const BLOCK: usize> {
    lanes: u32,
    lanes_log2: u32,
    lane: u32,
}

impl<const BLOCK: usize> Group<BLOCK> {
    #[inline(always)]
    fn new(lanes_log2: u32) -> Self {
        let lanes = 1 << lanes_log2;
        Self { lanes, lanes_log2, lane: thread::index() & (lanes - 1) }
    }

    /// The group's row of C, and whether it has one.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn row(self, list: Global<u32>, listed: u32, rows: u32) -> (u32, bool) {
        let groups = BLOCK as u32 >> self.lanes_log2;
        let index = thread::block() * groups + (thread::index() >> self.lanes_log2);
        (nth_row(list, listed, index, index < rows), index < rows)
    }

    /// The group's part of an array with `1 << len_log2` elements a group.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take<T: Element>(self, arena: &mut Arena, len_log2: u32) -> Shared<T> {
        let groups = BLOCK >> self.lanes_log2;
        let all: Shared<T> = arena.take(groups << len_log2);
        all.skip((thread::index() as usize >> self.lanes_log2) << len_log2)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn table(self, arena: &mut Arena, len_log2: u32) -> HashTable {
        HashTable::new(self.take(arena, len_log2), len_log2)
    }

    /// Calls `visit` for 0 to `len` − 1, each in one lane.
    #[inline(always)]
    fn each(self, len: u32, mut visit: impl FnMut(u32)) {
        let mut place = self.lane;
        while place < len {
            visit(place);
            place += self.lanes;
        }
    }

    #[inline(always)]
    fn each_slot(self, table: HashTable, visit: impl FnMut(u32)) {
        self.each(table.len(), visit);
    }

    /// Calls `visit` with the column, the value of A and that of B of each product of a row of C, one row of B after the
    /// other, its entries over the lanes; in lanes that have none, with anything and false. `visit` may have a collective
    /// of the warp. Values are loaded only if `VALUES`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn each_product<const VALUES: bool, V: Element, O: Offset>(
        self,
        a: Matrix<V, O>,
        b: Matrix<V, O>,
        own: Entries,
        mut visit: impl FnMut(u32, V, V, bool),
    ) {
        let mut first = 0;
        while warp::any(warp::FULL, first < own.len) {
            let mut left = [V::ZERO; IN_FLIGHT];
            let mut row = [0; IN_FLIGHT];
            let mut entries = [Entries::NONE; IN_FLIGHT];
            let mut column = [0; IN_FLIGHT];
            let mut right = [V::ZERO; IN_FLIGHT];
            for at in 0..IN_FLIGHT {
                let place = first + at as u32;
                row[at] = a.column_if(own, place, place < own.len);
                if VALUES {
                    left[at] = a.value_if(own, place, place < own.len);
                }
            }
            for at in 0..IN_FLIGHT {
                entries[at] = b.entries_if(row[at], first + (at as u32) < own.len);
            }
            for at in 0..IN_FLIGHT {
                column[at] = b.column_if(entries[at], self.lane, self.lane < entries[at].len);
                if VALUES {
                    right[at] = b.value_if(entries[at], self.lane, self.lane < entries[at].len);
                }
            }
            for at in 0..IN_FLIGHT {
                let (mut column, mut right, mut place) = (column[at], right[at], self.lane);
                loop {
                    visit(column, left[at], right, place < entries[at].len);
                    place += self.lanes;
                    let is_product = place < entries[at].len;
                    if !warp::any(warp::FULL, is_product) {
                        break;
                    }
                    column = b.column_if(entries[at], place, is_product);
                    if VALUES {
                        right = b.value_if(entries[at], place, is_product);
                    }
                }
            }
            first += IN_FLIGHT as u32;
        }
    }

    /// Moves the columns of a table, and their sums, to its front. The columns.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn compact<V: Float>(self, table: HashTable, sums: Shared<V>) -> Shared<u32> {
        let columns = table.columns();
        let shift = thread::lane() - self.lane;
        let below = (1 << self.lane) - 1;
        let mut count = 0;
        let mut slot = self.lane;
        while slot < table.len() {
            let (column, is_taken) = table.get(slot);
            let sum = sums.load(slot as usize);
            let mut taken = warp::ballot(warp::FULL, is_taken) >> shift;
            if self.lanes < thread::WARP_SIZE {
                taken &= (1 << self.lanes) - 1;
            }
            let place = (count + (taken & below).count_ones()) as usize;
            // Places are not behind slots: what is overwritten has been read.
            warp::sync(warp::FULL);
            if is_taken {
                columns.store(place, column);
                sums.store(place, sum);
            }
            warp::sync(warp::FULL);
            count += taken.count_ones();
            slot += self.lanes;
        }
        columns
    }

    /// Stores columns and their sums to a row of C, each where as many columns are less.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store_sorted<V: Float>(
        self,
        columns: Shared<u32>,
        sums: Shared<V>,
        len: u32,
        c_columns: GlobalMut<u32>,
        c_values: GlobalMut<V>,
    ) {
        let mut first = self.lane;
        while first < len {
            let mut column = [0; RANKED];
            let mut rank = [0; RANKED];
            for at in 0..RANKED {
                let place = first + at as u32 * self.lanes;
                if place < len {
                    column[at] = columns.load(place as usize);
                }
            }
            let mut other = 0;
            while other < len {
                let less = columns.load(other as usize);
                for at in 0..RANKED {
                    rank[at] += u32::from(less < column[at]);
                }
                other += 1;
            }
            for at in 0..RANKED {
                let place = first + at as u32 * self.lanes;
                if place < len {
                    c_columns.store_streaming(rank[at] as usize, column[at]);
                    c_values.store_streaming(rank[at] as usize, sums.load(place as usize));
                }
            }
            first += RANKED as u32 * self.lanes;
        }
    }
}
