//! Sparse matrix times dense matrix.

use std::ffi::c_int;

use evenpath::{Csr, Layout};

use super::call::{Descriptor, call, factor};
use super::formats::{Format, Formats};
use super::functions::DIRECT;
use super::version::{Cusparse, Version};
use crate::measure::{Clock, Repetitions, times_ms};
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerRun, PeerTimes, PeerValue};

/// C = AB on the GPU, ready to be measured.
pub(in crate::peers) struct SpmmProblem<'l, V: PeerValue> {
    library: &'l Cusparse,
    formats: Formats<V>,
    /// The reason why there is no BSR, if there is none.
    no_bsr: Option<String>,
    b: Buffer<V>,
    c: Buffer<V>,
    /// Columns of B and of C.
    width: usize,
    layout: Layout,
}

/// The algorithms: name, format and number in the header.
const ALGORITHMS: [(&str, Format, c_int); 9] = [
    ("ALG_DEFAULT", Format::Csr, 0),
    ("CSR_ALG1", Format::Csr, 4),
    ("CSR_ALG2", Format::Csr, 6),
    ("CSR_ALG3", Format::Csr, 12),
    ("COO_ALG1", Format::Coo, 1),
    ("COO_ALG2", Format::Coo, 2),
    ("COO_ALG3", Format::Coo, 3),
    ("COO_ALG4", Format::Coo, 5),
    ("BSR_ALG1", Format::Bsr, 14),
];

impl Cusparse {
    /// Copies a problem to the GPU. `b` has `width` elements per column of the matrix, in the given layout; the
    /// result has `width` per row.
    ///
    /// # Errors
    ///
    /// If B has the wrong size, there is not enough memory, or the matrix has more nonzeros than 32 bits can
    /// count.
    pub(in crate::peers) fn spmm_problem<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        b: &[V],
        width: usize,
        layout: Layout,
    ) -> Result<SpmmProblem<'_, V>, PeerError> {
        if b.len() != matrix.ncols() * width {
            return Err(PeerError::Unsuitable(format!(
                "B has {} elements, not {} rows of {width}",
                b.len(),
                matrix.ncols()
            )));
        }
        let mut formats = Formats::upload(self.runtime, matrix)?;
        formats.add_coo(self.runtime, matrix)?;
        let no_bsr = formats.add_bsr(self.runtime, matrix).err().map(|reason| reason.to_string());
        let (b, c) = (self.runtime.upload(b)?, self.runtime.allocate(matrix.nrows() * width)?);
        Ok(SpmmProblem { library: self, formats, no_bsr, b, c, width, layout })
    }
}

impl<V: PeerValue> SpmmProblem<'_, V> {
    /// Times every algorithm of every version, for CSR with and without preprocessing, `repetitions` runs each.
    pub(in crate::peers) fn measure(&self, repetitions: Repetitions, mut each: impl FnMut(PeerRun<Vec<V>>)) {
        for (name, format, code) in ALGORITHMS {
            for &preprocess in if format == Format::Csr { &[false, true][..] } else { &[false] } {
                let algorithm =
                    format!("{name}{}, {}", if preprocess { " + preprocess" } else { "" }, self.layout);
                for version in &self.library.versions {
                    let outcome = self.measure_algorithm(version, (format, code), preprocess, repetitions);
                    each(version.peer(&algorithm, format.name(), outcome));
                }
            }
        }
    }

    fn measure_algorithm(
        &self,
        version: &Version,
        (format, algorithm): (Format, c_int),
        preprocess: bool,
        repetitions: Repetitions,
    ) -> Result<PeerTimes<Vec<V>>, PeerError> {
        let Self { formats, b, c, width, layout, .. } = self;
        if let (Format::Bsr, Some(reason)) = (format, &self.no_bsr) {
            return Err(PeerError::Unsuitable(reason.clone()));
        }
        let runtime = &version.runtime;
        let b = version.dense((formats.cols, *width), *layout, b)?;
        let described_c = version.dense((formats.rows, *width), *layout, c)?;
        let mut setup_ms = 0.0;
        let mut prepared = None;
        // Each descriptor is preprocessed again, like those of SpMV, and the first time loads code.
        for _ in 0..if preprocess { 2 } else { 1 } {
            let matrix = formats.describe(version, format)?;
            let call = Call { version, matrix, b: &b, c: &described_c, algorithm };
            let buffer = runtime.allocate::<u8>(call.buffer_bytes::<V>()?)?;
            if preprocess {
                runtime.synchronize()?;
                let start = runtime.record()?;
                call.preprocess::<V>(&buffer)?;
                setup_ms = runtime.elapsed_ms(&start, &runtime.record()?)?;
            }
            prepared = Some((call, buffer));
        }
        c.fill_with_ones()?;
        let Some((call, buffer)) = prepared else { unreachable!("at least once") };
        let times = times_ms(runtime, repetitions, || call.run::<V>(&buffer))?;
        let bytes = call.buffer_bytes::<V>()? as u64;
        Ok(PeerTimes { times, values: None, setup_ms, bytes, result: c.download()? })
    }
}

/// The arguments that the three functions share.
struct Call<'p> {
    version: &'p Version,
    matrix: Descriptor,
    b: &'p Descriptor,
    c: &'p Descriptor,
    algorithm: c_int,
}

/// Calls a function with the arguments that all share, and its last: an output for the size, or a buffer.
macro_rules! product {
    ($call:expr, $value:ident, $function:ident, $last:expr) => {{
        let Call { version, matrix, b, c, algorithm } = $call;
        let (one, zero) = ($value::ONE, $value::ZERO);
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the factors are on the
        // host, where the library expects them by default; and the buffer has the requested size.
        unsafe {
            call! {
                version, version.functions, $function(
                    DIRECT, DIRECT, factor(&one), matrix, *b, factor(&zero), *c, $value::CUDA_TYPE, *algorithm, $last
                )
            }
        }
    }};
}

impl Call<'_> {
    fn buffer_bytes<V: PeerValue>(&self) -> Result<usize, PeerError> {
        let mut bytes = 0;
        product!(self, V, cusparseSpMM_bufferSize, &raw mut bytes)?;
        Ok(bytes)
    }

    fn preprocess<V: PeerValue>(&self, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        product!(self, V, cusparseSpMM_preprocess, buffer)
    }

    fn run<V: PeerValue>(&self, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        product!(self, V, cusparseSpMM, buffer)
    }
}
