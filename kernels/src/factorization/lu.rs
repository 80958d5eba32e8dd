use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Global};

use super::rows::{shared_bytes, FactorRows, NeededRow, OwnRow};
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
        factorization_lu_{V}_{O} in factorization_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
        factorization_lu_{V}_{O} in factorization_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1 resident 6;
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
        self.rows.for_each_needed(
            own,
            |entry| self.needed(own, entry),
            |entry, needed| self.eliminate(own, entry, needed),
        );
        if thread::lane() == 0 && own.value(own.below) == V::ZERO {
            self.rows.note_breakdown(own.row);
        }
        self.rows.store(own, own.below);
    }

    /// Finds the row of an entry's column, and where it meets the warp's.
    #[device]
    fn needed(self, own: OwnRow<V>, entry: usize) -> NeededRow {
        let row = own.column(entry) as usize;
        let ((_, diagonal), end) = (self.rows.bounds(row), self.rows.end(row));
        let begin = diagonal + 1;
        let meets = self.rows.meet(begin + thread::lane() as usize, end, own, (entry + 1, own.len));
        NeededRow { begin, end, diagonal, meets }
    }

    /// Subtracts a multiple of the row of an entry's column, so that the entry would become zero; the multiple takes its place.
    #[device]
    fn eliminate(self, own: OwnRow<V>, entry: usize, needed: NeededRow) {
        let mut meets = needed.meets;
        let mut at = needed.begin + thread::lane() as usize;
        let (pivot, mut value) = self.rows.wait(needed, at, meets);
        let factor = own.value(entry).divided_by(pivot);
        // All lanes have loaded the entry before one of them stores it.
        warp::sync(warp::FULL);
        if thread::lane() == 0 {
            own.set(entry, factor);
        }
        let mut first = needed.begin;
        loop {
            if let Some(met) = meets {
                own.set(met, own.value(met) - factor * value);
            }
            first += thread::WARP_SIZE as usize;
            if first >= needed.end {
                break;
            }
            at += thread::WARP_SIZE as usize;
            meets = self.rows.meet(at, needed.end, own, (entry + 1, own.len));
            (_, value) = self.rows.wait(needed, at, meets);
        }
        warp::sync(warp::FULL);
    }
}
