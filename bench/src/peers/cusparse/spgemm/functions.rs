//! The functions of the library, as in its header.

use std::ffi::{c_int, c_void};

use crate::peers::library::functions;

pub(super) type Address = *mut c_void;
pub(super) type Number = *const c_void;

functions! {
    struct Functions of "cuSPARSE's SpGEMM";
    fn cusparseSpGEMM_createDescr(*mut Address) -> c_int;
    fn cusparseSpGEMM_destroyDescr(Address) -> c_int;
    // Handle, operations on A and B, alpha, A, B, beta, C, type to compute in, algorithm, description.
    fn cusparseSpGEMM_workEstimation(
        Address, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMM_compute(
        Address, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMM_copy(
        Address, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
    // As before; fraction of the products per chunk, bytes and address of the buffer for this call, bytes of the one for
    // the next.
    fn cusparseSpGEMM_estimateMemory(
        Address, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address, f32, *mut usize,
        Address, *mut usize,
    ) -> c_int;
    // Handle, operations, A, B, C, algorithm, description.
    fn cusparseSpGEMMreuse_workEstimation(
        Address, c_int, c_int, Address, Address, Address, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMMreuse_nnz(
        Address, c_int, c_int, Address, Address, Address, c_int, Address, *mut usize, Address, *mut usize, Address,
        *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMMreuse_copy(
        Address, c_int, c_int, Address, Address, Address, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMMreuse_compute(
        Address, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
}

/// Handle, operations on A and B, alpha, A, B, beta, C, type to compute in, algorithm, description: `SpGEMM_copy` and
/// `SpGEMMreuse_compute`.
pub(super) type ProductFunction = unsafe extern "C" fn(
    Address,
    c_int,
    c_int,
    Number,
    Address,
    Address,
    Number,
    Address,
    c_int,
    c_int,
    Address,
) -> c_int;

/// The same, and bytes and address of a buffer: `SpGEMM_workEstimation` and `SpGEMM_compute`.
pub(super) type BufferFunction = unsafe extern "C" fn(
    Address,
    c_int,
    c_int,
    Number,
    Address,
    Address,
    Number,
    Address,
    c_int,
    c_int,
    Address,
    *mut usize,
    Address,
) -> c_int;

/// Handle, operations, A, B, C, algorithm, description, bytes and address of a buffer: `SpGEMMreuse_workEstimation` and
/// `SpGEMMreuse_copy`.
pub(super) type PatternFunction = unsafe extern "C" fn(
    Address,
    c_int,
    c_int,
    Address,
    Address,
    Address,
    c_int,
    Address,
    *mut usize,
    Address,
) -> c_int;
