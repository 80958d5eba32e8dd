//! Sparse matrix times dense vector.

use std::ffi::c_int;

use super::formats::Format;
use super::functions::SpmvFunction;
use super::spmv_op;
use super::spmv_problem::{Product, Run, SpmvProblem};
use super::version::{Descriptor, LIBRARY, Version, code};
use crate::measure::Clock;
use crate::peers::cuda::Buffer;
use crate::peers::{Operation, PeerError, PeerValue, PreparedPeer, Ready};

/// An algorithm, with its name and number in the header.
struct Algorithm {
    name: &'static str,
    format: Format,
    code: c_int,
}

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm { name: "CSR_ALG1", format: Format::Csr, code: 2 },
    Algorithm { name: "CSR_ALG2", format: Format::Csr, code: 3 },
    Algorithm { name: "COO_ALG1", format: Format::Coo, code: 1 },
    Algorithm { name: "COO_ALG2", format: Format::Coo, code: 4 },
    Algorithm { name: "SELL_ALG1", format: Format::SlicedEll, code: 5 },
    Algorithm { name: "BSR_ALG1", format: Format::Bsr, code: 6 },
];

impl<V: PeerValue> SpmvProblem<'_, V> {
    /// Every algorithm of every version, for CSR with and without preprocessing.
    pub(in crate::peers) fn prepare(&self) -> Vec<PreparedPeer<'_, V>> {
        self.library.versions.iter().flat_map(|version| self.prepare_version(version)).collect()
    }

    fn prepare_version<'p>(&'p self, version: &'p Version) -> Vec<PreparedPeer<'p, V>> {
        let mut prepared = Vec::new();
        let mut add = |algorithm: String, format: Format, outcome| {
            let version = Some(version.name.clone());
            prepared.push(PreparedPeer {
                library: LIBRARY,
                version,
                algorithm,
                format: format.name(),
                outcome,
            });
        };
        for &Algorithm { name, format, code } in &ALGORITHMS {
            if self.operation == Operation::Transposed && format != Format::Csr {
                continue;
            }
            if let Some((_, reason)) = self.unmade.iter().find(|(unmade, _)| *unmade == format) {
                add(name.into(), format, Err(PeerError::Unsuitable(reason.to_string())));
                continue;
            }
            add(name.into(), format, self.prepare_algorithm(version, format, code, None));
            if let (Format::Csr, Some(preprocess)) = (format, version.optional.spmv_preprocess) {
                let outcome = self.prepare_algorithm(version, format, code, Some(preprocess));
                add(format!("{name} + preprocess"), format, outcome);
            }
        }
        if let Some(functions) = version.optional.spmv_op {
            for (name, code) in spmv_op::ALGORITHMS {
                add(name.into(), Format::Csr, self.prepare_op(version, functions, code));
            }
        }
        prepared
    }

    fn prepare_algorithm<'p>(
        &'p self,
        version: &'p Version,
        format: Format,
        algorithm: c_int,
        preprocess: Option<SpmvFunction>,
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
            x: version.vector::<V>(cols, x.address())?,
            beta: operands.beta,
            y: version.vector::<V>(rows, y.address())?,
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

impl<V: PeerValue> Call<'_, V> {
    fn buffer_bytes(&self) -> Result<usize, PeerError> {
        let Self { version, operation, alpha, matrix, x, beta, y, algorithm, .. } = self;
        let mut bytes = 0;
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the factors are on the
        // host, where the library expects them by default.
        let code = unsafe {
            (version.functions.cusparseSpMV_bufferSize)(
                version.handle,
                *operation,
                std::ptr::from_ref(alpha).cast(),
                matrix.address,
                x.address,
                std::ptr::from_ref(beta).cast(),
                y.address,
                V::CUDA_TYPE,
                *algorithm,
                &raw mut bytes,
            )
        };
        version.check("cusparseSpMV_bufferSize", code)?;
        Ok(bytes)
    }

    fn preprocess(&self, function: SpmvFunction) -> Result<(), PeerError> {
        self.call("cusparseSpMV_preprocess", function)
    }

    fn call(&self, name: &'static str, function: SpmvFunction) -> Result<(), PeerError> {
        let Self { version, operation, alpha, matrix, x, beta, y, algorithm, buffer } = self;
        // SAFETY: as for the size query; the buffer has the requested size.
        let code = unsafe {
            function(
                version.handle,
                *operation,
                std::ptr::from_ref(alpha).cast(),
                matrix.address,
                x.address,
                std::ptr::from_ref(beta).cast(),
                y.address,
                V::CUDA_TYPE,
                *algorithm,
                buffer.address(),
            )
        };
        version.check(name, code)
    }
}

impl<V: PeerValue> Run for Call<'_, V> {
    fn run(&self) -> Result<(), PeerError> {
        self.call("cusparseSpMV", self.version.functions.cusparseSpMV)
    }
}
