//! Sparse matrix times sparse matrix, by every algorithm.

use std::ffi::c_int;
use std::ptr;

use evenpath::Csr;

use super::call::{Descriptor, call, describe, factor};
use super::formats::{Format, Formats};
use super::functions::{Address, DIRECT, NOWHERE, Spgemm};
use super::version::{Cusparse, Version};
use crate::measure::{Clock, Repetitions, Times, times_ms};
use crate::peers::cuda::{Buffer, Runtime};
use crate::peers::peer::PeerRows;
use crate::peers::{PeerError, PeerRun, PeerScalar, PeerTimes};

/// The algorithms for products with a known pattern.
const REUSE_ALGORITHMS: [(&str, c_int); 2] = [("reuse", 0), ("reuse, deterministic", 1)];

/// The algorithms: name, number in the header, and the fraction of the products per chunk if it takes one.
const ALGORITHMS: [(&str, c_int, Option<f32>); 4] =
    [("ALG1", 3, None), ("ALG2", 4, Some(1.0)), ("ALG3, 0.2", 5, Some(0.2)), ("ALG3, 0.05", 5, Some(0.05))];

/// A product with A and B on the GPU.
pub(in crate::peers) struct SpgemmProblem<'l, V: PeerScalar> {
    library: &'l Cusparse,
    a: Formats<V>,
    b: Formats<V>,
}

/// The problem for one version of the library.
struct OfVersion<'p, V: PeerScalar> {
    version: &'p Version,
    functions: Spgemm,
    a: &'p Formats<V>,
    b: &'p Formats<V>,
}

impl Cusparse {
    /// Copies a problem to the GPU.
    ///
    /// # Errors
    ///
    /// If there is not enough memory, or a matrix has more nonzeros than 32 bits can count.
    pub(in crate::peers) fn spgemm_problem<V: PeerScalar>(
        &self,
        a: &Csr<V>,
        b: &Csr<V>,
    ) -> Result<SpgemmProblem<'_, V>, PeerError> {
        let (a, b) = (Formats::upload(self.runtime, a)?, Formats::upload(self.runtime, b)?);
        Ok(SpgemmProblem { library: self, a, b })
    }
}

/// Buffers that grow on demand and are kept between products.
struct Buffers {
    held: Vec<Buffer<u8>>,
    bytes: Vec<usize>,
}

impl Buffers {
    fn new(count: usize, runtime: Runtime) -> Result<Self, PeerError> {
        let held = (0..count).map(|_| runtime.allocate::<u8>(0)).collect::<Result<_, _>>()?;
        Ok(Self { held, bytes: vec![0; count] })
    }

    /// The address of a buffer with at least this many bytes.
    fn at_least(&mut self, index: usize, bytes: usize, runtime: Runtime) -> Result<Address, PeerError> {
        if bytes > self.bytes[index] {
            // Free the old one first: both may not fit.
            self.held[index] = runtime.allocate(0)?;
            self.bytes[index] = 0;
            self.held[index] = runtime.allocate(bytes)?;
            self.bytes[index] = bytes;
        }
        Ok(self.held[index].address())
    }

    fn total(&self) -> u64 {
        self.bytes.iter().map(|&bytes| bytes as u64).sum()
    }
}

/// C, with memory that is kept.
struct ProductMatrix<V> {
    row_offsets: Buffer<u32>,
    column_indices: Buffer<u32>,
    values: Buffer<V>,
    capacity: usize,
    nonzeros: usize,
}

/// The arguments that all calls of one product share.
///
/// Every call is sound for the same reasons: handle and descriptors are valid, of matrices on this GPU with matching
/// sizes; C has room for its nonzeros where it is written; the factors are on the host, where the library expects them by
/// default; sizes are written to valid locations; and a buffer has as many bytes as the call requested when called without
/// one.
struct Call<'p, V> {
    version: &'p Version,
    functions: &'p Spgemm,
    alpha: V,
    beta: V,
    a: Descriptor,
    b: Descriptor,
    c: Descriptor,
    description: Descriptor,
    algorithm: c_int,
}

/// Calls a function of a product with values.
macro_rules! product {
    ($call:expr, $function:ident $(, $last:expr)*) => {{
        let Call { version, functions, alpha, beta, a, b, c, description, algorithm } = &$call;
        // SAFETY: see `Call`.
        unsafe {
            call! {
                version, functions, $function(
                    DIRECT, DIRECT, factor(alpha), a, b, factor(beta), c, V::CUDA_TYPE, *algorithm, description
                    $(, $last)*
                )
            }
        }
    }};
}

/// Calls a function on the pattern of a product.
macro_rules! pattern {
    ($call:expr, $function:ident $(, $last:expr)*) => {{
        let Call { version, functions, a, b, c, description, algorithm, .. } = &$call;
        // SAFETY: see `Call`.
        unsafe {
            call! { version, functions, $function(DIRECT, DIRECT, a, b, c, *algorithm, description $(, $last)*) }
        }
    }};
}

impl<V: PeerScalar> SpgemmProblem<'_, V> {
    /// Times every algorithm, `repetitions` products each, and products with a known pattern, by one version after the other.
    /// Passes each result to `each`, which checks and drops it.
    pub(in crate::peers) fn measure(
        &self,
        repetitions: Repetitions,
        mut each: impl FnMut(PeerRun<PeerRows<V>>),
    ) {
        let mut take =
            |version: &Version, algorithm: &str, outcome| each(version.peer(algorithm, "csr", outcome));
        let mut problems = Vec::new();
        for version in &self.library.versions {
            match Spgemm::find(version.library) {
                Ok(functions) => problems.push(OfVersion { version, functions, a: &self.a, b: &self.b }),
                Err(error) => take(version, "all", Err(error)),
            }
        }
        for (name, code, share) in ALGORITHMS {
            for problem in &problems {
                take(problem.version, name, problem.measure_algorithm(code, share, repetitions));
            }
        }
        for (name, code) in REUSE_ALGORITHMS {
            for problem in &problems {
                take(problem.version, name, problem.measure_reuse(code, repetitions));
            }
        }
    }
}

impl<V: PeerScalar> OfVersion<'_, V> {
    fn measure_algorithm(
        &self,
        algorithm: c_int,
        share: Option<f32>,
        repetitions: Repetitions,
    ) -> Result<PeerTimes<PeerRows<V>>, PeerError> {
        let mut buffers = Buffers::new(3, self.version.runtime)?;
        let mut c = self.nothing()?;
        let run = || self.multiply(algorithm, share, &mut buffers, &mut c);
        let (times, ()) = self.time_products(repetitions, run)?;
        self.result(times, None, buffers.total(), &c)
    }

    /// Milliseconds of each product, and the result of the last. The first product, which sizes the buffers, is not counted.
    fn time_products<T>(
        &self,
        repetitions: Repetitions,
        mut run: impl FnMut() -> Result<T, PeerError>,
    ) -> Result<(Times, T), PeerError> {
        let runtime = &self.version.runtime;
        let mut last = None;
        let mut single = || {
            // Free it first: the next product may need its memory.
            last = None;
            runtime.synchronize()?;
            let start = runtime.record()?;
            last = Some(run()?);
            let end = runtime.record()?;
            runtime.elapsed_ms(&start, &end)
        };
        let times = repetitions.times(|runs| (0..runs).map(|_| single()).sum())?;
        let Some(last) = last else { unreachable!("there is at least one run") };
        Ok((times, last))
    }

    /// One product, with all of its calls.
    fn multiply(
        &self,
        algorithm: c_int,
        share: Option<f32>,
        buffers: &mut Buffers,
        c: &mut ProductMatrix<V>,
    ) -> Result<(), PeerError> {
        let version = self.version;
        let call = self.call(algorithm, c)?;
        let estimate = |bytes: *mut usize, address: Address| {
            product!(call, cusparseSpGEMM_workEstimation, bytes, address)
        };
        let compute =
            |bytes: *mut usize, address: Address| product!(call, cusparseSpGEMM_compute, bytes, address);
        let mut bytes = 0;
        estimate(&raw mut bytes, NOWHERE)?;
        estimate(&raw mut bytes, buffers.at_least(0, bytes, version.runtime)?)?;
        let mut compute_bytes = 0;
        if let Some(share) = share {
            let next = &raw mut compute_bytes;
            let estimate = |bytes: *mut usize, address: Address| {
                product!(call, cusparseSpGEMM_estimateMemory, share, bytes, address, next)
            };
            let mut bytes = 0;
            estimate(&raw mut bytes, NOWHERE)?;
            estimate(&raw mut bytes, buffers.at_least(2, bytes, version.runtime)?)?;
        } else {
            compute(&raw mut compute_bytes, NOWHERE)?;
        }
        let address = buffers.at_least(1, compute_bytes, version.runtime)?;
        compute(&raw mut compute_bytes, address)?;
        self.make_room(&call.c, c)?;
        product!(call, cusparseSpGEMM_copy)
    }

    fn measure_reuse(
        &self,
        algorithm: c_int,
        repetitions: Repetitions,
    ) -> Result<PeerTimes<PeerRows<V>>, PeerError> {
        let version = self.version;
        let mut buffers = Buffers::new(5, version.runtime)?;
        let mut c = self.nothing()?;
        let compute = |call: &Call<'_, V>| product!(call, cusparseSpGEMMreuse_compute);
        // The descriptor holds the known pattern and its buffers.
        let (times, call) = self.time_products(repetitions, || {
            let call = self.call(algorithm, &c)?;
            self.find_pattern(&call, &mut buffers, &mut c)?;
            compute(&call)?;
            Ok(call)
        })?;
        let numeric = times_ms(&version.runtime, repetitions, || compute(&call))?;
        self.result(times, Some(numeric), buffers.total(), &c)
    }

    /// The calls that compute the pattern of C, for products that reuse it.
    fn find_pattern(
        &self,
        call: &Call<'_, V>,
        buffers: &mut Buffers,
        c: &mut ProductMatrix<V>,
    ) -> Result<(), PeerError> {
        let runtime = self.version.runtime;
        let mut bytes = [0; 3];
        pattern!(call, cusparseSpGEMMreuse_workEstimation, &raw mut bytes[0], NOWHERE)?;
        let address = buffers.at_least(0, bytes[0], runtime)?;
        pattern!(call, cusparseSpGEMMreuse_workEstimation, &raw mut bytes[0], address)?;
        let count = |bytes: &mut [usize; 3], [second, third, fourth]: [Address; 3]| {
            let [of_second, of_third, of_fourth] = bytes.each_mut().map(ptr::from_mut);
            pattern!(call, cusparseSpGEMMreuse_nnz, of_second, second, of_third, third, of_fourth, fourth)
        };
        let mut addresses: [Address; 3] = [NOWHERE; 3];
        count(&mut bytes, addresses)?;
        for (index, address) in addresses.iter_mut().enumerate() {
            *address = buffers.at_least(1 + index, bytes[index], runtime)?;
        }
        count(&mut bytes, addresses)?;
        self.make_room(&call.c, c)?;
        bytes[0] = 0;
        pattern!(call, cusparseSpGEMMreuse_copy, &raw mut bytes[0], NOWHERE)?;
        let address = buffers.at_least(4, bytes[0], runtime)?;
        pattern!(call, cusparseSpGEMMreuse_copy, &raw mut bytes[0], address)
    }

    /// C without nonzeros.
    fn nothing(&self) -> Result<ProductMatrix<V>, PeerError> {
        let runtime = &self.version.runtime;
        Ok(ProductMatrix {
            row_offsets: runtime.allocate(self.a.rows + 1)?,
            column_indices: runtime.allocate(0)?,
            values: runtime.allocate(0)?,
            capacity: 0,
            nonzeros: 0,
        })
    }

    /// Allocates memory in C for the nonzeros in its descriptor.
    fn make_room(&self, description: &Descriptor, c: &mut ProductMatrix<V>) -> Result<(), PeerError> {
        let version = self.version;
        c.nonzeros = version.count_nonzeros(description)?;
        if c.nonzeros > c.capacity {
            c.capacity = 0;
            c.column_indices = version.runtime.allocate(c.nonzeros)?;
            c.values = version.runtime.allocate(c.nonzeros)?;
            c.capacity = c.nonzeros;
        }
        version.set_arrays(description, (&c.row_offsets, &c.column_indices, &c.values))
    }

    fn call(&self, algorithm: c_int, c: &ProductMatrix<V>) -> Result<Call<'_, V>, PeerError> {
        let Self { version, functions, a, b } = self;
        let described = version.describe_result::<V>((a.rows, b.cols), &c.row_offsets)?;
        // SAFETY: the descriptor is written to a valid location.
        let description = unsafe {
            describe! { version, functions, cusparseSpGEMM_createDescr(), cusparseSpGEMM_destroyDescr }
        }?;
        Ok(Call {
            version,
            functions,
            alpha: V::ONE,
            beta: V::ZERO,
            a: a.describe(version, Format::Csr)?,
            b: b.describe(version, Format::Csr)?,
            c: described,
            description,
            algorithm,
        })
    }

    fn result(
        &self,
        times: Times,
        values: Option<Times>,
        buffer_bytes: u64,
        c: &ProductMatrix<V>,
    ) -> Result<PeerTimes<PeerRows<V>>, PeerError> {
        let entry = (size_of::<u32>() + size_of::<V>()) as u64;
        let mut column_indices = c.column_indices.download()?;
        let mut elements = c.values.download()?;
        column_indices.truncate(c.nonzeros);
        elements.truncate(c.nonzeros);
        let result = PeerRows { row_offsets: c.row_offsets.download()?, column_indices, values: elements };
        let bytes = buffer_bytes + c.nonzeros as u64 * entry + 4 * (self.a.rows as u64 + 1);
        Ok(PeerTimes { times, values, setup_ms: 0.0, bytes, result })
    }
}
