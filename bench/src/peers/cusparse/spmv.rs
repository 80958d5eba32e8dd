//! Sparse matrix times dense vector.

use std::ffi::c_int;

use evenpath::Csr;

use super::formats::{Format, Formats};
use super::functions::SpmvFunction;
use super::{Cusparse, Descriptor, code};
use crate::measure::{Clock, Repetitions, times_ms};
use crate::peers::cuda::Buffer;
use crate::peers::{Operation, PeerError, PeerRun, PeerTimes, PeerValue};

/// y = Ax, or y = Aᵀx, on the GPU, ready to be measured.
pub struct SpmvProblem<'l, V: PeerValue> {
    library: &'l Cusparse,
    formats: Formats<V>,
    x: Buffer<V>,
    y: Buffer<V>,
    operation: Operation,
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
    /// Copies a problem to the GPU: CSR, and for the direct operation also COO and sliced ELL. `x` has one element per
    /// column of the matrix, or of its transpose if that is multiplied.
    ///
    /// # Errors
    ///
    /// If x has the wrong length, there is not enough memory for CSR, or it has more nonzeros than 32 bits can count.
    pub fn spmv_problem<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        operation: Operation,
        x: &[V],
    ) -> Result<SpmvProblem<'_, V>, PeerError> {
        operation.check_x(matrix, x)?;
        let (rows, _) = operation.shape(matrix.rows(), matrix.cols());
        let mut formats = Formats::upload(self, matrix)?;
        let mut unmade = Vec::new();
        if operation == Operation::Direct {
            let made = [
                (Format::Coo, formats.add_coo(self, matrix)),
                (Format::SlicedEll, formats.add_sliced_ell(self, matrix)),
            ];
            unmade.extend(made.into_iter().filter_map(|(format, made)| Some((format, made.err()?))));
        }
        let (x, y) = (self.runtime.upload(x)?, self.runtime.allocate(rows)?);
        Ok(SpmvProblem { library: self, formats, x, y, operation, unmade })
    }
}

impl<V: PeerValue> SpmvProblem<'_, V> {
    /// Times every algorithm, for CSR with and without preprocessing, `repetitions` runs each.
    pub fn measure(&self, repetitions: Repetitions, mut each: impl FnMut(PeerRun<V>)) {
        for Algorithm { name, format, code } in &ALGORITHMS {
            if self.operation == Operation::Transposed && *format != Format::Csr {
                continue;
            }
            if let Some((_, reason)) = self.unmade.iter().find(|(unmade, _)| unmade == format) {
                let outcome = Err(PeerError::Unsuitable(reason.to_string()));
                each(PeerRun { algorithm: (*name).into(), format: format.name(), outcome });
                continue;
            }
            let outcome = self.measure_algorithm(*format, *code, None, repetitions);
            each(PeerRun { algorithm: (*name).into(), format: format.name(), outcome });
            if let (Format::Csr, Some(preprocess)) = (format, self.library.optional.spmv_preprocess) {
                let outcome = self.measure_algorithm(*format, *code, Some(preprocess), repetitions);
                each(PeerRun { algorithm: format!("{name} + preprocess"), format: format.name(), outcome });
            }
        }
    }

    fn measure_algorithm(
        &self,
        format: Format,
        algorithm: c_int,
        preprocess: Option<SpmvFunction>,
        repetitions: Repetitions,
    ) -> Result<PeerTimes<V>, PeerError> {
        let Self { library, formats, x, y, operation, .. } = self;
        let (rows, cols) = operation.shape(formats.rows, formats.cols);
        let x = library.vector::<V>(cols, x.address())?;
        let described_y = library.vector::<V>(rows, y.address())?;
        // The result of preprocessing belongs to the descriptor, so a new one is preprocessed again. The first time also
        // loads code.
        let mut preprocessing_ms = 0.0;
        let mut prepared = None;
        for _ in 0..if preprocess.is_some() { 2 } else { 1 } {
            let call = Call {
                library,
                operation: code(*operation),
                alpha: V::ONE,
                matrix: formats.describe(library, format)?,
                x: &x,
                beta: V::ZERO,
                y: &described_y,
                algorithm,
            };
            let buffer = library.runtime.allocate::<u8>(call.buffer_bytes()?)?;
            if let Some(preprocess) = preprocess {
                library.runtime.synchronize()?;
                let start = library.runtime.record()?;
                call.preprocess(preprocess, &buffer)?;
                preprocessing_ms = library.runtime.elapsed_ms(&start, &library.runtime.record()?)?;
            }
            prepared = Some((call, buffer));
        }
        y.fill_with_ones()?;
        let Some((call, buffer)) = prepared else { unreachable!("at least once") };
        let times_ms = times_ms(&library.runtime, repetitions, || call.run(&buffer))?;
        let workspace_bytes = call.buffer_bytes()?;
        Ok(PeerTimes { times_ms, preprocessing_ms, workspace_bytes, result: y.download()? })
    }
}

/// The arguments that the three functions share.
struct Call<'p, V> {
    library: &'p Cusparse,
    operation: c_int,
    alpha: V,
    matrix: Descriptor,
    x: &'p Descriptor,
    beta: V,
    y: &'p Descriptor,
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
