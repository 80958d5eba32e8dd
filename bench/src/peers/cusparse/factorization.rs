//! Incomplete factorizations without fill, by the functions that are older than the generic ones.

use std::ffi::c_int;

use evenpath::Csr;

use super::call::{Argument, Descriptor, describe};
use super::formats::Format;
use super::functions::{Address, Cholesky, Descriptions, FactorSize, FactorStep, Lu};
use super::spadd::{Arrays, count};
use super::version::{Cusparse, Version};
use crate::measure::{Repetitions, median, single_times_ms, times_ms};
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerRun, PeerTimes, PeerValue};

/// `cusparseSolvePolicy_t`.
const POLICIES: [(c_int, &str); 2] = [(0, "no levels"), (1, "levels")];

/// The functions of a factorization for one type of values.
#[derive(Clone, Copy)]
struct Functions {
    name: &'static str,
    create: unsafe extern "C" fn(*mut Address) -> c_int,
    destroy: unsafe extern "C" fn(Address) -> c_int,
    buffer_size: FactorSize,
    analysis: FactorStep,
    run: FactorStep,
}

/// The table of a library's functions for single or double precision.
macro_rules! of_type {
    ($table:expr, $name:literal, $create:ident, $destroy:ident, [$size:ident, $analysis:ident, $run:ident]) => {
        Functions {
            name: $name,
            create: $table.$create,
            destroy: $table.$destroy,
            buffer_size: $table.$size,
            analysis: $table.$analysis,
            run: $table.$run,
        }
    };
}

impl Functions {
    fn lu<V>(version: &Version) -> Result<Self, PeerError> {
        let table = Lu::find(version.library)?;
        Ok(if size_of::<V>() == 4 {
            of_type!(
                table,
                "csrilu02",
                cusparseCreateCsrilu02Info,
                cusparseDestroyCsrilu02Info,
                [cusparseScsrilu02_bufferSize, cusparseScsrilu02_analysis, cusparseScsrilu02]
            )
        } else {
            of_type!(
                table,
                "csrilu02",
                cusparseCreateCsrilu02Info,
                cusparseDestroyCsrilu02Info,
                [cusparseDcsrilu02_bufferSize, cusparseDcsrilu02_analysis, cusparseDcsrilu02]
            )
        })
    }

    fn cholesky<V>(version: &Version) -> Result<Self, PeerError> {
        let table = Cholesky::find(version.library)?;
        Ok(if size_of::<V>() == 4 {
            of_type!(
                table,
                "csric02",
                cusparseCreateCsric02Info,
                cusparseDestroyCsric02Info,
                [cusparseScsric02_bufferSize, cusparseScsric02_analysis, cusparseScsric02]
            )
        } else {
            of_type!(
                table,
                "csric02",
                cusparseCreateCsric02Info,
                cusparseDestroyCsric02Info,
                [cusparseDcsric02_bufferSize, cusparseDcsric02_analysis, cusparseDcsric02]
            )
        })
    }
}

impl Cusparse {
    /// Times the analysis and the factorization of every version, with levels and without. The factors take the place of the values.
    pub(in crate::peers) fn measure_factorization<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        is_symmetric: bool,
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<Vec<V>>),
    ) {
        let name = if is_symmetric { "csric02" } else { "csrilu02" };
        for version in &self.versions {
            for (policy, policy_name) in POLICIES {
                let functions = if is_symmetric { Functions::cholesky::<V> } else { Functions::lu::<V> };
                let outcome = functions(version).and_then(|functions| {
                    version.measure_factorization(matrix, (functions, policy), repetitions)
                });
                each(version.peer(&format!("{name}, {policy_name}"), Format::Csr.name(), outcome));
            }
        }
    }
}

impl Version {
    fn measure_factorization<V: PeerValue>(
        &self,
        matrix: &Csr<V>,
        (functions, policy): (Functions, c_int),
        repetitions: Repetitions,
    ) -> Result<PeerTimes<Vec<V>>, PeerError> {
        let descriptions = Descriptions::find(self.library)?;
        let operands = Operands {
            version: self,
            functions,
            policy,
            rows: count(matrix.nrows())?,
            // SAFETY: the descriptor is written to a valid location. It describes a general matrix that counts from 0.
            description: unsafe {
                describe! { self, descriptions, cusparseCreateMatDescr(), cusparseDestroyMatDescr }
            }?,
            arrays: Arrays::upload(self.runtime, matrix)?,
        };
        let bytes = operands.describe()?.buffer_bytes()?;
        let buffer = self.runtime.allocate::<u8>(bytes)?;
        let setups = single_times_ms(&self.runtime, repetitions, || {
            let call = operands.describe()?;
            call.buffer_bytes()?;
            call.step(functions.analysis, &buffer)
        })?;
        let call = operands.describe()?;
        call.buffer_bytes()?;
        call.step(functions.analysis, &buffer)?;
        call.step(functions.run, &buffer)?;
        let result = operands.arrays.values.download()?;
        // Factors of factors: times do not depend on values.
        let times = times_ms(&self.runtime, repetitions, || call.step(functions.run, &buffer))?;
        Ok(PeerTimes { times, values: None, setup_ms: median(&setups), bytes: bytes as u64, result })
    }
}

/// A matrix on the GPU, and the functions to factorize it.
struct Operands<'v, V> {
    version: &'v Version,
    functions: Functions,
    policy: c_int,
    rows: c_int,
    description: Descriptor,
    arrays: Arrays<V>,
}

/// The operands, and the information that the analysis makes.
struct Call<'p, V> {
    operands: &'p Operands<'p, V>,
    information: Descriptor,
}

impl<V> Operands<'_, V> {
    fn describe(&self) -> Result<Call<'_, V>, PeerError> {
        let Functions { name, create, destroy, .. } = self.functions;
        // SAFETY: the information is written to a valid location.
        let information = Descriptor::new(self.version, name, destroy, |address| unsafe { create(address) })?;
        Ok(Call { operands: self, information })
    }
}

impl<V> Call<'_, V> {
    fn buffer_bytes(&self) -> Result<usize, PeerError> {
        let Operands { version, functions, rows, description, arrays, .. } = self.operands;
        let Arrays { nonzeros, row_offsets, column_indices, values } = arrays;
        let mut bytes = 0;
        // SAFETY: handle, description and information are valid, the arrays are those of a valid matrix on this GPU, and the size is
        // written to a valid location.
        let code = unsafe {
            (functions.buffer_size)(
                version.handle,
                *rows,
                *nonzeros,
                description.raw(),
                values.raw(),
                row_offsets.raw(),
                column_indices.raw(),
                self.information.raw(),
                &raw mut bytes,
            )
        };
        version.check(functions.name, code)?;
        Ok(bytes as usize)
    }

    /// Calls the analysis or the factorization.
    fn step(&self, function: FactorStep, buffer: &Buffer<u8>) -> Result<(), PeerError> {
        let Operands { version, functions, policy, rows, description, arrays } = self.operands;
        let Arrays { nonzeros, row_offsets, column_indices, values } = arrays;
        // SAFETY: as for the size, and the buffer has it.
        let code = unsafe {
            function(
                version.handle,
                *rows,
                *nonzeros,
                description.raw(),
                values.raw(),
                row_offsets.raw(),
                column_indices.raw(),
                self.information.raw(),
                *policy,
                buffer.raw(),
            )
        };
        version.check(functions.name, code)
    }
}
