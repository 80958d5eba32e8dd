//! Operations on matrices, vectors and sequences in a device's memory: plan, launch, result.

mod aligned;
mod block_size;
mod canonical;
mod coo;
mod csr_parts;
mod device_csr;
mod device_dense;
mod ell;
mod error;
mod factor;
mod filled_rows;
mod hisparse;
mod host_csr;
mod hyb;
pub mod merge;
pub(crate) mod operands;
mod operators;
mod pairs;
mod path_tiles;
mod positions;
mod product;
mod radix_sort;
pub mod reduce;
mod requirement;
mod row_marks;
mod row_order;
pub mod scan;
mod segmented_radix_sort;
pub mod sets;
mod sliced_ell;
pub mod sort;
mod sort_rows;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_transposed;
mod transpose;
mod values;
pub mod vector;

pub use coo::DeviceCoo;
pub use device_csr::DeviceCsr;
pub use device_dense::{DeviceDense, InvalidDense, Layout};
pub use ell::{DeviceEll, DeviceEllR, EllOptions, EllR, XLoads};
pub use error::OpError;
pub use factor::Factor;
pub use hisparse::{
    DeviceHiSparse, HiSparseQueuedOptions, HiSparseQueuedPlan, HiSparseQueuedPlanInfo, HiSparseSpaddMethod,
    HiSparseSpaddOptions, HiSparseSpgemmMethod, HiSparseSpgemmOptions, HiSparseSpmmOptions, HiSparseSpmmPlan,
    HiSparseSpmmPlanInfo, HiSparseSpmvMethod, HiSparseSpmvOptions, HiSparseSpmvPlan, HiSparseSpmvPlanInfo,
};
pub use hyb::DeviceHyb;
pub use pairs::Pairs;
pub use row_order::DeviceRowOrder;
pub use sliced_ell::DeviceSlicedEll;
pub use spadd::{ElementwisePlan, ElementwisePlanInfo};
pub use spgemm::{SpgemmMethod, SpgemmOptions, SpgemmPhases, SpgemmPlan, SpgemmPlanInfo};
pub use spmm::{SpmmOperand, SpmmOptions, SpmmPlan, SpmmPlanInfo};
pub use spmv::{SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo, SpmvTiming, SpmvTuning};
pub use spmv_transposed::{
    SpmvTransposedMethod, SpmvTransposedOptions, SpmvTransposedPlan, SpmvTransposedPlanInfo,
};

use crate::device::{instance, variant};
use crate::{MatrixError, Offset};

/// The number of nonzeros of a result, if row offsets of this type count them; `remedy` says what to call if not.
fn countable<O: Offset>(nonzeros: u64, remedy: &'static str) -> Result<usize, OpError> {
    let len = usize::try_from(nonzeros).ok().filter(|&len| O::try_from_usize(len).is_some());
    let overflow = MatrixError::OffsetOverflow { nnz: nonzeros, offset: O::NAME, remedy };
    len.ok_or(OpError::Matrix(overflow))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_an_offset_are_named() {
        let beyond = 1_u64 << 32;
        assert_eq!(countable::<u32>(beyond - 1, "").ok(), Some(u32::MAX as usize));
        assert_eq!(countable::<u64>(beyond, "").ok(), Some(1 << 32));
        let text = countable::<u32>(beyond, "ask for less").unwrap_err().to_string();
        assert!(text.contains("4294967296 nonzeros") && text.contains("ask for less"), "{text}");
    }
}
