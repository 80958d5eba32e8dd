//! Sparse matrix times dense vector.

use std::ffi::c_int;

use evenpath::Csr;

use super::formats::{Format, Formats};
use super::functions::SpmvFunction;
use super::{Cusparse, Descriptor, code};
use crate::measure::{Clock, sampled};
use crate::peers::cuda::Buffer;
use crate::peers::{Operation, PeerError, PeerValue, Prepared, PreparedPeer, Ready, SpmvOperands};

/// y = αAx + βy, or with the transpose, on the GPU, ready to be measured.
pub struct SpmvProblem<'l, V: PeerValue> {
    library: &'l Cusparse,
    formats: Formats<V>,
    operands: SpmvOperands<'l, V>,
    x: Buffer<V>,
    operation: Operation,
    /// Whether only CSR is measured.
    csr_only: bool,
    /// The formats that could not be built, with the reasons.
    unmade: Vec<(Format, PeerError)>,
}

/// An algorithm, with its name and number in the header.
struct Algorithm {
    name: &'static str,
    format: Format,
    code: c_int,
}

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm { name: "CSR_ALG1", format: Format::Csr, code: 2 },
    Algorithm { name: "CSR_ALG2", format: Format::Csr, code: 3 },
    Algorithm { name: "COO_ALG1", format: Format::Coo, code: 1 },
    Algorithm { name: "COO_ALG2", format: Format::Coo, code: 4 },
    Algorithm { name: "SELL_ALG1", format: Format::SlicedEll, code: 5 },
];

impl Cusparse {
    /// Copies a problem to the GPU, with the matrix in CSR only.
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length, there is not enough memory, or the matrix has more nonzeros than 32 bits can
    /// count.
    pub fn spmv_csr_problem<'l, V: PeerValue>(
        &'l self,
        matrix: &Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'l, V>,
    ) -> Result<SpmvProblem<'l, V>, PeerError> {
        operation.check(matrix, operands)?;
        let formats = Formats::upload(self, matrix)?;
        let x = self.runtime.upload(operands.x)?;
        Ok(SpmvProblem { library: self, formats, operands, x, operation, csr_only: true, unmade: Vec::new() })
    }

    /// Copies a problem to the GPU: CSR, and for the direct operation also COO and sliced ELL.
    ///
    /// # Errors
    ///
    /// As for [`spmv_csr_problem`](Self::spmv_csr_problem); a failure of another format is reported when it is measured.
    pub fn spmv_problem<'l, V: PeerValue>(
        &'l self,
        matrix: &Csr<V>,
        operation: Operation,
        operands: SpmvOperands<'l, V>,
    ) -> Result<SpmvProblem<'l, V>, PeerError> {
        let mut problem = self.spmv_csr_problem(matrix, operation, operands)?;
        if operation == Operation::Direct {
            let made = [
                (Format::Coo, problem.formats.add_coo(self, matrix)),
                (Format::SlicedEll, problem.formats.add_sliced_ell(self, matrix)),
            ];
            problem.unmade =
                made.into_iter().filter_map(|(format, made)| Some((format, made.err()?))).collect();
            problem.csr_only = false;
        }
        Ok(problem)
    }
}

impl<V: PeerValue> SpmvProblem<'_, V> {
    /// Every algorithm, for CSR with and without preprocessing.
    pub fn prepare(&self) -> Vec<PreparedPeer<'_, V>> {
        let mut prepared = Vec::new();
        for Algorithm { name, format, code } in &ALGORITHMS {
            if self.csr_only && *format != Format::Csr {
                continue;
            }
            if let Some((_, reason)) = self.unmade.iter().find(|(unmade, _)| unmade == format) {
                let outcome = Err(PeerError::Unsuitable(reason.to_string()));
                prepared.push(PreparedPeer { algorithm: (*name).into(), format: format.name(), outcome });
                continue;
            }
            let outcome = self.prepare_algorithm(*format, *code, None);
            prepared.push(PreparedPeer { algorithm: (*name).into(), format: format.name(), outcome });
            if let (Format::Csr, Some(preprocess)) = (format, self.library.optional.spmv_preprocess) {
                let algorithm = format!("{name} + preprocess");
                let outcome = self.prepare_algorithm(*format, *code, Some(preprocess));
                prepared.push(PreparedPeer { algorithm, format: format.name(), outcome });
            }
        }
        prepared
    }

    fn prepare_algorithm(
        &self,
        format: Format,
        algorithm: c_int,
        preprocess: Option<SpmvFunction>,
    ) -> Result<Ready<'_, V>, PeerError> {
        let Self { library, operands, .. } = self;
        let y = library.runtime.upload(operands.y)?;
        // The result of preprocessing belongs to the descriptor, so a new one is preprocessed again. The first time also
        // loads code.
        let mut preprocessing_ms = 0.0;
        let (mut call, mut buffer) = self.call(format, algorithm, &y)?;
        if let Some(preprocess) = preprocess {
            call.preprocess(preprocess, &buffer)?;
            (call, buffer) = self.call(format, algorithm, &y)?;
            library.runtime.synchronize()?;
            let start = library.runtime.record()?;
            call.preprocess(preprocess, &buffer)?;
            preprocessing_ms = library.runtime.elapsed_ms(&start, &library.runtime.record()?)?;
        }
        let workspace_bytes = call.buffer_bytes()?;
        let prepared = Box::new(Product { call, buffer, y, before: operands.y });
        Ok(Ready { preprocessing_ms, workspace_bytes, prepared })
    }

    /// A call of an algorithm, and the buffer that it needs.
    fn call(
        &self,
        format: Format,
        algorithm: c_int,
        y: &Buffer<V>,
    ) -> Result<(Call<'_, V>, Buffer<u8>), PeerError> {
        let Self { library, formats, operands, x, operation, .. } = self;
        let (rows, cols) = operation.shape(formats.rows, formats.cols);
        let call = Call {
            library,
            operation: code(*operation),
            alpha: operands.alpha,
            matrix: formats.describe(library, format)?,
            x: library.vector::<V>(cols, x.address())?,
            beta: operands.beta,
            y: library.vector::<V>(rows, y.address())?,
            algorithm,
        };
        let buffer = library.runtime.allocate::<u8>(call.buffer_bytes()?)?;
        Ok((call, buffer))
    }
}

/// A product that is ready to run.
struct Product<'p, V: PeerValue> {
    call: Call<'p, V>,
    buffer: Buffer<u8>,
    y: Buffer<V>,
    before: &'p [V],
}

impl<V: PeerValue> Prepared<V> for Product<'_, V> {
    fn time_ms(&mut self, runs: usize) -> Result<f64, PeerError> {
        sampled(&self.call.library.runtime, || self.call.run(&self.buffer))(runs)
    }

    fn result(&mut self) -> Result<Vec<V>, PeerError> {
        self.y.write(self.before)?;
        self.call.run(&self.buffer)?;
        self.y.download()
    }
}

/// The arguments that the three functions share.
struct Call<'p, V> {
    library: &'p Cusparse,
    operation: c_int,
    alpha: V,
    matrix: Descriptor,
    x: Descriptor,
    beta: V,
    y: Descriptor,
    algorithm: c_int,
}

impl<V: PeerValue> Call<'_, V> {
    fn buffer_bytes(&self) -> Result<usize, PeerError> {
        let Self { library, operation, alpha, matrix, x, beta, y, algorithm } = self;
        let mut bytes = 0;
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the factors are on the
        // host, where the library expects them by default.
        let code = unsafe {
            (library.functions.cusparseSpMV_bufferSize)(
                library.handle,
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
        library.check("cusparseSpMV_bufferSize", code)?;
        Ok(bytes)
    }

    fn preprocess(&self, function: SpmvFunction, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        self.call("cusparseSpMV_preprocess", function, buffer)
    }

    fn run(&self, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        self.call("cusparseSpMV", self.library.functions.cusparseSpMV, buffer)
    }

    fn call(&self, name: &'static str, function: SpmvFunction, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        let Self { library, operation, alpha, matrix, x, beta, y, algorithm } = self;
        // SAFETY: as for the size query; the buffer has the requested size.
        let code = unsafe {
            function(
                library.handle,
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
        library.check(name, code)
    }
}
