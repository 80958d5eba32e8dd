//! Sparse linear algebra on NVIDIA GPUs, written entirely in Rust.
//!
//! ```
//! use evenpath::prelude::*;
//!
//! fn main() -> evenpath::Result<()> {
//!     let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
//!     let device = Device::best()?; // the first NVIDIA GPU, or the CPU
//!     let a = device.upload(&a)?;
//!     let x = device.upload(&[1.0, 10.0, 100.0])?;
//!     let mut y = device.zeros(a.nrows())?;
//!     let plan = a.plan_spmv(SpmvOptions::default())?; // once per matrix
//!     plan.run(1.0, &x, 0.0, &mut y)?; // y = 1·Ax + 0·y, as often as needed
//!     assert_eq!(y.download()?, [201.0, 30.0]);
//!     Ok(())
//! }
//! ```
//!
//! # Modules
//!
//! The root has the names that most programs need: matrices, devices, value types and [`Error`]. [`prelude`]
//! has these and the options of the common operations. Everything else is in the module of its format or
//! operation.
//!
//! | formats | in host memory | on a device |
//! |---|---|---|
//! | [`csr`] | [`Csr`] | [`DeviceCsr`] |
//! | [`coo`] | [`Coo`] | [`DeviceCoo`](coo::DeviceCoo) |
//! | [`bsr`] | [`Bsr`] | [`DeviceBsr`](bsr::DeviceBsr) |
//! | [`ell`] | [`Ell`], [`SlicedEll`] | [`DeviceEll`](ell::DeviceEll), [`DeviceEllR`](ell::DeviceEllR), [`DeviceSlicedEll`](ell::DeviceSlicedEll) |
//! | [`hyb`] | [`Hyb`] | [`DeviceHyb`](hyb::DeviceHyb) |
//! | [`hisparse`] | [`HiSparse`] | [`DeviceHiSparse`](hisparse::DeviceHiSparse) |
//! | [`dense`] | a slice | [`DeviceVec`], [`DeviceDense`] |
//!
//! [`Device::upload`] copies any of them to a device, and its `download` copies it back.
//!
//! | operations | |
//! |---|---|
//! | [`spmv`], [`spmm`] | sparse matrix times dense vector or matrix, also with the transpose |
//! | [`spgemm`], [`spadd`] | products, sums and masks of sparse matrices |
//! | [`semiring`] | products with other sums and products, such as minimum and sum |
//! | [`cg`] | steps of conjugate gradients whose scalars stay on the device |
//! | [`triangular`], [`factorization`] | solutions of triangular systems; incomplete factorizations |
//! | [`graph`] | searches, paths, components, triangles, ranks and cores of graphs |
//! | [`assembly`] | matrices from triplets or finite elements, again with new values |
//! | [`vector`] | sums, inner products and functions of dense vectors |
//! | [`scan`], [`reduce`], [`sort`], [`merge`], [`sets`] | primitives on sequences of [keys](key) and [elements](operator) |
//! | [`io`], [`generate`] | Matrix Market files, and matrices to test with |
//!
//! A method named `plan_…` analyzes its operands once; the plan's `run` computes, as often as needed, and its
//! `info` reports its choices. Options have a `Default` and `with_…` methods. [`error`] lists the errors.
//! `docs/guide/properties.md` lists the types that an operation takes, its memory, if it waits, and if its
//! results are the same to the bit.

mod convert;
mod cpu;
pub mod device;
pub mod dlpack;
mod element;
mod entry;
pub mod error;
mod format;
pub mod graph;
mod interop;
pub mod io;
mod keys;
#[cfg(feature = "lab")]
#[doc(hidden)]
pub mod lab;
mod matrix;
mod memory;
mod names;
mod offset;
mod op;
mod operand;
mod operation;
mod parallel;
mod policy;
pub mod prelude;
mod scalar;
mod scale;
pub mod semiring;
mod sequence;
mod threads;
mod values;

pub use convert::ConvertTo;
pub use device::{Device, DeviceSlice, DeviceVec};
pub use entry::Entry;
pub use error::{Error, Result};
pub use format::{DeviceCsr, DeviceDense, Layout};
#[cfg(feature = "cudarc")]
pub use interop::cudarc::CudarcVec;
pub use matrix::{Coo, Csr, HiSparse, generate};
pub use offset::Offset;
pub use operand::Factor;
pub use scalar::{Complex, Compute, Multiplies, RealStorage, Scalar, Storage, Value, bf16, f16};
pub use sequence::{merge, reduce, scan, sets, sort, vector};

/// Steps of conjugate gradients whose scalars stay on the device.
pub mod cg {
    pub use crate::op::CgVectors;
    pub use crate::sequence::cg::{CgDirection, CgScalars, CgSteps};
}

/// Compressed sparse rows: row offsets, column indices, values.
pub mod csr {
    pub use crate::format::{CsrValues, DeviceCsr, Filter};
    pub use crate::matrix::{Csr, CsrView, InvalidCsr, MAX_DIMENSION, Row, Rows, Statistics};
    pub use crate::operation::Reduction;
}

/// Coordinates: row index, column index, value of each entry.
pub mod coo {
    pub use crate::format::DeviceCoo;
    pub use crate::matrix::{Coo, Duplicates, InvalidCoo};
}

/// Block compressed sparse rows: dense blocks of one size.
///
/// [`Csr::to_bsr`] converts to it; [`Csr::detect_block_size`] finds a size. Many small matrices of different sizes are better one
/// matrix with these on its diagonal, in CSR.
pub mod bsr {
    pub use crate::format::DeviceBsr;
    pub use crate::matrix::{Bsr, InvalidBsr, MAX_BLOCK_SIZE};
}

/// ELL, ELL-R and sliced ELL: rows padded to a common length.
pub mod ell {
    pub use crate::format::{DeviceEll, DeviceEllR, DeviceSlicedEll, EllR};
    pub use crate::matrix::{Ell, InvalidEll, InvalidSlicedEll, PaddingLimit, SlicedEll, SlicedEllOptions};
}

/// HYB: the first nonzeros of each row in ELL, the rest in coordinates.
pub mod hyb {
    pub use crate::format::DeviceHyb;
    pub use crate::matrix::{Hyb, HybOptions, HybWidth, InvalidHyb};
}

/// Matrices from triplets or dense element matrices on a device, whose pattern is found once: [`AssemblyPlan`](assembly::AssemblyPlan).
///
/// [`Coo::to_csr`] does it once, on the host.
pub mod assembly {
    pub use crate::op::{AssemblyOptions, AssemblyPlan, AssemblyPlanInfo};
}

/// Keys and their values.
pub mod key {
    pub use crate::keys::{Key, PairValue, SortKey, coordinate, row_and_column};
    pub use crate::operand::Pairs;
}

/// Operators of scans and reductions, and the elements that they combine.
pub mod operator {
    pub use crate::element::Element;
    pub use crate::operation::Operator;
}

/// Dense matrices on a device.
pub mod dense {
    pub use crate::format::{DeviceDense, InvalidDense, Layout};
}

/// Rows in a different order, such as sorted by length.
pub mod row_order {
    pub use crate::format::DeviceRowOrder;
    pub use crate::matrix::{LongestRows, OrderLoads, RowOrder, WarpLoads};
}

/// HiSparse: a tree of small nodes, each dense or sparse, and its operations.
///
/// Options and plans have the names of those for CSR: import the module, and write `hisparse::SpmvOptions`. By
/// default products with vectors and dense matrices run from a copy in CSR
/// ([`SpmvMethod::Copied`](hisparse::SpmvMethod::Copied)). The product of the publication, by queues, is
/// [`DeviceHiSparse::plan_spmv_queued`](hisparse::DeviceHiSparse::plan_spmv_queued).
pub mod hisparse {
    pub use crate::matrix::hisparse::{
        Entries, HiSparse, LevelStatistics, Node, NodeStatistics, Options, Statistics,
    };
    pub use crate::matrix::{InvalidNode, NodeFault, NodeKind};
    pub use crate::op::hisparse::{
        ConversionMethod, ConversionOptions, DeviceHiSparse, QueuedOptions, QueuedPlan, QueuedPlanInfo,
        SpaddMethod, SpaddOptions, SpgemmMethod, SpgemmOptions, SpmmOptions, SpmmPlan, SpmmPlanInfo,
        SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo,
    };
}

/// Sparse matrix times dense vector, y = αAx + βy and y = αAᵀx + βy.
///
/// [`DeviceCsr::plan_spmv`] and [`DeviceCsr::plan_spmv_transposed`] make plans, [`DeviceCsr::plan_spmv_batch`] one for many matrices with
/// one pattern; [`DeviceCsr::spmv`] is one
/// product without a plan. [`DeviceCsr::plan_spmv_mixed`] and [`DeviceCsr::spmv_mixed`] take vectors of another type than the matrix's
/// values. Matrices in the formats [`coo`], [`bsr`], [`ell`] and [`hyb`] have only a method `spmv`, which
/// needs none; those of [`hisparse`] have plans of their own.
pub mod spmv {
    pub use crate::op::{
        SpmvBatchMethod, SpmvBatchOptions, SpmvBatchPlan, SpmvBatchPlanInfo, SpmvDetails, SpmvMethod,
        SpmvOptions, SpmvPlan, SpmvPlanInfo, SpmvTiming, SpmvTransposedMethod, SpmvTransposedOptions,
        SpmvTransposedPlan, SpmvTransposedPlanInfo, SpmvTuning,
    };
    pub use crate::policy::Tile;
}

/// Sparse matrix times dense matrix, `C = αAB + βC`: [`DeviceCsr::plan_spmm`], [`DeviceCsr::plan_spmm_mixed`];
/// [`DeviceBsr::spmm`](bsr::DeviceBsr::spmm) without a plan.
pub mod spmm {
    pub use crate::op::{SpmmOptions, SpmmPlan, SpmmPlanInfo};
}

/// Product of dense matrices at the nonzeros of a sparse one, `C = α (AB) ∘ pattern(C) + βC`: [`DeviceCsr::plan_sddmm`].
pub mod sddmm {
    pub use crate::op::{SddmmPlan, SddmmPlanInfo};
}

/// Sparse matrix times sparse matrix: [`DeviceCsr::spgemm`], [`DeviceCsr::plan_spgemm`].
pub mod spgemm {
    pub use crate::op::{SpgemmMethod, SpgemmOptions, SpgemmPlan, SpgemmPlanInfo};
}

/// Sums, element-wise products and masks of sparse matrices: [`DeviceCsr::spadd`], [`DeviceCsr::plan_spadd`],
/// [`DeviceCoo::spadd`](coo::DeviceCoo::spadd).
pub mod spadd {
    pub use crate::op::{ElementwisePlan, ElementwisePlanInfo, SpaddMethod};
    pub use crate::operation::Elementwise;
}

/// Solutions of triangular systems, op(T)·x = αb: [`DeviceCsr::plan_triangular_solve`] on a device,
/// [`CsrView::solve_triangular`](csr::CsrView::solve_triangular) in host memory.
pub mod triangular {
    pub use crate::op::{
        Diagonal, Triangle, TriangularMethod, TriangularOptions, TriangularPlan, TriangularPlanInfo,
    };
}

/// Incomplete factorizations without fill, on a device: [`Ilu0Plan`](factorization::Ilu0Plan), A ≈ LU, and
/// [`Ic0Plan`](factorization::Ic0Plan), A ≈ L·Lᵀ. Solves with the factors are [`triangular`]. The inverses of diagonal blocks are
/// [`DeviceBsr::invert_diagonal_blocks`](bsr::DeviceBsr::invert_diagonal_blocks).
pub mod factorization {
    pub use crate::op::{FactorizationOptions, FactorizationPlanInfo, Ic0Plan, Ilu0Plan};
}

// Names that modules of this crate import from each other.
pub(crate) use device::{DeviceError, DeviceKind};
pub(crate) use matrix::{Bsr, CsrView, Duplicates, Ell, Hyb, MatrixError, RowOrder, SlicedEll};
pub(crate) use operand::OpError;
