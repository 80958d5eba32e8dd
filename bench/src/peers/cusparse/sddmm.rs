//! Product of dense matrices at the nonzeros of a sparse one.

use std::ffi::c_int;

use evenpath::{Csr, Layout};

use super::call::{Descriptor, call, factor};
use super::formats::{Format, Formats};
use super::functions::{DIRECT, Sddmm};
use super::version::{Cusparse, Version};
use crate::measure::{Clock, Repetitions, times_ms};
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerRun, PeerTimes, PeerValue};

/// The only algorithm, `CUSPARSE_SDDMM_ALG_DEFAULT`.
const ALGORITHM: c_int = 0;

/// AB at the nonzeros of a matrix on the GPU, ready to be measured.
pub(in crate::peers) struct SddmmProblem<'l, V: PeerValue> {
    library: &'l Cusparse,
    c: Formats<V>,
    a: Buffer<V>,
    b: Buffer<V>,
    /// Columns of A and rows of B.
    inner: usize,
    /// The layout of B. A is stored by rows.
    layout: Layout,
}

impl Cusparse {
    /// Copies a problem to the GPU: a matrix with the pattern of C, A by rows, and B in the given layout.
    ///
    /// # Errors
    ///
    /// If there is not enough memory, or the matrix has more nonzeros than 32 bits can count.
    pub(in crate::peers) fn sddmm_problem<V: PeerValue>(
        &self,
        c: &Csr<V>,
        (a, b): (&[V], &[V]),
        inner: usize,
        layout: Layout,
    ) -> Result<SddmmProblem<'_, V>, PeerError> {
        let expected = (c.nrows() * inner, c.ncols() * inner);
        if (a.len(), b.len()) != expected {
            let lengths = format!("A and B have {} and {} elements, not {expected:?}", a.len(), b.len());
            return Err(PeerError::Unsuitable(lengths));
        }
        let c = Formats::upload(self.runtime, c)?;
        let (a, b) = (self.runtime.upload(a)?, self.runtime.upload(b)?);
        Ok(SddmmProblem { library: self, c, a, b, inner, layout })
    }
}

impl<V: PeerValue> SddmmProblem<'_, V> {
    /// Times every version with and without preprocessing, `repetitions` runs each.
    pub(in crate::peers) fn measure(&self, repetitions: Repetitions, mut each: impl FnMut(PeerRun<Vec<V>>)) {
        for version in &self.library.versions {
            for (name, preprocess) in [("ALG_DEFAULT", false), ("ALG_DEFAULT + preprocess", true)] {
                let outcome = self.measure_version(version, preprocess, repetitions);
                each(version.peer(&format!("{name}, {}", self.layout), Format::Csr.name(), outcome));
            }
        }
    }

    fn measure_version(
        &self,
        version: &Version,
        preprocess: bool,
        repetitions: Repetitions,
    ) -> Result<PeerTimes<Vec<V>>, PeerError> {
        let Self { c, a, b, inner, layout, .. } = self;
        let functions = Sddmm::find(version.library)?;
        let runtime = &version.runtime;
        let a = version.dense((c.rows, *inner), Layout::RowMajor, a)?;
        let b = version.dense((*inner, c.cols), *layout, b)?;
        let mut setup_ms = 0.0;
        let mut prepared = None;
        // Each descriptor is preprocessed again, like those of SpMM, and the first time loads code.
        for _ in 0..if preprocess { 2 } else { 1 } {
            let call = Call { version, functions, a: &a, b: &b, c: c.describe(version, Format::Csr)? };
            let buffer = runtime.allocate::<u8>(call.buffer_bytes::<V>()?)?;
            if preprocess {
                runtime.synchronize()?;
                let start = runtime.record()?;
                call.preprocess::<V>(&buffer)?;
                setup_ms = runtime.elapsed_ms(&start, &runtime.record()?)?;
            }
            prepared = Some((call, buffer));
        }
        c.values().fill_with_ones()?;
        let Some((call, buffer)) = prepared else { unreachable!("at least once") };
        let times = times_ms(runtime, repetitions, || call.run::<V>(&buffer))?;
        let bytes = call.buffer_bytes::<V>()? as u64;
        Ok(PeerTimes { times, values: None, setup_ms, bytes, result: c.values().download()? })
    }
}

/// The arguments that the three functions share.
struct Call<'p> {
    version: &'p Version,
    functions: Sddmm,
    a: &'p Descriptor,
    b: &'p Descriptor,
    c: Descriptor,
}

/// Calls a function with the arguments that all share, and its last: an output for the size, or a buffer.
macro_rules! product {
    ($call:expr, $value:ident, $function:ident, $last:expr) => {{
        let Call { version, functions, a, b, c } = $call;
        let (one, zero) = ($value::ONE, $value::ZERO);
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the factors are on the
        // host, where the library expects them by default; and the buffer has the requested size.
        unsafe {
            call! {
                version, functions, $function(
                    DIRECT, DIRECT, factor(&one), *a, *b, factor(&zero), c, $value::CUDA_TYPE, ALGORITHM, $last
                )
            }
        }
    }};
}

impl Call<'_> {
    fn buffer_bytes<V: PeerValue>(&self) -> Result<usize, PeerError> {
        let mut bytes = 0;
        product!(self, V, cusparseSDDMM_bufferSize, &raw mut bytes)?;
        Ok(bytes)
    }

    fn preprocess<V: PeerValue>(&self, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        product!(self, V, cusparseSDDMM_preprocess, buffer)
    }

    fn run<V: PeerValue>(&self, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        product!(self, V, cusparseSDDMM, buffer)
    }
}
