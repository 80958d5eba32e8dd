//! Sums of sparse matrices.

use std::ffi::c_int;
use std::ptr;

use evenpath::Csr;

use super::functions::{Address, Spadd, SumFunction};
use super::version::{Cusparse, Descriptor, Version};
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
        let too_many =
            || PeerError::Unsuitable(format!("{} nonzeros are more than 32 bits can count", matrix.nnz()));
        Ok(Self {
            nonzeros: c_int::try_from(matrix.nnz()).map_err(|_| too_many())?,
            row_offsets: runtime.upload(matrix.row_offsets())?,
            column_indices: runtime.upload(matrix.column_indices())?,
            values: runtime.upload(matrix.values())?,
        })
    }
}

/// αA + βB by `csrgeam2`, with operands on the GPU.
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
            |version: &Version, algorithm: &str, outcome| each(version.run(algorithm, "csr", outcome));
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
        let too_large = |_| PeerError::Unsuitable("more rows or columns than 32 bits can count".into());
        let sum = Sum {
            version: self,
            functions,
            rows: c_int::try_from(a.nrows()).map_err(too_large)?,
            cols: c_int::try_from(a.ncols()).map_err(too_large)?,
            factors,
            a: Arrays::upload(self.runtime, a)?,
            b: Arrays::upload(self.runtime, b)?,
            description: Descriptor::new(
                self,
                "cusparseCreateMatDescr",
                functions.cusparseDestroyMatDescr,
                // SAFETY: the descriptor is written to a valid location.
                |address| unsafe { (functions.cusparseCreateMatDescr)(address) },
            )?,
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

impl<V: PeerValue> Sum<'_, V> {
    fn workspace_bytes(&self) -> Result<usize, PeerError> {
        let function = if V::CUDA_TYPE == f32::CUDA_TYPE {
            self.functions.cusparseScsrgeam2_bufferSizeExt
        } else {
            self.functions.cusparseDcsrgeam2_bufferSizeExt
        };
        let mut bytes = 0_usize;
        let nowhere = (ptr::null_mut(), ptr::null_mut());
        self.call("cusparseXcsrgeam2_bufferSizeExt", function, nowhere, ptr::from_mut(&mut bytes).cast())?;
        Ok(bytes)
    }

    /// Computes the row offsets of C and returns its number of nonzeros.
    fn count(&self, workspace: &Buffer<u8>) -> Result<c_int, PeerError> {
        let Self { version, functions, rows, cols, a, b, description, row_offsets, .. } = self;
        let mut nonzeros = 0;
        // SAFETY: as for the other call; there is one row offset more than rows.
        let code = unsafe {
            (functions.cusparseXcsrgeam2Nnz)(
                version.handle,
                *rows,
                *cols,
                description.address,
                a.nonzeros,
                a.row_offsets.address(),
                a.column_indices.address(),
                description.address,
                b.nonzeros,
                b.row_offsets.address(),
                b.column_indices.address(),
                description.address,
                row_offsets.address(),
                &raw mut nonzeros,
                workspace.address(),
            )
        };
        version.check("cusparseXcsrgeam2Nnz", code)?;
        Ok(nonzeros)
    }

    fn fill(
        &self,
        columns: &Buffer<u32>,
        values: &Buffer<V>,
        workspace: &Buffer<u8>,
    ) -> Result<(), PeerError> {
        let function = if V::CUDA_TYPE == f32::CUDA_TYPE {
            self.functions.cusparseScsrgeam2
        } else {
            self.functions.cusparseDcsrgeam2
        };
        let arrays = (columns.address(), values.address());
        self.call("cusparseXcsrgeam2", function, arrays, workspace.address())
    }

    /// Calls a function with columns and values of C, which the size query ignores, and its last argument.
    fn call(
        &self,
        name: &'static str,
        function: SumFunction,
        (columns, values): (Address, Address),
        last: Address,
    ) -> Result<(), PeerError> {
        let Self { version, rows, cols, factors, a, b, description, row_offsets, .. } = self;
        // SAFETY: handle and descriptors are valid, the arrays are those of valid matrices on this GPU; the factors are on
        // the host, where the library expects them by default; there are as many columns and values as counted; the last
        // argument is an output for the size, or has as many bytes as the library requested.
        let code = unsafe {
            function(
                version.handle,
                *rows,
                *cols,
                ptr::from_ref(&factors.alpha).cast(),
                description.address,
                a.nonzeros,
                a.values.address(),
                a.row_offsets.address(),
                a.column_indices.address(),
                ptr::from_ref(&factors.beta).cast(),
                description.address,
                b.nonzeros,
                b.values.address(),
                b.row_offsets.address(),
                b.column_indices.address(),
                description.address,
                values,
                row_offsets.address(),
                columns,
                last,
            )
        };
        version.check(name, code)
    }
}
