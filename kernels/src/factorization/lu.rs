use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global};

use super::rows::{FactorRows, NeededRow, OwnRow, AT_ONCE};
use crate::block::waiting::TURN_WORDS;
use crate::triangular::Coefficient;
use crate::unroll::unroll;
use crate::Offset;

kernel! {
    /// Factorizes a matrix incompletely, LU without fill: in each row, the entries below the diagonal are those of L, whose diagonal
    /// is 1, and the others those of U (Saad, *Iterative Methods for Sparse Linear Systems*, 2003, section 10.3.2). One warp per row.
    pub struct FactorizeLu<V: Coefficient, O: Offset> {
        /// The rows.
        pub rows: FactorRows<V, O>,
        /// The values of the matrix.
        pub matrix: Global<V>,
        /// Factor of the diagonal of the matrix.
        pub diagonal: V,
    }
    shared: TURN_WORDS * 4;
    body: FactorizeLu::factorize::<BLOCK>;
    entries: {
        factorization_lu_{V}_{O} in factorization_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
        factorization_lu_{V}_{O} in factorization_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1;
    }
}

impl<V: Coefficient, O: Offset> FactorizeLu<V, O> {
    #[device]
    fn factorize<const BLOCK: usize>(self, arena: Arena) {
        let Some(own) = self.rows.draw::<BLOCK>(arena) else { return };
        own.fill(|at| {
            let value = self.matrix.load(own.begin + at);
            if at == own.below {
                value * self.diagonal
            } else {
                value
            }
        });
        // What is needed of the next rows is loaded before the values of a row are waited for.
        let (mut needed, mut next) = (self.needed(own, 0), self.needed(own, 1));
        let mut column = self.rows.column_of(needed, needed.begin + thread::lane() as usize);
        let mut entry = 0;
        while entry < own.below {
            let after = self.needed(own, entry + 2);
            let next_column = self.rows.column_of(next, next.begin + thread::lane() as usize);
            self.eliminate(own, entry, needed, column);
            (needed, next, column) = (next, after, next_column);
            entry += 1;
        }
        if thread::lane() == 0 && own.value(own.below) == V::ZERO {
            self.rows.note_breakdown(own.row);
        }
        self.rows.store(own, own.below);
    }

    /// Finds the row of an entry's column, and its entries above the diagonal. After the last entry below the diagonal there is none.
    #[device]
    fn needed(self, own: OwnRow<V>, entry: usize) -> NeededRow {
        if entry >= own.below {
            return NeededRow::none();
        }
        let row = own.column(entry) as usize;
        let (_, diagonal) = self.rows.bounds(row);
        NeededRow { begin: diagonal + 1, end: self.rows.end(row), diagonal }
    }

    /// Subtracts a multiple of the row of an entry's column, so that the entry would become zero; the multiple takes its place. The lane's
    /// first entry of that row has the given column.
    #[device]
    fn eliminate(self, own: OwnRow<V>, entry: usize, needed: NeededRow, column: u32) {
        let right = (entry + 1, own.len);
        let at = needed.begin + thread::lane() as usize;
        let meets = [own.meet(needed, at, column, right)];
        let (pivot, values) = self.rows.wait(needed, at, meets);
        let factor = own.value(entry).divided_by(pivot);
        // All lanes have loaded the entry before one of them stores it.
        warp::sync(warp::FULL);
        if thread::lane() == 0 {
            own.set(entry, factor);
        }
        Self::subtract(own, factor, meets, values);
        let mut first = needed.begin + thread::WARP_SIZE as usize;
        while first < needed.end {
            let at = first + thread::lane() as usize;
            let meets = self.rows.meets(own, needed, at, right);
            let (_, values) = self.rows.wait(needed, at, meets);
            Self::subtract(own, factor, meets, values);
            first += AT_ONCE * thread::WARP_SIZE as usize;
        }
        warp::sync(warp::FULL);
    }

    /// Subtracts a multiple of the values from the entries that they meet.
    #[device]
    fn subtract<const N: usize>(own: OwnRow<V>, factor: V, meets: [Option<usize>; N], values: [V; N]) {
        unroll!(for item in 0..N {
            if let Some(met) = meets[item] {
                own.set(met, own.value(met) - factor * values[item]);
            }
        });
    }
}
