//! `SpMVOp`, a product by a plan: z = αAx + βy, here with y itself as z. The header calls it experimental.

use std::ffi::c_int;
use std::ptr;

use evenpath::RealStorage;

use super::call::{Argument, Descriptor, call, factor};
use super::formats::{Format, Formats};
use super::functions::SpmvOp;
use super::spmv_problem::{Product, Run, SpmvProblem};
use super::version::{Version, code};
use crate::measure::Clock;
use crate::peers::cuda::Buffer;
use crate::peers::{PeerError, PeerScalar, Ready};

/// The algorithms, by name and number in the header.
pub(super) const ALGORITHMS: [(&str, c_int); 3] =
    [("SPMV_OP", 0), ("SPMV_OP, ALG1", 1), ("SPMV_OP, ALG2", 2)];

/// An element of y that is not written, where that may be read although β is zero: 0 times it is 0, unlike 0 times NaN.
const UNWRITTEN: f64 = 1e30;

impl<V: PeerScalar> SpmvProblem<'_, V> {
    /// A plan of an algorithm of `SpMVOp`. Its preprocessing is the size query and the plan.
    pub(super) fn prepare_op<'p>(
        &'p self,
        version: &'p Version,
        functions: SpmvOp,
        algorithm: c_int,
    ) -> Result<Ready<'p, V>, PeerError> {
        let runtime = version.runtime;
        let before: Vec<V> = if self.operands.beta == V::ZERO {
            let part = V::Real::from_f64(UNWRITTEN);
            vec![V::from_parts(part, part); self.operands.y.len()]
        } else {
            self.operands.y.to_vec()
        };
        let y = runtime.upload(&before)?;
        let describe = || Operands::new(self, version, functions, algorithm, &y);
        // The first plan also loads code. The second has descriptors of its own.
        let first = describe()?;
        let buffer = runtime.allocate::<u8>(first.buffer_bytes()?)?;
        drop(first.plan(&buffer)?);
        drop(first);
        let operands = describe()?;
        runtime.synchronize()?;
        let start = runtime.record()?;
        let workspace_bytes = operands.buffer_bytes()?;
        let planned = operands.plan(&buffer)?;
        let preprocessing_ms = runtime.elapsed_ms(&start, &runtime.record()?)?;
        let call = Call { planned, operands, _buffer: buffer };
        let prepared = Box::new(Product { runtime, call, y, before });
        Ok(Ready { preprocessing_ms, workspace_bytes, prepared })
    }
}

/// Operands of a plan.
struct Operands<'p, V> {
    version: &'p Version,
    functions: SpmvOp,
    operation: c_int,
    alpha: V,
    matrix: Descriptor,
    x: Descriptor,
    beta: V,
    y: Descriptor,
    algorithm: c_int,
}

/// A plan, and the description that it is of, which is destroyed after it.
struct Planned {
    plan: Descriptor,
    _description: Descriptor,
}

/// A plan that is ready to run. Its parts are dropped in this order.
struct Call<'p, V> {
    planned: Planned,
    operands: Operands<'p, V>,
    _buffer: Buffer<u8>,
}

impl<'p, V: PeerScalar> Operands<'p, V> {
    fn new(
        problem: &SpmvProblem<'_, V>,
        version: &'p Version,
        functions: SpmvOp,
        algorithm: c_int,
        y: &Buffer<V>,
    ) -> Result<Self, PeerError> {
        let SpmvProblem { formats, operands, x, operation, .. } = problem;
        let Formats { rows, cols, .. } = formats;
        let (rows, cols) = operation.shape(*rows, *cols);
        Ok(Self {
            version,
            functions,
            operation: code(*operation),
            alpha: operands.alpha,
            matrix: formats.describe(version, Format::Csr)?,
            x: version.vector(cols, x)?,
            beta: operands.beta,
            y: version.vector(rows, y)?,
            algorithm,
        })
    }

    fn buffer_bytes(&self) -> Result<usize, PeerError> {
        let Self { version, functions, operation, matrix, x, y, algorithm, .. } = self;
        let mut bytes = 0;
        // SAFETY: handle and descriptors are valid, of operands on this GPU with matching sizes; the number is written to a
        // valid location.
        unsafe {
            call! {
                version, functions, cusparseSpMVOp_bufferSize(
                    *operation, matrix, x, y, y, V::CUDA_TYPE, *algorithm, &raw mut bytes
                )
            }
        }?;
        Ok(bytes)
    }

    /// A plan without an operation of the caller's on the result. The buffer, of the requested size, must outlive it.
    fn plan(&self, buffer: &Buffer<u8>) -> Result<Planned, PeerError> {
        let Self { version, functions, operation, matrix, x, y, algorithm, .. } = self;
        let (handle, [matrix, x, y]) = (version.handle, [matrix, x, y].map(Argument::raw));
        let destroy = functions.cusparseSpMVOp_destroyDescr;
        let create = functions.cusparseSpMVOp_createDescr;
        let description = Descriptor::new(version, "cusparseSpMVOp_createDescr", destroy, |address| {
            let (kind, buffer) = (V::CUDA_TYPE, buffer.address());
            // SAFETY: as for the size query; the buffer has the requested size.
            unsafe { create(handle, address, *operation, matrix, x, y, y, kind, *algorithm, buffer) }
        })?;
        let destroy = functions.cusparseSpMVOp_destroyPlan;
        let plan = Descriptor::new(version, "cusparseSpMVOp_createPlan", destroy, |address| {
            let (code, bytes, description) = (ptr::null(), 0, description.raw());
            // SAFETY: the description is valid, the plan is written to a valid location, and there is no code.
            unsafe { (functions.cusparseSpMVOp_createPlan)(handle, description, address, code, bytes) }
        })?;
        Ok(Planned { plan, _description: description })
    }
}

impl<V: PeerScalar> Run for Call<'_, V> {
    fn run(&self) -> Result<(), PeerError> {
        let Operands { version, functions, alpha, x, beta, y, .. } = &self.operands;
        // SAFETY: plan and descriptors are valid, of operands on this GPU; the factors are on the host, where the library
        // expects them by default.
        unsafe {
            call! { version, functions, cusparseSpMVOp(&self.planned.plan, factor(alpha), factor(beta), x, y, y) }
        }
    }
}
