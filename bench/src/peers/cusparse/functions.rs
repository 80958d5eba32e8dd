//! The functions of cuSPARSE, with the types of its header.

use std::ffi::{c_char, c_int, c_void};

use libloading::Library;

use crate::peers::library::functions;

type Handle = *mut c_void;
pub(super) type Address = *mut c_void;
type Number = *const c_void;

functions! {
    struct Functions of "cuSPARSE";
    fn cusparseCreate(*mut Handle) -> c_int;
    fn cusparseDestroy(Handle) -> c_int;
    fn cusparseGetVersion(Handle, *mut c_int) -> c_int;
    fn cusparseGetErrorString(c_int) -> *const c_char;
    // Rows, columns, nonzeros, row offsets, columns, values, types of offsets and columns, base, type of values.
    fn cusparseCreateCsr(
        *mut Address, i64, i64, i64, Address, Address, Address, c_int, c_int, c_int, c_int,
    ) -> c_int;
    // Rows, columns, nonzeros, row and column indices, values, type of indices, base, type of values.
    fn cusparseCreateCoo(*mut Address, i64, i64, i64, Address, Address, Address, c_int, c_int, c_int) -> c_int;
    fn cusparseDestroySpMat(Address) -> c_int;
    // Length, elements, type.
    fn cusparseCreateDnVec(*mut Address, i64, Address, c_int) -> c_int;
    fn cusparseDestroyDnVec(Address) -> c_int;
    // Rows, columns, leading dimension, elements, type, order.
    fn cusparseCreateDnMat(*mut Address, i64, i64, i64, Address, c_int, c_int) -> c_int;
    fn cusparseDestroyDnMat(Address) -> c_int;
    // Operation, alpha, A, x, beta, y, type to compute in, algorithm.
    fn cusparseSpMV_bufferSize(
        Handle, c_int, Number, Address, Address, Number, Address, c_int, c_int, *mut usize,
    ) -> c_int;
    fn cusparseSpMV(Handle, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address) -> c_int;
    // Operations on A and B, alpha, A, B, beta, C, type to compute in, algorithm.
    fn cusparseSpMM_bufferSize(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, *mut usize,
    ) -> c_int;
    fn cusparseSpMM_preprocess(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
    fn cusparseSpMM(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
}

/// `cusparseSpMV` and `cusparseSpMV_preprocess`.
pub(super) type SpmvFunction = unsafe extern "C" fn(
    Handle,
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

/// `cusparseSpMM` and `cusparseSpMM_preprocess`.
pub(super) type SpmmFunction = unsafe extern "C" fn(
    Handle,
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

/// Rows, columns, nonzeros, elements stored, rows per slice, slice offsets, columns, values, types of offsets and
/// columns, base, type of values.
pub(super) type CreateSlicedEll = unsafe extern "C" fn(
    *mut Address,
    i64,
    i64,
    i64,
    i64,
    i64,
    Address,
    Address,
    Address,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// Functions that older versions lack.
#[derive(Clone, Copy)]
pub(super) struct Optional {
    pub(super) spmv_preprocess: Option<SpmvFunction>,
    pub(super) create_sliced_ell: Option<CreateSlicedEll>,
}

impl Optional {
    pub(super) fn find(library: &'static Library) -> Self {
        Self {
            // SAFETY: the type is that of the header.
            spmv_preprocess: unsafe { library.get(b"cusparseSpMV_preprocess\0") }.ok().map(|symbol| *symbol),
            // SAFETY: the type is that of the header.
            create_sliced_ell: unsafe { library.get(b"cusparseCreateSlicedEll\0") }
                .ok()
                .map(|symbol| *symbol),
        }
    }
}

functions! {
    struct Spadd of "cuSPARSE";
    fn cusparseCreateMatDescr(*mut Address) -> c_int;
    fn cusparseDestroyMatDescr(Address) -> c_int;
    // Rows, columns; description, nonzeros, row offsets and columns of A and of B; for C the description, row offsets and
    // nonzeros; workspace.
    fn cusparseXcsrgeam2Nnz(
        Handle, c_int, c_int, Address, c_int, Address, Address, Address, c_int, Address, Address, Address, Address,
        *mut c_int, Address,
    ) -> c_int;
    // Rows, columns; alpha, description, nonzeros, values, row offsets and columns of A; beta and the same of B; for C
    // the description, values, row offsets and columns; the output for the size, or the workspace.
    fn cusparseScsrgeam2_bufferSizeExt(
        Handle, c_int, c_int, Number, Address, c_int, Address, Address, Address, Number, Address, c_int, Address,
        Address, Address, Address, Address, Address, Address, Address,
    ) -> c_int;
    fn cusparseDcsrgeam2_bufferSizeExt(
        Handle, c_int, c_int, Number, Address, c_int, Address, Address, Address, Number, Address, c_int, Address,
        Address, Address, Address, Address, Address, Address, Address,
    ) -> c_int;
    fn cusparseScsrgeam2(
        Handle, c_int, c_int, Number, Address, c_int, Address, Address, Address, Number, Address, c_int, Address,
        Address, Address, Address, Address, Address, Address, Address,
    ) -> c_int;
    fn cusparseDcsrgeam2(
        Handle, c_int, c_int, Number, Address, c_int, Address, Address, Address, Number, Address, c_int, Address,
        Address, Address, Address, Address, Address, Address, Address,
    ) -> c_int;
}

/// `csrgeam2_bufferSizeExt` and `csrgeam2`, whose last argument is the output for the size, or the workspace.
pub(super) type SumFunction = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    Number,
    Address,
    c_int,
    Address,
    Address,
    Address,
    Number,
    Address,
    c_int,
    Address,
    Address,
    Address,
    Address,
    Address,
    Address,
    Address,
    Address,
) -> c_int;

functions! {
    struct Transpose of "cuSPARSE";
    // Rows, columns, nonzeros; values, row offsets and columns; for the transpose values, row offsets and columns; type
    // of values, whether values are copied, base, algorithm; the output for the size, or the workspace.
    fn cusparseCsr2cscEx2_bufferSize(
        Handle, c_int, c_int, c_int, Address, Address, Address, Address, Address, Address, c_int, c_int, c_int, c_int,
        *mut usize,
    ) -> c_int;
    fn cusparseCsr2cscEx2(
        Handle, c_int, c_int, c_int, Address, Address, Address, Address, Address, Address, c_int, c_int, c_int, c_int,
        Address,
    ) -> c_int;
}
