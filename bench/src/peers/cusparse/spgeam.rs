//! Sums of sparse matrices by `SpGEAM`, the generic successor of `csrgeam2`.

use std::ffi::c_int;

use evenpath::Csr;

use super::call::{Descriptor, call, describe, factor};
use super::formats::{Format, Formats};
use super::functions::{DIRECT, Spgeam};
use super::spadd::{Factors, valid_sum};
use super::version::Version;
use crate::measure::{Repetitions, times_ms};
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerTimes, PeerValue};

/// `CUSPARSE_SPGEAM_ALG1`.
const ALGORITHM: c_int = 1;

/// αA + βB, with operands on the GPU and memory for the result.
struct Sum<'v, V: PeerValue> {
    version: &'v Version,
    functions: Spgeam,
    factors: Factors<V>,
    a: Formats<V>,
    b: Formats<V>,
    row_offsets: Buffer<u32>,
}

impl Version {
    /// Times `repetitions` runs of αA + βB by `SpGEAM`.
    pub(super) fn measure_spgeam<V: PeerValue>(
        &self,
        functions: Spgeam,
        factors: Factors<V>,
        (a, b): (&Csr<V>, &Csr<V>),
        repetitions: Repetitions,
    ) -> Result<PeerTimes<Csr<V>>, PeerError> {
        let runtime = self.runtime;
        let sum = Sum {
            version: self,
            functions,
            factors,
            a: Formats::upload(runtime, a)?,
            b: Formats::upload(runtime, b)?,
            row_offsets: runtime.allocate(a.nrows() + 1)?,
        };
        let call = sum.call()?;
        let workspace_bytes = call.workspace_bytes()?;
        let workspace = runtime.allocate(workspace_bytes)?;
        let nonzeros = call.count(&workspace)?;
        drop(call);
        let (columns, values) = (runtime.allocate(nonzeros)?, runtime.allocate(nonzeros)?);
        // Its descriptors remember the pattern, so that each run has new ones.
        let mut last = None;
        let times = times_ms(&runtime, repetitions, || {
            let call = sum.call()?;
            call.workspace_bytes()?;
            call.count(&workspace)?;
            call.fill(&columns, &values, &workspace)?;
            last = Some(call);
            Ok::<_, PeerError>(())
        })?;
        let Some(call) = last else { unreachable!("there is at least one run") };
        values.fill_with_ones()?;
        let of_values = times_ms(&runtime, repetitions, || call.fill(&columns, &values, &workspace))?;
        let (values, result) = (Some(of_values), valid_sum(a, &sum.row_offsets, &columns, &values)?);
        Ok(PeerTimes { times, values, setup_ms: 0.0, bytes: workspace_bytes as u64, result })
    }
}

impl<V: PeerValue> Sum<'_, V> {
    fn call(&self) -> Result<Call<'_, V>, PeerError> {
        let Self { version, functions, a, b, row_offsets, .. } = self;
        // SAFETY: the descriptor is written to a valid location.
        let description = unsafe {
            describe! { version, functions, cusparseSpGEAM_createDescr(), cusparseSpGEAM_destroyDescr }
        }?;
        Ok(Call {
            sum: self,
            a: a.describe(version, Format::Csr)?,
            b: b.describe(version, Format::Csr)?,
            c: version.describe_result::<V>((a.rows, a.cols), row_offsets)?,
            description,
        })
    }
}

/// The descriptors of one sum.
///
/// Every call is sound for the same reasons: handle and descriptors are valid, of matrices on this GPU with equal sizes; the
/// factors are on the host, where the library expects them by default; and the workspace has the requested size.
struct Call<'s, V: PeerValue> {
    sum: &'s Sum<'s, V>,
    a: Descriptor,
    b: Descriptor,
    c: Descriptor,
    description: Descriptor,
}

/// Calls a function with the arguments that all share, and its last.
macro_rules! sum {
    ($call:expr, $function:ident, $last:expr) => {{
        let Call { sum: Sum { version, functions, factors, .. }, a, b, c, description } = $call;
        let (alpha, beta) = (factor(&factors.alpha), factor(&factors.beta));
        // SAFETY: see `Call`.
        unsafe {
            call! {
                version, functions, $function(
                    DIRECT, DIRECT, alpha, a, beta, b, c, V::CUDA_TYPE, ALGORITHM, description, $last
                )
            }
        }
    }};
}

impl<V: PeerValue> Call<'_, V> {
    fn workspace_bytes(&self) -> Result<usize, PeerError> {
        let mut bytes = 0;
        sum!(self, cusparseSpGEAM_bufferSize, &raw mut bytes)?;
        Ok(bytes)
    }

    /// Computes the row offsets of C and returns its number of nonzeros.
    fn count(&self, workspace: &Buffer<u8>) -> Result<usize, PeerError> {
        sum!(self, cusparseSpGEAM_nnz, workspace)?;
        self.sum.version.count_nonzeros(&self.c)
    }

    /// Computes columns and values, of which there are as many as counted.
    fn fill(
        &self,
        columns: &Buffer<u32>,
        values: &Buffer<V>,
        workspace: &Buffer<u8>,
    ) -> Result<(), PeerError> {
        self.sum.version.set_arrays(&self.c, (&self.sum.row_offsets, columns, values))?;
        sum!(self, cusparseSpGEAM, workspace)
    }
}
