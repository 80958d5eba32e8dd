//! Transposes of sparse matrices.

use std::ffi::c_int;

use evenpath::Csr;

use super::call::call;
use super::functions::{BASE_ZERO, Transpose};
use super::spadd::{Arrays, count};
use super::version::{Cusparse, Version};
use crate::measure::{Repetitions, Times, median, times_ms};
use crate::peers::{PeerError, PeerValue};

/// `CUSPARSE_ACTION_NUMERIC`.
const WITH_VALUES: c_int = 1;
/// `CUSPARSE_CSR2CSC_ALG_DEFAULT`.
const ALGORITHM: c_int = 1;

impl Cusparse {
    /// Times of `csr2csc`, in allocated memory, by the fastest version, and its result.
    ///
    /// # Errors
    ///
    /// If in every version the function is missing or fails, there is not enough memory, or the matrix is too large for it.
    pub(in crate::peers) fn measure_transpose<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        repetitions: Repetitions,
    ) -> Result<(Times, Csr<V>), PeerError> {
        let runs = self.versions.iter().map(|version| version.measure_transpose(matrix, repetitions));
        let rank = |run: &Result<(Times, Csr<V>), PeerError>| {
            run.as_ref().map_or(f64::INFINITY, |(times, _)| median(times))
        };
        let fastest = runs.min_by(|a, b| rank(a).total_cmp(&rank(b)));
        fastest.unwrap_or_else(|| unreachable!("there is at least one version"))
    }
}

impl Version {
    fn measure_transpose<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        repetitions: Repetitions,
    ) -> Result<(Times, Csr<V>), PeerError> {
        let functions = Transpose::find(self.library)?;
        let (rows, cols) = (count(matrix.nrows())?, count(matrix.ncols())?);
        let a = Arrays::upload(self.runtime, matrix)?;
        let row_offsets = self.runtime.allocate::<u32>(matrix.ncols() + 1)?;
        let column_indices = self.runtime.allocate::<u32>(matrix.nnz())?;
        let values = self.runtime.allocate::<V>(matrix.nnz())?;
        // Both functions take the same arguments except for the last: an output for the size, or the workspace.
        macro_rules! transpose {
            ($function:ident, $last:expr) => {
                // SAFETY: the handle is valid, the arrays are those of a valid matrix on this GPU, with equal lengths
                // for its transpose; the last argument is a valid output, or memory of the requested size.
                unsafe {
                    call! {
                        self, functions, $function(
                            rows, cols, a.nonzeros, &a.values, &a.row_offsets, &a.column_indices,
                            &values, &row_offsets, &column_indices,
                            V::CUDA_TYPE, WITH_VALUES, BASE_ZERO, ALGORITHM, $last
                        )
                    }
                }
            };
        }
        let mut bytes = 0;
        transpose!(cusparseCsr2cscEx2_bufferSize, &raw mut bytes)?;
        let workspace = self.runtime.allocate::<u8>(bytes)?;
        let times = times_ms(&self.runtime, repetitions, || transpose!(cusparseCsr2cscEx2, &workspace))?;
        let (offsets, columns) = (row_offsets.download()?, column_indices.download()?);
        let transpose = Csr::try_new(matrix.ncols(), matrix.nrows(), offsets, columns, values.download()?)
            .map_err(|invalid| {
                PeerError::Unsuitable(format!("the transpose is not a valid matrix: {invalid}"))
            })?;
        Ok((times, transpose))
    }
}
