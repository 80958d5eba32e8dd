//! Sums of sparse matrices.

use std::ffi::c_int;

use evenpath::Csr;

use super::call::{Descriptor, call, describe, factor};
use super::functions::{NOWHERE, Spadd};
use super::version::{Cusparse, Version};
use crate::measure::{Repetitions, times_ms};
use crate::peers::cuda::{Buffer, Runtime};
use crate::peers::{PeerError, PeerRun, PeerTimes, PeerValue};

/// The arrays of a matrix on the GPU.
pub(super) struct Arrays<V> {
    pub(super) nonzeros: c_int,
    pub(super) row_offsets: Buffer<u32>,
    pub(super) column_indices: Buffer<u32>,
    pub(super) values: Buffer<V>,
}

impl<V: PeerValue> Arrays<V> {
    pub(super) fn upload(runtime: Runtime, matrix: &Csr<V>) -> Result<Self, PeerError> {
        Ok(Self {
            nonzeros: count(matrix.nnz())?,
            row_offsets: runtime.upload(matrix.row_offsets())?,
            column_indices: runtime.upload(matrix.column_indices())?,
            values: runtime.upload(matrix.values())?,
        })
    }
}

/// A number of rows, columns or nonzeros, as older functions have it.
pub(super) fn count(number: usize) -> Result<c_int, PeerError> {
    c_int::try_from(number)
        .map_err(|_| PeerError::Unsuitable(format!("{number} is more than 32 bits can count")))
}

/// αA + βB by `csrgeam2`, with operands on the GPU.
///
/// Every call is sound for the same reasons: handle and descriptor are valid, the arrays are those of valid matrices on this
/// GPU, with a row offset of C more than rows, and as many columns and values as counted; the factors are on the host, where
/// the library expects them by default; and the workspace has the requested size.
struct Sum<'v, V: PeerValue> {
    version: &'v Version,
    functions: Spadd,
    rows: c_int,
    cols: c_int,
    factors: Factors<V>,
    a: Arrays<V>,
    b: Arrays<V>,
    description: Descriptor,
    row_offsets: Buffer<u32>,
}

impl Cusparse {
    /// Times `repetitions` runs of αA + βB by every algorithm of every version. Passes each result to `each`, which checks
    /// and drops it.
    pub(in crate::peers) fn measure_spadd<V: PeerValue>(
        &self,
        (alpha, a): (V, &Csr<V>),
        (beta, b): (V, &Csr<V>),
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Csr<V>>),
    ) {
        let factors = Factors { alpha, beta };
        let mut take =
            |version: &Version, algorithm: &str, outcome| each(version.peer(algorithm, "csr", outcome));
        for version in &self.versions {
            take(version, "csrgeam2", version.measure_csrgeam2(factors, (a, b), repetitions));
        }
        for version in &self.versions {
            if let Some(functions) = version.optional.spgeam {
                take(version, "SpGEAM", version.measure_spgeam(functions, factors, (a, b), repetitions));
            }
        }
    }
}

/// α and β.
#[derive(Clone, Copy)]
pub(super) struct Factors<V> {
    pub(super) alpha: V,
    pub(super) beta: V,
}

/// A sum of A and another matrix as the library left it.
pub(super) fn valid_sum<V: PeerValue>(
    a: &Csr<V>,
    row_offsets: &Buffer<u32>,
    columns: &Buffer<u32>,
    values: &Buffer<V>,
) -> Result<Csr<V>, PeerError> {
    Csr::try_new(a.nrows(), a.ncols(), row_offsets.download()?, columns.download()?, values.download()?)
        .map_err(|invalid| PeerError::Unsuitable(format!("the result is not a valid matrix: {invalid}")))
}

impl Version {
    fn measure_csrgeam2<V: PeerValue>(
        &self,
        factors: Factors<V>,
        (a, b): (&Csr<V>, &Csr<V>),
        repetitions: Repetitions,
    ) -> Result<PeerTimes<Csr<V>>, PeerError> {
        let functions = Spadd::find(self.library)?;
        let sum = Sum {
            version: self,
            functions,
            rows: count(a.nrows())?,
            cols: count(a.ncols())?,
            factors,
            a: Arrays::upload(self.runtime, a)?,
            b: Arrays::upload(self.runtime, b)?,
            // SAFETY: the descriptor is written to a valid location.
            description: unsafe {
                describe! { self, functions, cusparseCreateMatDescr(), cusparseDestroyMatDescr }
            }?,
            row_offsets: self.runtime.allocate(a.nrows() + 1)?,
        };
        let workspace_bytes = sum.workspace_bytes()?;
        let workspace = self.runtime.allocate(workspace_bytes)?;
        let nonzeros = sum.count(&workspace)? as usize;
        let (columns, values) = (self.runtime.allocate(nonzeros)?, self.runtime.allocate(nonzeros)?);
        let times = times_ms(&self.runtime, repetitions, || {
            sum.count(&workspace)?;
            sum.fill(&columns, &values, &workspace)
        })?;
        values.fill_with_ones()?;
        let of_values = times_ms(&self.runtime, repetitions, || sum.fill(&columns, &values, &workspace))?;
        let (values, result) = (Some(of_values), valid_sum(a, &sum.row_offsets, &columns, &values)?);
        Ok(PeerTimes { times, values, setup_ms: 0.0, bytes: workspace_bytes as u64, result })
    }
}

/// Calls the function for the type of the values, with columns and values of C and the last argument.
macro_rules! sum {
    ($sum:expr, $single:ident or $double:ident, $columns:expr, $values:expr, $last:expr) => {{
        let Sum { version, functions, rows, cols, factors, a, b, description, row_offsets } = $sum;
        macro_rules! of_type {
            ($function:ident) => {
                call! {
                    version, functions, $function(
                        *rows, *cols,
                        factor(&factors.alpha), description, a.nonzeros, &a.values, &a.row_offsets, &a.column_indices,
                        factor(&factors.beta), description, b.nonzeros, &b.values, &b.row_offsets, &b.column_indices,
                        description, $values, row_offsets, $columns, $last
                    )
                }
            };
        }
        // SAFETY: see `Sum`.
        unsafe { if size_of::<V>() == 4 { of_type!($single) } else { of_type!($double) } }
    }};
}

impl<V: PeerValue> Sum<'_, V> {
    fn workspace_bytes(&self) -> Result<usize, PeerError> {
        let mut bytes = 0;
        sum!(
            self,
            cusparseScsrgeam2_bufferSizeExt or cusparseDcsrgeam2_bufferSizeExt,
            NOWHERE,
            NOWHERE,
            &raw mut bytes
        )?;
        Ok(bytes)
    }

    /// Computes the row offsets of C and returns its number of nonzeros.
    fn count(&self, workspace: &Buffer<u8>) -> Result<c_int, PeerError> {
        let Self { version, functions, rows, cols, a, b, description, row_offsets, .. } = self;
        let mut nonzeros = 0;
        // SAFETY: see `Sum`.
        unsafe {
            call! {
                version, functions, cusparseXcsrgeam2Nnz(
                    *rows, *cols,
                    description, a.nonzeros, &a.row_offsets, &a.column_indices,
                    description, b.nonzeros, &b.row_offsets, &b.column_indices,
                    description, row_offsets, &raw mut nonzeros, workspace
                )
            }
        }?;
        Ok(nonzeros)
    }

    fn fill(
        &self,
        columns: &Buffer<u32>,
        values: &Buffer<V>,
        workspace: &Buffer<u8>,
    ) -> Result<(), PeerError> {
        sum!(self, cusparseScsrgeam2 or cusparseDcsrgeam2, columns, values, workspace)
    }
}
