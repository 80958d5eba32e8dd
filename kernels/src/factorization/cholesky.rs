use evenpath_simt::{device, kernel, thread, warp, Arena, Float, Global, GlobalMut};

use super::rows::{FactorRows, WarpRow};
use crate::block::waiting::TURN_WORDS;
use crate::Offset;

kernel! {
    /// Factorizes the lower triangle of a symmetric matrix incompletely, Cholesky without fill: A ≈ L·Lᵀ (Meijerink, van der Vorst,
    /// 1977). One warp per row.
    pub struct FactorizeCholesky<V: Float, O: Offset> {
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
    entry: factorization_cholesky_{V}_{O} in factorization_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
}

impl<V: Float, O: Offset> FactorizeCholesky<V, O> {
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
            value * value
        });
        if thread::lane() == 0 {
            let pivot = self.diagonal * self.matrix.load(begin + (own.diagonal - own.begin)) - squares;
            // Not for NaN either.
            let is_positive = pivot > V::ZERO;
            if !is_positive {
                self.rows.note_breakdown(own.row);
            }
            self.factor.store(own.diagonal, pivot.sqrt());
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
                self.factor.load(at) * self.factor.load(found)
            } else {
                V::ZERO
            }
        });
        if thread::lane() == 0 {
            self.factor.store(entry, (value - product) / self.factor.load(diagonal));
        }
        warp::sync(warp::FULL);
    }
}

/// Returns the sum of a term for each entry: every 32nd for each lane, and then those of the lanes.
#[device(track_caller)]
fn sum<V: Float>(begin: usize, end: usize, term: impl Fn(usize) -> V) -> V {
    let mut sum = V::ZERO;
    let mut at = begin + thread::lane() as usize;
    while at < end {
        sum += term(at);
        at += thread::WARP_SIZE as usize;
    }
    warp::reduce_add(sum)
}
