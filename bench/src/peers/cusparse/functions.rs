//! The functions of cuSPARSE, with the types of its header.

use std::ffi::{c_char, c_int, c_void};

use libloading::Library;

use crate::peers::library::functions;

pub(super) type Handle = *mut c_void;
pub(super) type Address = *mut c_void;
pub(super) type Number = *const c_void;

/// The address of an array that is not there.
pub(super) const NOWHERE: Address = std::ptr::null_mut();

/// `CUSPARSE_INDEX_32I`.
pub(super) const INDEX_32: c_int = 2;
/// `CUSPARSE_INDEX_BASE_ZERO`.
pub(super) const BASE_ZERO: c_int = 0;
/// `CUSPARSE_OPERATION_NON_TRANSPOSE`.
pub(super) const DIRECT: c_int = 0;

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
    // Matrix; rows, columns, nonzeros.
    fn cusparseSpMatGetSize(Address, *mut i64, *mut i64, *mut i64) -> c_int;
    // Matrix; row offsets, columns, values.
    fn cusparseCsrSetPointers(Address, Address, Address, Address) -> c_int;
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

functions! {
    struct Sddmm of "cuSPARSE's SDDMM";
    // Operations on A and B, alpha, A, B, beta, C, type to compute in, algorithm.
    fn cusparseSDDMM_bufferSize(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, *mut usize,
    ) -> c_int;
    fn cusparseSDDMM_preprocess(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
    fn cusparseSDDMM(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
}

functions! {
    struct Spsv of "cuSPARSE's SpSV";
    // Matrix, attribute, address and bytes of its value.
    fn cusparseSpMatSetAttribute(Address, c_int, Address, usize) -> c_int;
    fn cusparseSpSV_createDescr(*mut Address) -> c_int;
    fn cusparseSpSV_destroyDescr(Address) -> c_int;
    // Operation, alpha, A, right-hand side, solution, type to compute in, algorithm, description; the output for the size, or the
    // workspace.
    fn cusparseSpSV_bufferSize(
        Handle, c_int, Number, Address, Address, Address, c_int, c_int, Address, *mut usize,
    ) -> c_int;
    fn cusparseSpSV_analysis(
        Handle, c_int, Number, Address, Address, Address, c_int, c_int, Address, Address,
    ) -> c_int;
    fn cusparseSpSV_solve(Handle, c_int, Number, Address, Address, Address, c_int, c_int, Address) -> c_int;
}

functions! {
    struct SpsvUpdate of "cuSPARSE's SpSV";
    // Description, new values, the part of the matrix that they are.
    fn cusparseSpSV_updateMatrix(Handle, Address, Address, c_int) -> c_int;
}

functions! {
    struct SpmvPreprocess of "cuSPARSE's SpMV_preprocess";
    // The arguments of cusparseSpMV.
    fn cusparseSpMV_preprocess(
        Handle, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
}

functions! {
    struct SlicedEll of "cuSPARSE's sliced ELL";
    // Rows, columns, nonzeros, elements stored, rows per slice, slice offsets, columns, values, types of offsets and
    // columns, base, type of values.
    fn cusparseCreateSlicedEll(
        *mut Address, i64, i64, i64, i64, i64, Address, Address, Address, c_int, c_int, c_int, c_int,
    ) -> c_int;
    fn cusparseDestroySpMat(Address) -> c_int;
}

functions! {
    struct Bsr of "cuSPARSE's BSR";
    // Rows, columns and number of blocks, rows and columns of a block, row offsets, columns, values, types of offsets and
    // columns, base, type of values, order within a block.
    fn cusparseCreateBsr(
        *mut Address, i64, i64, i64, i64, i64, Address, Address, Address, c_int, c_int, c_int, c_int, c_int,
    ) -> c_int;
    fn cusparseDestroySpMat(Address) -> c_int;
}

functions! {
    struct Bsrmv of "cuSPARSE's bsrmv";
    fn cusparseCreateMatDescr(*mut Address) -> c_int;
    fn cusparseDestroyMatDescr(Address) -> c_int;
    // Order within a block, operation; rows, columns and number of blocks; alpha, description, values, row offsets, columns, rows of
    // a block, x, beta, y.
    fn cusparseSbsrmv(
        Handle, c_int, c_int, c_int, c_int, c_int, Number, Address, Address, Address, Address, c_int, Address, Number,
        Address,
    ) -> c_int;
    fn cusparseDbsrmv(
        Handle, c_int, c_int, c_int, c_int, c_int, Number, Address, Address, Address, Address, c_int, Address, Number,
        Address,
    ) -> c_int;
    fn cusparseCbsrmv(
        Handle, c_int, c_int, c_int, c_int, c_int, Number, Address, Address, Address, Address, c_int, Address, Number,
        Address,
    ) -> c_int;
    fn cusparseZbsrmv(
        Handle, c_int, c_int, c_int, c_int, c_int, Number, Address, Address, Address, Address, c_int, Address, Number,
        Address,
    ) -> c_int;
}

functions! {
    struct SpmvOp of "cuSPARSE's SpMVOp";
    // Operation, A, x, the vector that is added, the result, type to compute in, algorithm.
    fn cusparseSpMVOp_bufferSize(
        Handle, c_int, Address, Address, Address, Address, c_int, c_int, *mut usize,
    ) -> c_int;
    fn cusparseSpMVOp_createDescr(
        Handle, *mut Address, c_int, Address, Address, Address, Address, c_int, c_int, Address,
    ) -> c_int;
    fn cusparseSpMVOp_destroyDescr(Address) -> c_int;
    // Description, plan, code of an operation on the result, its bytes.
    fn cusparseSpMVOp_createPlan(Handle, Address, *mut Address, *const c_void, usize) -> c_int;
    fn cusparseSpMVOp_destroyPlan(Address) -> c_int;
    // Plan, alpha, beta, x, the vector that is added, the result.
    fn cusparseSpMVOp(Handle, Address, Number, Number, Address, Address, Address) -> c_int;
}

/// The first version whose `SpMVOp` takes an algorithm, as above; those before have other arguments.
const SPMV_OP_WITH_ALGORITHM: c_int = 12_801;

functions! {
    struct Spgeam of "cuSPARSE's SpGEAM";
    fn cusparseSpGEAM_createDescr(*mut Address) -> c_int;
    fn cusparseSpGEAM_destroyDescr(Address) -> c_int;
    // Operations on A and B, alpha, A, beta, B, C, type to compute in, algorithm, description.
    fn cusparseSpGEAM_bufferSize(
        Handle, c_int, c_int, Number, Address, Number, Address, Address, c_int, c_int, Address, *mut usize,
    ) -> c_int;
    fn cusparseSpGEAM_nnz(
        Handle, c_int, c_int, Number, Address, Number, Address, Address, c_int, c_int, Address, Address,
    ) -> c_int;
    fn cusparseSpGEAM(
        Handle, c_int, c_int, Number, Address, Number, Address, Address, c_int, c_int, Address, Address,
    ) -> c_int;
}

/// Functions that older versions lack.
#[derive(Clone, Copy, Default)]
pub(super) struct Optional {
    pub(super) spmv_preprocess: Option<SpmvPreprocess>,
    pub(super) sliced_ell: Option<SlicedEll>,
    pub(super) bsr: Option<Bsr>,
    pub(super) bsrmv: Option<Bsrmv>,
    pub(super) spmv_op: Option<SpmvOp>,
    pub(super) spgeam: Option<Spgeam>,
}

impl Optional {
    /// Looks up the functions in a library, whose version is major * 1000 + minor * 100 + patch.
    pub(super) fn find(library: &'static Library, version: c_int) -> Self {
        let has_spmv_op = version >= SPMV_OP_WITH_ALGORITHM;
        Self {
            spmv_preprocess: SpmvPreprocess::find(library).ok(),
            sliced_ell: SlicedEll::find(library).ok(),
            bsr: Bsr::find(library).ok(),
            bsrmv: Bsrmv::find(library).ok(),
            spmv_op: has_spmv_op.then(|| SpmvOp::find(library).ok()).flatten(),
            spgeam: Spgeam::find(library).ok(),
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
        Address, Address, Address, Address, Address, Address, *mut usize,
    ) -> c_int;
    fn cusparseDcsrgeam2_bufferSizeExt(
        Handle, c_int, c_int, Number, Address, c_int, Address, Address, Address, Number, Address, c_int, Address,
        Address, Address, Address, Address, Address, Address, *mut usize,
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

functions! {
    struct Spgemm of "cuSPARSE's SpGEMM";
    fn cusparseSpGEMM_createDescr(*mut Address) -> c_int;
    fn cusparseSpGEMM_destroyDescr(Address) -> c_int;
    // Operations on A and B, alpha, A, B, beta, C, type to compute in, algorithm, description; bytes and address of a buffer.
    fn cusparseSpGEMM_workEstimation(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMM_compute(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMM_copy(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
    // The same; fraction of the products per chunk, bytes and address of the buffer for this call, bytes of the one for
    // the next.
    fn cusparseSpGEMM_estimateMemory(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address, f32, *mut usize,
        Address, *mut usize,
    ) -> c_int;
    // Operations, A, B, C, algorithm, description; bytes and address of a buffer.
    fn cusparseSpGEMMreuse_workEstimation(
        Handle, c_int, c_int, Address, Address, Address, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMMreuse_nnz(
        Handle, c_int, c_int, Address, Address, Address, c_int, Address, *mut usize, Address, *mut usize, Address,
        *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMMreuse_copy(
        Handle, c_int, c_int, Address, Address, Address, c_int, Address, *mut usize, Address,
    ) -> c_int;
    fn cusparseSpGEMMreuse_compute(
        Handle, c_int, c_int, Number, Address, Address, Number, Address, c_int, c_int, Address,
    ) -> c_int;
}

functions! {
    struct Descriptions of "cuSPARSE";
    fn cusparseCreateMatDescr(*mut Address) -> c_int;
    fn cusparseDestroyMatDescr(Address) -> c_int;
}

/// The size of the workspace of a factorization: rows, nonzeros, description, values, row offsets, columns, information.
pub(super) type FactorSize = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    Address,
    Address,
    Address,
    Address,
    Address,
    *mut c_int,
) -> c_int;

/// The analysis or the run of a factorization: the same, then policy and workspace.
pub(super) type FactorStep = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    Address,
    Address,
    Address,
    Address,
    Address,
    c_int,
    Address,
) -> c_int;

/// Declares the functions of an incomplete factorization: those of its information, then for each type of values the size of the
/// workspace, the analysis and the run.
macro_rules! factorization {
    ($functions:ident: $create:ident, $destroy:ident, $($size:ident, $analysis:ident, $run:ident),+) => {
        functions! {
            struct $functions of "cuSPARSE";
            fn $create(*mut Address) -> c_int;
            fn $destroy(Address) -> c_int;
            $(
                fn $size(
                    Handle, c_int, c_int, Address, Address, Address, Address, Address, *mut c_int,
                ) -> c_int;
                fn $analysis(
                    Handle, c_int, c_int, Address, Address, Address, Address, Address, c_int, Address,
                ) -> c_int;
                fn $run(
                    Handle, c_int, c_int, Address, Address, Address, Address, Address, c_int, Address,
                ) -> c_int;
            )+
        }
    };
}
factorization! {
    Lu: cusparseCreateCsrilu02Info, cusparseDestroyCsrilu02Info,
    cusparseScsrilu02_bufferSize, cusparseScsrilu02_analysis, cusparseScsrilu02,
    cusparseDcsrilu02_bufferSize, cusparseDcsrilu02_analysis, cusparseDcsrilu02
}
factorization! {
    Cholesky: cusparseCreateCsric02Info, cusparseDestroyCsric02Info,
    cusparseScsric02_bufferSize, cusparseScsric02_analysis, cusparseScsric02,
    cusparseDcsric02_bufferSize, cusparseDcsric02_analysis, cusparseDcsric02
}
