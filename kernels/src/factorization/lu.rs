use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global};

use super::rows::{shared_bytes, FactorRows, Meeting, NeededRow, OwnRow};
use crate::triangular::Coefficient;
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
    shared: shared_bytes::<V>(BLOCK);
    body: FactorizeLu::factorize::<BLOCK>;
    entries: {
        factorization_lu_{V}_{O} in factorization_{V}: V in [f32, f64], O in [u32, u64], 128 x 1 resident 5;
        factorization_lu_{V}_{O} in factorization_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1 resident 4;
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
        let bounds = |row| {
            let (_, diagonal) = self.rows.bounds(row);
            NeededRow { begin: diagonal + 1, end: self.rows.end(row), diagonal }
        };
        let range = |entry| (entry + 1, own.len);
        self.rows.for_each_needed(own, bounds, range, |entry, needed| self.eliminate(own, entry, needed));
        if thread::lane() == 0 && own.value(own.below) == V::ZERO {
            self.rows.note_breakdown(own.row);
        }
        self.rows.store(own, own.below);
    }

    /// Subtracts a multiple of the row of an entry's column, so that the entry would become zero; the multiple takes its place.
    #[device]
    fn eliminate(self, own: OwnRow<V>, entry: usize, mut needed: Meeting<V>) {
        let (pivot, mut value) = self.rows.wait(&mut needed);
        let factor = own.value(entry).divided_by(pivot);
        // All lanes have loaded the entry before one of them stores it.
        warp::sync(warp::FULL);
        if thread::lane() == 0 {
            own.set(entry, factor);
        }
        loop {
            if let Some(met) = needed.met {
                own.set(met, own.value(met) - factor * value);
            }
            let Some(following) = self.rows.following(own, needed, (entry + 1, own.len)) else { break };
            needed = following;
            (_, value) = self.rows.wait(&mut needed);
        }
        warp::sync(warp::FULL);
    }
}
