use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut};

use super::rows::{FactorRows, WarpRow};
use crate::block::waiting::TURN_WORDS;
use crate::triangular::Coefficient;
use crate::Offset;

kernel! {
    /// Factorizes a matrix incompletely, LU without fill: in each row, the entries below the diagonal are those of L, whose diagonal
    /// is 1, and the others those of U (Saad, *Iterative Methods for Sparse Linear Systems*, 2003, section 10.3.2). One warp per row.
    pub struct FactorizeLu<V: Coefficient, O: Offset> {
        /// The rows.
        pub rows: FactorRows<O>,
        /// The values of the matrix.
        pub matrix: Global<V>,
        /// Output: the values of the factors.
        pub factors: GlobalMut<V>,
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
    fn factorize<const BLOCK: usize>(self, mut arena: Arena) {
        let Some(own) = self.rows.draw::<BLOCK>(arena.take(TURN_WORDS)) else { return };
        let mut at = own.begin + thread::lane() as usize;
        while at < own.end {
            let value = self.matrix.load(at);
            self.factors.store(at, if at == own.diagonal { value * self.diagonal } else { value });
            at += thread::WARP_SIZE as usize;
        }
        warp::sync(warp::FULL);
        let mut entry = own.begin;
        while entry < own.diagonal {
            self.eliminate(own, entry);
            entry += 1;
        }
        if thread::lane() == 0 && self.factors.load(own.diagonal) == V::ZERO {
            self.rows.note_breakdown(own.row);
        }
        self.rows.complete(own);
    }

    /// Subtracts a multiple of the row of an entry's column, so that the entry would become zero; the multiple takes its place.
    #[device]
    fn eliminate(self, own: WarpRow, entry: usize) {
        let row = self.rows.column(entry);
        self.rows.wait(row, own);
        let (_, diagonal) = self.rows.bounds(row as usize);
        let end = self.rows.pattern.row_offsets.load(row as usize + 1).to_usize();
        let factor = self.factors.load(entry).divided_by(self.factors.load(diagonal));
        // All lanes have loaded the entry before one of them stores it.
        warp::sync(warp::FULL);
        if thread::lane() == 0 {
            self.factors.store(entry, factor);
        }
        let mut at = diagonal + 1 + thread::lane() as usize;
        while at < end {
            let found = self.rows.find(self.rows.column(at), entry + 1, own.end);
            if found < own.end {
                self.factors.store(found, self.factors.load(found) - factor * self.factors.load(at));
            }
            at += thread::WARP_SIZE as usize;
        }
        warp::sync(warp::FULL);
    }
}
