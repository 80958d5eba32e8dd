//! Sparse matrix times dense vector.

use std::ffi::c_int;

use super::call::{Descriptor, call, factor};
use super::formats::Format;
use super::functions::SpmvPreprocess;
use super::spmv_problem::{Product, Run, SpmvProblem};
use super::version::{Version, code};
use super::{bsrmv, spmv_op};
use crate::measure::Clock;
use crate::peers::cuda::Buffer;
use crate::peers::{Operation, PeerError, PeerScalar, PreparedPeer, Ready};

/// The algorithms: name, format and number in the header.
const ALGORITHMS: [(&str, Format, c_int); 6] = [
    ("CSR_ALG1", Format::Csr, 2),
    ("CSR_ALG2", Format::Csr, 3),
    ("COO_ALG1", Format::Coo, 1),
    ("COO_ALG2", Format::Coo, 4),
    ("SELL_ALG1", Format::SlicedEll, 5),
    ("BSR_ALG1", Format::Bsr, 6),
];

impl<V: PeerScalar> SpmvProblem<'_, V> {
    /// Every algorithm of every version, for CSR with and without preprocessing.
    pub(in crate::peers) fn prepare(&self) -> Vec<PreparedPeer<'_, V>> {
        self.library.versions.iter().flat_map(|version| self.prepare_version(version)).collect()
    }

    fn prepare_version<'p>(&'p self, version: &'p Version) -> Vec<PreparedPeer<'p, V>> {
        let mut prepared = Vec::new();
        let mut add = |algorithm: &str, format: Format, outcome| {
            prepared.push(version.peer(algorithm, format.name(), outcome));
        };
        for (name, format, code) in ALGORITHMS {
            if self.operation == Operation::Transposed && format != Format::Csr {
                continue;
            }
            if let Some((_, reason)) = self.unmade.iter().find(|(unmade, _)| *unmade == format) {
                add(name, format, Err(PeerError::Unsuitable(reason.to_string())));
                continue;
            }
            add(name, format, self.prepare_algorithm(version, format, code, None));
            if let (Format::Csr, Some(preprocess)) = (format, version.optional.spmv_preprocess) {
                let outcome = self.prepare_algorithm(version, format, code, Some(preprocess));
                add(&format!("{name} + preprocess"), format, outcome);
            }
        }
        if let (Operation::Direct, Some(functions)) = (self.operation, version.optional.bsrmv) {
            add(bsrmv::NAME, Format::Bsr, self.prepare_bsrmv(version, functions));
        }
        if let Some(functions) = version.optional.spmv_op {
            for (name, code) in spmv_op::ALGORITHMS {
                add(name, Format::Csr, self.prepare_op(version, functions, code));
            }
        }
        prepared
    }

    fn prepare_algorithm<'p>(
        &'p self,
        version: &'p Version,
        format: Format,
        algorithm: c_int,
        preprocess: Option<SpmvPreprocess>,
    ) -> Result<Ready<'p, V>, PeerError> {
        let (runtime, before) = (version.runtime, self.operands.y.to_vec());
        let y = runtime.upload(&before)?;
        // The result of preprocessing belongs to the descriptor, so a new one is preprocessed again. The first time also
        // loads code.
        let mut preprocessing_ms = 0.0;
        let mut call = self.call(version, format, algorithm, &y)?;
        if let Some(preprocess) = preprocess {
            call.preprocess(preprocess)?;
            call = self.call(version, format, algorithm, &y)?;
            runtime.synchronize()?;
            let start = runtime.record()?;
            call.preprocess(preprocess)?;
            preprocessing_ms = runtime.elapsed_ms(&start, &runtime.record()?)?;
        }
        let workspace_bytes = call.buffer_bytes()?;
        let prepared = Box::new(Product { runtime, call, y, before });
        Ok(Ready { preprocessing_ms, workspace_bytes, prepared })
    }

    /// A call of an algorithm, with the buffer that it needs.
    fn call<'p>(
        &'p self,
        version: &'p Version,
        format: Format,
        algorithm: c_int,
        y: &Buffer<V>,
    ) -> Result<Call<'p, V>, PeerError> {
        let Self { formats, operands, x, operation, .. } = self;
        let (rows, cols) = operation.shape(formats.rows, formats.cols);
        let mut call = Call {
            version,
            operation: code(*operation),
            alpha: operands.alpha,
            matrix: formats.describe(version, format)?,
            x: version.vector(cols, x)?,
            beta: operands.beta,
            y: version.vector(rows, y)?,
            algorithm,
            buffer: version.runtime.allocate(0)?,
        };
        call.buffer = version.runtime.allocate(call.buffer_bytes()?)?;
        Ok(call)
    }
}

/// The arguments that the three functions share.
struct Call<'p, V> {
    version: &'p Version,
    operation: c_int,
    alpha: V,
    matrix: Descriptor,
    x: Descriptor,
    beta: V,
    y: Descriptor,
    algorithm: c_int,
    buffer: Buffer<u8>,
}

/// Calls a function with the arguments that all share, and its last: an output for the size, or the buffer.
macro_rules! product {
    ($call:expr, $functions:expr, $function:ident, $last:expr) => {{
        let Call { version, operation, alpha, matrix, x, beta, y, algorithm, .. } = $call;
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the factors are on the
        // host, where the library expects them by default; and the buffer has the requested size.
        unsafe {
            call! {
                version, $functions, $function(
                    *operation, factor(alpha), matrix, x, factor(beta), y, V::CUDA_TYPE, *algorithm, $last
                )
            }
        }
    }};
}

impl<V: PeerScalar> Call<'_, V> {
    fn buffer_bytes(&self) -> Result<usize, PeerError> {
        let mut bytes = 0;
        product!(self, self.version.functions, cusparseSpMV_bufferSize, &raw mut bytes)?;
        Ok(bytes)
    }

    fn preprocess(&self, functions: SpmvPreprocess) -> Result<(), PeerError> {
        product!(self, functions, cusparseSpMV_preprocess, &self.buffer)
    }
}

impl<V: PeerScalar> Run for Call<'_, V> {
    fn run(&self) -> Result<(), PeerError> {
        product!(self, self.version.functions, cusparseSpMV, &self.buffer)
    }
}
