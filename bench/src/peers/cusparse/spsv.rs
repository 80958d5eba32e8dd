//! Solutions of triangular systems.

use std::ffi::c_int;

use evenpath::Csr;

use super::call::{Argument, Descriptor, call, describe, factor};
use super::formats::{Format, Formats};
use super::functions::{DIRECT, Spsv, SpsvUpdate};
use super::version::{Cusparse, Version};
use crate::measure::{Repetitions, median, single_times_ms, times_ms};
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerRun, PeerTimes, PeerValue};

/// The only algorithm, `CUSPARSE_SPSV_ALG_DEFAULT`.
const ALGORITHM: c_int = 0;
/// `CUSPARSE_SPMAT_FILL_MODE`: lower is 0, upper is 1.
const FILL_MODE: c_int = 0;
/// `CUSPARSE_SPMAT_DIAG_TYPE`: a diagonal of the matrix is 0, one of ones is 1.
const DIAGONAL_TYPE: c_int = 1;
/// `CUSPARSE_SPSV_UPDATE_GENERAL`.
const ALL_VALUES: c_int = 0;

/// Tx = b on the GPU for a triangle of a matrix, ready to be measured.
pub(in crate::peers) struct SpsvProblem<'l, V: PeerValue> {
    library: &'l Cusparse,
    matrix: Formats<V>,
    b: Buffer<V>,
    x: Buffer<V>,
    /// The fill mode and the type of the diagonal.
    attributes: [(c_int, c_int); 2],
}

impl Cusparse {
    /// Copies a matrix, of which a triangle counts, and b to the GPU.
    ///
    /// # Errors
    ///
    /// If there is not enough memory, or the matrix has more nonzeros than 32 bits can count.
    pub(in crate::peers) fn spsv_problem<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        b: &[V],
        (is_upper, is_unit): (bool, bool),
    ) -> Result<SpsvProblem<'_, V>, PeerError> {
        if b.len() != matrix.nrows() {
            return Err(PeerError::Unsuitable(format!("b has {} elements, not {}", b.len(), matrix.nrows())));
        }
        Ok(SpsvProblem {
            library: self,
            matrix: Formats::upload(self.runtime, matrix)?,
            b: self.runtime.upload(b)?,
            x: self.runtime.allocate(b.len())?,
            attributes: [(FILL_MODE, c_int::from(is_upper)), (DIAGONAL_TYPE, c_int::from(is_unit))],
        })
    }
}

impl<V: PeerValue> SpsvProblem<'_, V> {
    /// Times the analysis and the solve of every version, and the solve with new values.
    pub(in crate::peers) fn measure(&self, repetitions: Repetitions, mut each: impl FnMut(PeerRun<Vec<V>>)) {
        for version in &self.library.versions {
            let outcome = self.measure_version(version, repetitions);
            each(version.peer("SpSV", Format::Csr.name(), outcome));
        }
    }

    fn measure_version(
        &self,
        version: &Version,
        repetitions: Repetitions,
    ) -> Result<PeerTimes<Vec<V>>, PeerError> {
        let runtime = &version.runtime;
        let functions = Spsv::find(version.library)?;
        let matrix = self.matrix.describe(version, Format::Csr)?;
        for (attribute, mut value) in self.attributes {
            let (address, bytes) = ((&raw mut value).cast(), size_of::<c_int>());
            // SAFETY: the descriptor is valid, and the value is copied.
            let code =
                unsafe { (functions.cusparseSpMatSetAttribute)(matrix.raw(), attribute, address, bytes) };
            version.check("cusparseSpMatSetAttribute", code)?;
        }
        let b = version.vector(self.matrix.rows, &self.b)?;
        let x = version.vector(self.matrix.rows, &self.x)?;
        let operands = Operands { version, functions, matrix: &matrix, b: &b, x: &x };
        let bytes = operands.describe()?.buffer_bytes::<V>()?;
        let buffer = runtime.allocate::<u8>(bytes)?;
        let setups = single_times_ms(runtime, repetitions, || {
            let call = operands.describe()?;
            call.buffer_bytes::<V>()?;
            call.analyze::<V>(&buffer)
        })?;
        let call = operands.describe()?;
        call.buffer_bytes::<V>()?;
        call.analyze::<V>(&buffer)?;
        self.x.fill_with_ones()?;
        let times = times_ms(runtime, repetitions, || call.run::<V>())?;
        // Older versions have no update.
        let values = SpsvUpdate::find(version.library).and_then(|functions| {
            times_ms(runtime, repetitions, || {
                call.update(functions, self.matrix.values())?;
                call.run::<V>()
            })
        });
        Ok(PeerTimes {
            times,
            values: values.ok(),
            setup_ms: median(&setups),
            bytes: bytes as u64,
            result: self.x.download()?,
        })
    }
}

/// Operands of all calls with one triangle.
#[derive(Clone, Copy)]
struct Operands<'p> {
    version: &'p Version,
    functions: Spsv,
    matrix: &'p Descriptor,
    b: &'p Descriptor,
    x: &'p Descriptor,
}

/// The operands, and the description that the analysis fills.
struct Call<'p> {
    operands: Operands<'p>,
    description: Descriptor,
}

impl<'p> Operands<'p> {
    fn describe(self) -> Result<Call<'p>, PeerError> {
        let Self { version, functions, .. } = self;
        // SAFETY: the descriptor is written to a valid location.
        let description = unsafe {
            describe! { version, functions, cusparseSpSV_createDescr(), cusparseSpSV_destroyDescr }
        }?;
        Ok(Call { operands: self, description })
    }
}

/// Calls a function with the arguments that all share, and its last ones.
macro_rules! solve {
    ($call:expr, $value:ident, $function:ident $(, $last:expr)?) => {{
        let Call { operands: Operands { version, functions, matrix, b, x }, description } = $call;
        let one = $value::ONE;
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the factor is on the host, where the
        // library expects it by default; and the buffer has the requested size, and outlives the solves.
        unsafe {
            call! {
                version, functions, $function(
                    DIRECT, factor(&one), *matrix, *b, *x, $value::CUDA_TYPE, ALGORITHM, description $(, $last)?
                )
            }
        }
    }};
}

impl Call<'_> {
    fn buffer_bytes<V: PeerValue>(&self) -> Result<usize, PeerError> {
        let mut bytes = 0;
        solve!(self, V, cusparseSpSV_bufferSize, &raw mut bytes)?;
        Ok(bytes)
    }

    fn analyze<V: PeerValue>(&self, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        solve!(self, V, cusparseSpSV_analysis, buffer)
    }

    fn run<V: PeerValue>(&self) -> Result<(), PeerError> {
        solve!(self, V, cusparseSpSV_solve)
    }

    fn update<V: PeerValue>(&self, functions: SpsvUpdate, values: &Buffer<V>) -> Result<(), PeerError> {
        let version = self.operands.version;
        // SAFETY: the description is that of an analyzed matrix with as many values.
        unsafe {
            call! { version, functions, cusparseSpSV_updateMatrix(&self.description, values, ALL_VALUES) }
        }
    }
}
