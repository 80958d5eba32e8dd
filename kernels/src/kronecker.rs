//! Kronecker products: an entry for every entry of A and every entry of B.
//!
//! For A of m rows and B of p rows, row `i` of A and row `k` of B give row `i * p + k` of the product. Its offset is known from those of A
//! and B, so nothing is counted.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, parameters, thread, Arena, Element, Global, GlobalMut, Shared, Stored};

use crate::spmv::PathTile;
use crate::{GlobalCsr, GlobalPattern, Offset};

parameters! {
    /// Row offsets of both factors.
    pub struct KroneckerOffsets<O: Offset> {
        /// Row offsets of A.
        pub a_offsets: Global<O>,
        /// Row offsets of B.
        pub b_offsets: Global<O>,
        /// Nonzeros of B.
        pub b_nonzeros: u64,
        /// Rows of B.
        pub b_rows: u32,
    }
}

/// A row of the product: its row of A, its row of B, and its first nonzero.
#[derive(Clone, Copy)]
struct ProductRow {
    a_begin: u64,
    b_begin: u64,
    b_len: u64,
    begin: u64,
}

impl<O: Offset> KroneckerOffsets<O> {
    /// Returns the rows of A and of B for a row of the product.
    #[device]
    fn rows(self, row: u32) -> (u32, u32) {
        (row / self.b_rows, row % self.b_rows)
    }

    #[device(track_caller)]
    fn row(self, (a_row, b_row): (u32, u32)) -> ProductRow {
        let (a_row, b_row) = (a_row as usize, b_row as usize);
        let (a_begin, a_end) =
            (self.a_offsets.load(a_row).to_bits(), self.a_offsets.load(a_row + 1).to_bits());
        let (b_begin, b_end) =
            (self.b_offsets.load(b_row).to_bits(), self.b_offsets.load(b_row + 1).to_bits());
        let begin = a_begin * self.b_nonzeros + (a_end - a_begin) * b_begin;
        ProductRow { a_begin, b_begin, b_len: b_end - b_begin, begin }
    }
}

kernel! {
    /// Finds the row offsets of a Kronecker product: one thread per row, and one for the end.
    pub struct KroneckerRows<O: Offset> {
        /// The factors.
        pub factors: KroneckerOffsets<O>,
        /// Output: row offsets, `rows` + 1.
        pub row_offsets: GlobalMut<O>,
        /// Rows of the product.
        pub rows: u32,
        /// Its nonzeros.
        pub nonzeros: u64,
    }
    shared: 0;
    body: KroneckerRows::kronecker_rows::<BLOCK>;
    entry: kronecker_rows_{O} in kronecker: O in [u32, u64], 256 x 1;
}

impl<O: Offset> KroneckerRows<O> {
    #[device]
    fn kronecker_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.rows as usize {
            let offset = self.factors.row(self.factors.rows(row as u32)).begin;
            self.row_offsets.store(row, O::from_bits(offset));
        } else if row == self.rows as usize {
            self.row_offsets.store(row, O::from_bits(self.nonzeros));
        }
    }
}

kernel! {
    /// Writes the entries of a Kronecker product: one block per tile of its row ends plus nonzeros.
    pub struct KroneckerEntries<S: Stored, O: Offset> {
        /// Row offsets of the factors.
        pub factors: KroneckerOffsets<O>,
        /// A.
        pub a: GlobalCsr<S, O>,
        /// B.
        pub b: GlobalCsr<S, O>,
        /// Columns of B.
        pub b_cols: u32,
        /// The product; its column indices are not read.
        pub product: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Output: column indices.
        pub columns: GlobalMut<u32>,
        /// Output: values.
        pub values: GlobalMut<S>,
    }
    shared: BLOCK * ITEMS * u64::SIZE;
    body: KroneckerEntries::kronecker_entries::<BLOCK, ITEMS>;
    entries: {
        kronecker_entries_{S}_{O} in kronecker: S in [f32, f64, f16, bf16], O in [u32, u64], 256 x 8;
        kronecker_entries_{S}_{O} in kronecker_complex:
            S in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 8;
    }
}

impl<S: Stored, O: Offset> KroneckerEntries<S, O> {
    #[device]
    fn kronecker_entries<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let product = self.product;
        // The rows of A and B that each entry is of.
        let rows: Shared<u64> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, product);
        tile.spread::<u64, O, BLOCK>(product.row_offsets, rows, |row| {
            let (a_row, b_row) = self.factors.rows(row as u32);
            u64::from(a_row) << 32 | u64::from(b_row)
        });
        thread::barrier();
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let index = tile.first_nonzero + place as usize;
                let of_both = rows.load(place as usize);
                let row = self.factors.row(((of_both >> 32) as u32, of_both as u32));
                let (quotient, remainder) = divide(index as u64 - row.begin, row.b_len);
                let (in_a, in_b) = ((row.a_begin + quotient) as usize, (row.b_begin + remainder) as usize);
                let column =
                    self.a.column_indices.load(in_a) * self.b_cols + self.b.column_indices.load(in_b);
                let value = self.a.values.load(in_a).widen() * self.b.values.load(in_b).widen();
                self.columns.store(index, column);
                self.values.store(index, S::narrow(value));
            }
        }
    }
}

/// Returns the quotient and the remainder; in 32 bits if both numbers fit, which takes much less time.
#[device]
fn divide(number: u64, divisor: u64) -> (u64, u64) {
    if (number | divisor) >> 32 == 0 {
        let (number, divisor) = (number as u32, divisor as u32);
        (u64::from(number / divisor), u64::from(number % divisor))
    } else {
        (number / divisor, number % divisor)
    }
}
