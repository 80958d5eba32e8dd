use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut};

use super::rows::{FactorRows, WarpRow};
use crate::block::waiting::TURN_WORDS;
use crate::triangular::Coefficient;
use crate::Offset;

kernel! {
    /// Factorizes the lower triangle of a Hermitian matrix incompletely, Cholesky without fill: A ≈ L·Lᴴ (Meijerink, van der Vorst,
    /// 1977). One warp per row.
    pub struct FactorizeCholesky<V: Coefficient, O: Offset> {
        /// The rows of L.
        pub rows: FactorRows<O>,
        /// The values of the matrix.
        pub matrix: Global<V>,
        /// The first entry of each row in the matrix.
        pub begins: Global<O>,
        /// Output: the values of L.
        pub factor: GlobalMut<V>,
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
    fn factorize<const BLOCK: usize>(self, mut arena: Arena) {
        let Some(own) = self.rows.draw::<BLOCK>(arena.take(TURN_WORDS)) else { return };
        let begin = self.begins.load(own.row).to_usize();
        let mut entry = own.begin;
        while entry < own.diagonal {
            let value = self.matrix.load(begin + (entry - own.begin));
            self.compute(own, entry, value);
            entry += 1;
        }
        let squares = sum(own.begin, own.diagonal, |at| {
            let value = self.factor.load(at);
            value * value.conjugate()
        });
        if thread::lane() == 0 {
            let pivot = self.diagonal * self.matrix.load(begin + (own.diagonal - own.begin)) - squares;
            // Not positive for NaN either.
            if !pivot.is_positive() {
                self.rows.note_breakdown(own.row);
            }
            self.factor.store(own.diagonal, pivot.real_root());
        }
        self.rows.complete(own);
    }

    /// Computes an entry below the diagonal, where the matrix has `value`.
    #[device]
    fn compute(self, own: WarpRow, entry: usize, value: V) {
        let row = self.rows.column(entry);
        self.rows.wait(row, own);
        let (begin, diagonal) = self.rows.bounds(row as usize);
        let product = sum(begin, diagonal, |at| {
            let found = self.rows.find(self.rows.column(at), own.begin, entry);
            if found < entry {
                self.factor.load(at).conjugate() * self.factor.load(found)
            } else {
                V::ZERO
            }
        });
        if thread::lane() == 0 {
            self.factor.store(entry, (value - product).divided_by(self.factor.load(diagonal)));
        }
        warp::sync(warp::FULL);
    }
}

/// Returns the sum of a term for each entry: every 32nd for each lane, and then those of the lanes.
#[device(track_caller)]
fn sum<V: Coefficient>(begin: usize, end: usize, term: impl Fn(usize) -> V) -> V {
    let mut sum = V::ZERO;
    let mut at = begin + thread::lane() as usize;
    while at < end {
        sum += term(at);
        at += thread::WARP_SIZE as usize;
    }
    warp::reduce_add(sum)
}
