//! Rows of few columns: a group of lanes per row, with a hash table in shared memory.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Element, GlobalMut, Shared};

use super::entries::{Operand, RowEntries};
use super::hash_table::HashTable;
use super::rows::{ResultEntries, ResultRow, RowList};
use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::{GlobalCsr, GlobalPattern, Offset};

/// Entries of A, and then rows of B, that a group has in flight.
const IN_FLIGHT: usize = 4;

/// Columns of C that a lane ranks at a time.
const RANKED: usize = 4;

/// Bytes of shared memory of a block of `block` threads, for values of `value_bytes`; 0 to count entries only.
pub const fn hash_shared_bytes(block: u32, lanes_log2: u32, table_log2: u32, value_bytes: u32) -> u32 {
    ((block >> lanes_log2) << table_log2) * (4 + value_bytes)
}

kernel! {
    /// Counts the entries of rows of C: `1 << lanes_log2` lanes per row.
    pub struct SpgemmHashCount<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalPattern<O>,
        /// The rows.
        pub rows: RowList,
        /// Output: the number of entries of each row.
        pub lengths: GlobalMut<u64>,
        /// log2 of the lanes per row, at most 5.
        pub lanes_log2: u32,
        /// log2 of the slots of a row's table: more slots than a row has products, and at least as many as lanes.
        pub table_log2: u32,
    }
    shared: 0;
    body: SpgemmHashCount::count_rows::<BLOCK>;
    entry: spgemm_hash_count_{O} in spgemm_count: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SpgemmHashCount<O> {
    #[device]
    fn count_rows<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, .. } = self;
        let mut arena = Arena::dynamic(hash_shared_bytes(BLOCK as u32, self.lanes_log2, self.table_log2, 0));
        let group = LaneGroup::<BLOCK>::new(self.lanes_log2);
        let (row, is_row) = group.row(self.rows);
        let table = group.table(&mut arena, self.table_log2);
        group.each_slot(table, |slot| table.clear(slot));
        warp::sync(warp::FULL);
        let mut count = 0;
        group.each_product(a, b, a.entries_if(row, is_row), |column, (), (), is_product| {
            if is_product {
                count += u64::from(table.insert(column).is_new);
            }
        });
        let count = warp::reduce_groups(count, group.lanes, |a, b| a + b);
        if is_row && group.lane == 0 {
            self.lengths.store(row as usize, count);
        }
    }
}

kernel! {
    /// Computes rows of C: `1 << lanes_log2` lanes per row.
    pub struct SpgemmHashFill<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalCsr<V, O>,
        /// C.
        pub c: ResultEntries<V>,
        /// The rows.
        pub rows: RowList,
        /// log2 of the lanes per row, at most 5.
        pub lanes_log2: u32,
        /// log2 of the slots of a row's table: more slots than a row of C has entries, and at least as many as lanes.
        pub table_log2: u32,
    }
    shared: 0;
    body: SpgemmHashFill::fill_rows::<BLOCK>;
    entries: {
        spgemm_hash_fill_{V}_{O} in spgemm_fill_{V}_{O}: V in [f32, f64], O in [u32, u64], 256 x 1;
        spgemm_hash_fill_{V}_{O} in spgemm_fill_{V}_{O}:
            (V, R) in [(Complex<f32> as c32, 0), (Complex<f64> as c64, 3)], O in [u32, u64], 256 x 1 resident R;
        semiring_spgemm_hash_{V}_{O} in semiring_spgemm_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 256 x 1;
        semiring_spgemm_hash_{V}_{O} in semiring_spgemm_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 256 x 1;
        semiring_spgemm_hash_{V}_{O} in semiring_spgemm_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 256 x 1;
        semiring_spgemm_hash_{V}_{O} in semiring_spgemm_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32,
                InPlusPair<u64> as plus_pair_u64, InMinFirst<f32> as min_first_f32,
                InMinFirst<f64> as min_first_f64, InMinFirst<u32> as min_first_u32,
                InMinFirst<u64> as min_first_u64], O in [u32, u64], 256 x 1;
    }
}

impl<V: Arithmetic, O: Offset> SpgemmHashFill<V, O> {
    #[device]
    fn fill_rows<const BLOCK: usize>(self, _: Arena) {
        // 1. Clear the tables and sums of the block's rows.
        let Self { a, b, c, .. } = self;
        let mut arena =
            Arena::dynamic(hash_shared_bytes(BLOCK as u32, self.lanes_log2, self.table_log2, V::SIZE as u32));
        let group = LaneGroup::<BLOCK>::new(self.lanes_log2);
        let (row, is_row) = group.row(self.rows);
        let sums: Shared<V> = group.take(&mut arena, self.table_log2);
        let table = group.table(&mut arena, self.table_log2);
        let c_row = c.pattern.row_if(row, is_row);
        let c_values = c.values.skip(c_row.begin);
        group.each_slot(table, |slot| {
            table.clear(slot);
            sums.store(slot as usize, V::ZERO);
        });
        warp::sync(warp::FULL);
        // 2. Add up the products.
        let is_known = c.pattern.is_known != 0;
        if is_known {
            group.each(c_row.len, |place| {
                table.insert(c_row.columns.load(place as usize));
            });
            warp::sync(warp::FULL);
        }
        let own = a.pattern().entries_if(row, is_row);
        group.each_product(a, b, own, |column, left, right, is_product| {
            if is_product {
                let (slot, is_there) =
                    if is_known { table.find(column) } else { (table.insert(column).index, true) };
                if is_there {
                    sums.store(slot as usize, left.fma(right, sums.load(slot as usize)));
                }
            }
            // The next row of B may add to the same sums.
            warp::sync(warp::FULL);
        });
        // 3. Store the row of C.
        if is_known {
            group.each(c_row.len, |place| {
                let (slot, _) = table.find(c_row.columns.load(place as usize));
                c_values.store_streaming(place as usize, sums.load(slot as usize));
            });
            return;
        }
        let columns = group.compact(table, sums);
        group.store_sorted(columns, sums, c_row, c_values);
    }
}

/// The lanes that compute a row together. All groups of a warp call methods with collectives together.
#[derive(Clone, Copy)]
struct LaneGroup<const BLOCK: usize> {
    lanes: u32,
    lanes_log2: u32,
    lane: u32,
}

impl<const BLOCK: usize> LaneGroup<BLOCK> {
    #[device]
    fn new(lanes_log2: u32) -> Self {
        let lanes = 1 << lanes_log2;
        Self { lanes, lanes_log2, lane: thread::index() & (lanes - 1) }
    }

    /// Returns the group's row of C, and whether it has one.
    #[device(track_caller)]
    fn row(self, rows: RowList) -> (u32, bool) {
        let groups = BLOCK as u32 >> self.lanes_log2;
        let index = thread::block() * groups + (thread::index() >> self.lanes_log2);
        (rows.nth(index, index < rows.len), index < rows.len)
    }

    /// Returns the group's part of an array with `1 << len_log2` elements per group.
    #[device(track_caller)]
    fn take<T: Element>(self, arena: &mut Arena, len_log2: u32) -> Shared<T> {
        let groups = BLOCK >> self.lanes_log2;
        let all: Shared<T> = arena.take(groups << len_log2);
        all.skip((thread::index() as usize >> self.lanes_log2) << len_log2)
    }

    #[device(track_caller)]
    fn table(self, arena: &mut Arena, len_log2: u32) -> HashTable {
        HashTable::new(self.take(arena, len_log2), len_log2)
    }

    /// Calls `visit` for 0 to `len` − 1, each in one lane.
    #[device]
    fn each(self, len: u32, mut visit: impl FnMut(u32)) {
        let mut place = self.lane;
        while place < len {
            visit(place);
            place += self.lanes;
        }
    }

    #[device]
    fn each_slot(self, table: HashTable, visit: impl FnMut(u32)) {
        self.each(table.len(), visit);
    }

    /// Calls `visit` with the column, the value of A and the value of B of each product of a row of C, one row of B after the
    /// other, with its entries distributed over the lanes. Lanes without a product get arbitrary values and false, so that
    /// `visit` can use collectives of the warp.
    #[device(track_caller)]
    fn each_product<M: Operand>(
        self,
        a: M,
        b: M,
        own: RowEntries,
        mut visit: impl FnMut(u32, M::Value, M::Value, bool),
    ) {
        let (a_pattern, b_pattern) = (a.pattern(), b.pattern());
        let mut first = 0;
        while warp::any(warp::FULL, first < own.len) {
            let mut left = [M::ZERO; IN_FLIGHT];
            let mut row = [0; IN_FLIGHT];
            let mut entries = [RowEntries::NONE; IN_FLIGHT];
            let mut column = [0; IN_FLIGHT];
            let mut right = [M::ZERO; IN_FLIGHT];
            for at in 0..IN_FLIGHT {
                let place = first + at as u32;
                row[at] = a_pattern.column_if(own, place, place < own.len);
                left[at] = a.value_if(own, place, place < own.len);
            }
            for at in 0..IN_FLIGHT {
                entries[at] = b_pattern.entries_if(row[at], first + (at as u32) < own.len);
            }
            for at in 0..IN_FLIGHT {
                column[at] = b_pattern.column_if(entries[at], self.lane, self.lane < entries[at].len);
                right[at] = b.value_if(entries[at], self.lane, self.lane < entries[at].len);
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
                    column = b_pattern.column_if(entries[at], place, is_product);
                    right = b.value_if(entries[at], place, is_product);
                }
            }
            first += IN_FLIGHT as u32;
        }
    }

    /// Moves the columns of a table, and their sums, to the front. Returns the columns.
    #[device(track_caller)]
    fn compact<V: Arithmetic>(self, table: HashTable, sums: Shared<V>) -> Shared<u32> {
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
            // Places are not after slots: what is overwritten has been read.
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

    /// Stores columns and their sums to a row of C, each at its place among the columns.
    #[device(track_caller)]
    fn store_sorted<V: Arithmetic>(
        self,
        columns: Shared<u32>,
        sums: Shared<V>,
        c_row: ResultRow,
        c_values: GlobalMut<V>,
    ) {
        let len = c_row.len;
        let mut first = self.lane;
        while first < len {
            let mut column = [0; RANKED];
            let mut position = [0; RANKED];
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
                    position[at] += u32::from(less < column[at]);
                }
                other += 1;
            }
            for at in 0..RANKED {
                let place = first + at as u32 * self.lanes;
                if place < len {
                    c_row.columns.store_streaming(position[at] as usize, column[at]);
                    c_values.store_streaming(position[at] as usize, sums.load(place as usize));
                }
            }
            first += RANKED as u32 * self.lanes;
        }
    }
}
