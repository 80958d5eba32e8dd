use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global};

use super::rows::{FactorRows, NeededRow, OwnRow, AT_ONCE};
use crate::block::waiting::TURN_WORDS;
use crate::triangular::Coefficient;
use crate::unroll::unroll;
use crate::Offset;

kernel! {
    /// Factorizes the lower triangle of a Hermitian matrix incompletely, Cholesky without fill: A ≈ L·Lᴴ (Meijerink, van der Vorst,
    /// 1977). One warp per row.
    pub struct FactorizeCholesky<V: Coefficient, O: Offset> {
        /// The rows of L.
        pub rows: FactorRows<V, O>,
        /// The values of the matrix.
        pub matrix: Global<V>,
        /// The first entry of each row in the matrix.
        pub begins: Global<O>,
        /// Factor of the diagonal of the matrix.
        pub diagonal: V,
    }
    shared: TURN_WORDS * 4;
    body: FactorizeCholesky::factorize::<BLOCK>;
    entries: {
        factorization_cholesky_{V}_{O} in factorization_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
        factorization_cholesky_{V}_{O} in factorization_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1;
    }
}

impl<V: Coefficient, O: Offset> FactorizeCholesky<V, O> {
    #[device]
    fn factorize<const BLOCK: usize>(self, arena: Arena) {
        let Some(own) = self.rows.draw::<BLOCK>(arena) else { return };
        let begin = self.begins.load(own.row).to_usize();
        own.fill(|at| self.matrix.load(begin + at));
        // What is needed of the next rows is loaded before the values of a row are waited for.
        let (mut needed, mut next) = (self.needed(own, 0), self.needed(own, 1));
        let mut column = self.rows.column_of(needed, needed.begin + thread::lane() as usize);
        let mut entry = 0;
        while entry < own.below {
            let after = self.needed(own, entry + 2);
            let next_column = self.rows.column_of(next, next.begin + thread::lane() as usize);
            self.compute(own, entry, needed, column);
            (needed, next, column) = (next, after, next_column);
            entry += 1;
        }
        let mut squares = V::ZERO;
        let mut at = thread::lane() as usize;
        while at < own.below {
            let value = own.value(at);
            squares += value * value.conjugate();
            at += thread::WARP_SIZE as usize;
        }
        let squares = warp::reduce_add(squares);
        if thread::lane() == 0 {
            let pivot = self.diagonal * own.value(own.below) - squares;
            // Not positive for NaN either.
            if !pivot.is_positive() {
                self.rows.note_breakdown(own.row);
            }
            own.set(own.below, pivot.real_root());
        }
        self.rows.store(own, 0);
    }

    /// Finds the row of an entry's column, and its entries below the diagonal. After the last entry below the diagonal there is none.
    #[device]
    fn needed(self, own: OwnRow<V>, entry: usize) -> NeededRow {
        if entry >= own.below {
            return NeededRow::none();
        }
        let (begin, diagonal) = self.rows.bounds(own.column(entry) as usize);
        NeededRow { begin, end: diagonal, diagonal }
    }

    /// Computes an entry below the diagonal: the inner product has every 32nd term in each lane, and then the sums of the lanes. The
    /// lane's first entry of the row of the entry's column has the given column.
    #[device]
    fn compute(self, own: OwnRow<V>, entry: usize, needed: NeededRow, column: u32) {
        let left = (0, entry);
        let at = needed.begin + thread::lane() as usize;
        let meets = [own.meet(needed, at, column, left)];
        let (pivot, values) = self.rows.wait(needed, at, meets);
        let mut product = Self::add(own, V::ZERO, meets, values);
        let mut first = needed.begin + thread::WARP_SIZE as usize;
        while first < needed.end {
            let at = first + thread::lane() as usize;
            let meets = self.rows.meets(own, needed, at, left);
            let (_, values) = self.rows.wait(needed, at, meets);
            product = Self::add(own, product, meets, values);
            first += AT_ONCE * thread::WARP_SIZE as usize;
        }
        let product = warp::reduce_add(product);
        if thread::lane() == 0 {
            own.set(entry, (own.value(entry) - product).divided_by(pivot));
        }
        warp::sync(warp::FULL);
    }

    /// Adds the products of the conjugates of the values and the entries that they meet, in their order.
    #[device]
    fn add<const N: usize>(own: OwnRow<V>, sum: V, meets: [Option<usize>; N], values: [V; N]) -> V {
        let mut sum = sum;
        unroll!(for item in 0..N {
            if let Some(met) = meets[item] {
                sum += values[item].conjugate() * own.value(met);
            }
        });
        sum
    }
}
