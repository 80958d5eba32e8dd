//! Types and numbers of the library's header, for versions 0.8 and 1.0.

use std::ffi::{c_int, c_void};

/// `cudssHandle_t`, `cudssConfig_t`, `cudssData_t` and `cudssMatrix_t`.
pub(super) type Object = *mut c_void;

/// `CUDSS_STATUS_SUCCESS`.
pub(super) const SUCCESS: c_int = 0;

/// The meaning of a `cudssStatus_t`.
pub(super) fn meaning(status: c_int) -> &'static str {
    match status {
        SUCCESS => "success",
        1 => "the library is not initialized",
        2 => "too little memory",
        3 => "an invalid value",
        4 => "not supported",
        5 => "execution failed",
        6 => "an internal error",
        7 => "iterative refinement failed",
        _ => "an unknown status",
    }
}

/// `cudssPhase_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Phase {
    Analysis = 1 | 2,
    Factorization = 4,
    Refactorization = 8,
    Solve = 0b11_1111_0000,
}

/// `cudssMatrixType_t`.
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub(super) enum MatrixType {
    General = 0,
    Symmetric = 1,
    PositiveDefinite = 3,
}

/// `CUDSS_MVIEW_FULL`: both triangles are read.
pub(super) const FULL: c_int = 0;
/// `CUDSS_MVIEW_LOWER`: what is above the diagonal is ignored.
pub(super) const LOWER: c_int = 1;
/// `CUDSS_BASE_ZERO`.
pub(super) const FROM_ZERO: c_int = 0;
/// `CUDSS_LAYOUT_COL_MAJOR`.
pub(super) const COLUMN_MAJOR: c_int = 0;

/// `CUDSS_CONFIG_DETERMINISTIC_MODE`.
pub(super) const DETERMINISTIC: c_int = 24;

/// `CUDSS_DATA_INFO`, an `int`: 0 unless a factorization failed.
pub(super) const INFO: c_int = 0;
/// `CUDSS_DATA_LU_NNZ`, an `int64_t`.
pub(super) const FACTOR_NONZEROS: c_int = 1;

/// `CUDA_R_32I`.
pub(super) const INT_32: c_int = 10;
/// `CUDA_R_64I`.
pub(super) const INT_64: c_int = 24;
/// `CUDA_R_32F`.
pub(super) const REAL_32: c_int = 0;
/// `CUDA_R_64F`.
pub(super) const REAL_64: c_int = 1;
