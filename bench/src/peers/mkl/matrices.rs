//! Operations whose results are matrices: sums, products of sparse matrices, and products with dense ones.

use std::ffi::c_int;
use std::ptr;

use evenpath::Csr;

use super::library::{GENERAL, Handle, Matrix, Mkl, check, code};
use crate::measure::{Repetitions, Times, times_ms};
use crate::peers::host::{HostClock, times_and_result};
use crate::peers::{Operation, PeerError, PeerScalar};

/// `SPARSE_LAYOUT_ROW_MAJOR`.
const ROW_MAJOR: c_int = 101;

impl Mkl {
    /// Times of C = AB, and C with sorted columns. Sorting them is not timed: the library leaves them in any order.
    ///
    /// # Errors
    ///
    /// If the library lacks a function, or one fails.
    pub(in crate::peers) fn measure_spgemm<V: PeerScalar>(
        &self,
        a: &Csr<V>,
        b: &Csr<V>,
        repetitions: Repetitions,
    ) -> Result<(Times, Csr<V>), PeerError> {
        let (a, b, multiply) = (self.handle(a)?, self.handle(b)?, self.functions.mkl_sparse_spmm);
        let direct = code(Operation::Direct);
        self.measure_matrix(repetitions, |c| {
            // SAFETY: both matrices exist, and there is room for the handle of C.
            check("mkl_sparse_spmm", unsafe { multiply(direct, a.address, b.address, c) })
        })
    }

    /// Times of C = αA + βB, and C with sorted columns, whose sorting is not timed. The library has no β: B is scaled before.
    ///
    /// # Errors
    ///
    /// Those of [`measure_spgemm`](Self::measure_spgemm).
    pub(in crate::peers) fn measure_spadd<V: PeerScalar>(
        &self,
        (alpha, a): (V, &Csr<V>),
        (beta, b): (V, &Csr<V>),
        repetitions: Repetitions,
    ) -> Result<(Times, Csr<V>), PeerError> {
        let mut b = b.clone();
        b.values_mut().iter_mut().for_each(|value| *value = *value * beta);
        let (a, b, add) = (self.handle(a)?, self.handle(&b)?, self.of_value::<V>()?.add);
        let direct = code(Operation::Direct);
        self.measure_matrix(repetitions, |c| {
            // SAFETY: as for a product.
            check("mkl_sparse_add", unsafe { add(direct, a.address, alpha, b.address, c) })
        })
    }

    /// Times of computing the transpose, and the transpose with sorted columns, whose sorting is not timed.
    ///
    /// # Errors
    ///
    /// Those of [`measure_spgemm`](Self::measure_spgemm).
    pub(in crate::peers) fn measure_transpose<V: PeerScalar>(
        &self,
        a: &Csr<V>,
        repetitions: Repetitions,
    ) -> Result<(Times, Csr<V>), PeerError> {
        let (a, convert) = (self.handle(a)?, self.functions.mkl_sparse_convert_csr);
        self.measure_matrix(repetitions, |transpose| {
            // SAFETY: the matrix exists, and there is room for the handle of its transpose.
            let code = unsafe { convert(a.address, code(Operation::Transposed), transpose) };
            check("mkl_sparse_convert_csr", code)
        })
    }

    /// Times of C = AB for a dense B of this many columns, row by row, and C.
    ///
    /// # Errors
    ///
    /// Those of [`measure_spgemm`](Self::measure_spgemm); if B does not have a row for each column of A.
    pub(in crate::peers) fn measure_spmm<V: PeerScalar>(
        &self,
        a: &Csr<V>,
        b: &[V],
        columns: usize,
        repetitions: Repetitions,
    ) -> Result<(Times, Vec<V>), PeerError> {
        if b.len() != a.ncols() * columns {
            return Err(PeerError::Unsuitable(format!("B has {} elements", b.len())));
        }
        let multiply = self.of_value::<V>()?.mm;
        let mut c = vec![V::zero(); a.nrows() * columns];
        let a = self.handle(a)?;
        // SAFETY: the matrix exists.
        check("mkl_sparse_optimize", unsafe { (self.functions.mkl_sparse_optimize)(a.address) })?;
        let (direct, len) = (code(Operation::Direct), columns as c_int);
        let times = times_ms(&HostClock, repetitions, || {
            let (a, b, c) = (a.address, b.as_ptr(), c.as_mut_ptr());
            // SAFETY: the matrix exists, B has a row of `columns` elements for each of its columns, and C one for each row.
            let code =
                unsafe { multiply(direct, V::ONE, a, GENERAL, ROW_MAJOR, b, len, len, V::zero(), c, len) };
            check("mkl_sparse_mm", code)
        })?;
        self.rest();
        Ok((times, c))
    }

    /// Times of an operation that makes a matrix, its destruction included; and its last result.
    fn measure_matrix<V: PeerScalar>(
        &self,
        repetitions: Repetitions,
        make: impl Fn(*mut Matrix) -> Result<(), PeerError>,
    ) -> Result<(Times, Csr<V>), PeerError> {
        let made = || {
            let mut address = ptr::null_mut();
            make(&raw mut address)?;
            Ok::<_, PeerError>(Handle { mkl: self, address })
        };
        let (times, matrix) = times_and_result(repetitions, made)?;
        let matrix = self.export(&matrix)?;
        self.rest();
        Ok((times, matrix))
    }

    /// A copy of a matrix that the library made, with sorted columns.
    fn export<V: PeerScalar>(&self, matrix: &Handle<'_>) -> Result<Csr<V>, PeerError> {
        // SAFETY: the matrix exists.
        check("mkl_sparse_order", unsafe { (self.functions.mkl_sparse_order)(matrix.address) })?;
        let export = self.of_value::<V>()?.export_csr;
        let (mut base, mut rows, mut cols) = (0, 0, 0);
        let (mut starts, mut ends, mut columns) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let mut values = ptr::null_mut();
        // SAFETY: the matrix exists, and all outputs are valid locations.
        let code = unsafe {
            export(
                matrix.address,
                &raw mut base,
                &raw mut rows,
                &raw mut cols,
                &raw mut starts,
                &raw mut ends,
                &raw mut columns,
                &raw mut values,
            )
        };
        check("mkl_sparse_export_csr", code)?;
        let (rows, cols) = (rows as usize, cols as usize);
        let mut offsets = vec![0_u32; rows + 1];
        let (mut all_columns, mut all_values) = (Vec::new(), Vec::new());
        for row in 0..rows {
            // SAFETY: there are a start and an end for each row, and columns and values between them.
            unsafe {
                let (start, end) = ((*starts.add(row) - base) as usize, (*ends.add(row) - base) as usize);
                for place in start..end {
                    all_columns.push((*columns.add(place) - base) as u32);
                    all_values.push(*values.add(place));
                }
            }
            offsets[row + 1] = all_columns.len() as u32;
        }
        Csr::try_new(rows, cols, offsets, all_columns, all_values)
            .map_err(|error| PeerError::Unsuitable(error.to_string()))
    }
}
