use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global};

use super::rows::{shared_bytes, FactorRows, Meeting, NeededRow, OwnRow};
use crate::triangular::Coefficient;
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
    shared: shared_bytes::<V>(BLOCK);
    body: FactorizeCholesky::factorize::<BLOCK>;
    entries: {
        factorization_cholesky_{V}_{O} in factorization_{V}: V in [f32, f64], O in [u32, u64], 128 x 1 resident 5;
        factorization_cholesky_{V}_{O} in factorization_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1 resident 4;
    }
}

impl<V: Coefficient, O: Offset> FactorizeCholesky<V, O> {
    #[device]
    fn factorize<const BLOCK: usize>(self, arena: Arena) {
        let Some(own) = self.rows.draw::<BLOCK>(arena) else { return };
        let begin = self.begins.load(own.row).to_usize();
        own.fill(|at| self.matrix.load(begin + at));
        let bounds = |row| {
            let (begin, diagonal) = self.rows.bounds(row);
            NeededRow { begin, end: diagonal, diagonal }
        };
        self.rows.for_each_needed(
            own,
            bounds,
            |entry| (0, entry),
            |entry, needed| {
                self.compute(own, entry, needed);
            },
        );
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

    /// Computes an entry below the diagonal: the inner product has every 32nd term in each lane, and then the sums of the lanes.
    #[device]
    fn compute(self, own: OwnRow<V>, entry: usize, mut needed: Meeting<V>) {
        let (pivot, mut value) = self.rows.wait(&mut needed);
        let mut product = V::ZERO;
        loop {
            product += needed.met.map_or(V::ZERO, |met| value.conjugate() * own.value(met));
            let Some(following) = self.rows.following(own, needed, (0, entry)) else { break };
            needed = following;
            (_, value) = self.rows.wait(&mut needed);
        }
        let product = warp::reduce_add(product);
        if thread::lane() == 0 {
            own.set(entry, (own.value(entry) - product).divided_by(pivot));
        }
        warp::sync(warp::FULL);
    }
}
