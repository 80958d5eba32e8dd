//! Sparse linear algebra on NVIDIA GPUs, written entirely in Rust.
//!
//! * [`Csr`] and [`Coo`]: matrices in host memory, validated; [`generate`] makes some, [`io`] reads
//!   and writes Matrix Market files, [`Statistics`] describes how their nonzeros are spread.
//! * [`Ell`], [`SlicedEll`], [`Hyb`]: matrices whose rows are padded, made of a [`Csr`] and back; [`RowOrder`]: rows sorted
//!   by length. On a device they, and [`Coo`], are multiplied by `spmv` of [`DeviceEll`], [`DeviceEllR`],
//!   [`DeviceSlicedEll`], [`DeviceHyb`] and [`DeviceCoo`].
//! * A [`Csr`] in host memory is multiplied and added there too: `&a * &x`, `&a * &b`, `&a + &b`.
//! * [`HiSparse`]: a tree of small nodes, each dense or sparse, made of a [`Csr`] or [`Coo`] and back; in host memory its
//!   products and sums run on the CPU, as a [`DeviceHiSparse`] on any device.
//! * [`Device`]: an NVIDIA GPU, the CPU, or a simulated GPU; [`DeviceCsr`] and [`DeviceVec`] are in its memory.
//! * [`DeviceCsr::plan_spmv`]: sparse matrix times dense vector; [`DeviceCsr::plan_spmv_transposed`]: with the transpose,
//!   which [`DeviceCsr::transpose`] builds; [`DeviceCsr::plan_spmm`]: times a [`DeviceDense`] matrix;
//!   [`DeviceCsr::multiply`]: times a sparse matrix.
//! * [`DeviceCsr::add`]: sums of sparse matrices, [`DeviceCsr::plan_add`] for values that change; products by element and
//!   masks beside it ([`Elementwise`]).
//! * [`vector`]: sums and inner products of dense vectors.
//! * [`scan`]: plain and segmented scans; [`reduce`]: sums of segments.
//! * [`merge`] and [`sets`]: merge, union, intersection and difference of sorted sequences.
//! * [`sort`]: radix sort of keys, and of keys with values.

mod cpu;
pub mod device;
mod element;
mod interop;
pub mod io;
mod key;
mod matrix;
mod op;
mod operation;
pub mod policy;
mod scalar;

pub use device::{Device, DeviceError, DeviceKind, DeviceVec, Event, SimulatedOptions};
pub use key::{Key, PairValue, coordinate, row_and_column};
pub use matrix::generate;
pub use matrix::{
    Coo, Csr, CsrView, Duplicates, Ell, HiSparse, HiSparseEntries, HiSparseNode, HiSparseOptions,
    HiSparseStatistics, Hyb, HybOptions, HybWidth, InvalidCoo, InvalidCsr, InvalidEll, InvalidHyb,
    InvalidNode, InvalidSlicedEll, LevelStatistics, LongestRows, MAX_DIMENSION, MatrixError, NodeFault,
    NodeKind, NodeStatistics, PaddingLimit, Row, RowOrder, Rows, SlicedEll, SlicedEllOptions, Statistics,
};
pub use op::reduce;
pub use op::scan;
pub use op::sort;
pub use op::{DeviceCoo, DeviceEll, DeviceEllR, DeviceHiSparse, DeviceHyb, DeviceRowOrder, DeviceSlicedEll};
pub use op::{DeviceCsr, OpError, ParseSpmvMethodError, SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo};
pub use op::{DeviceDense, InvalidDense, Layout, SpmmOperand, SpmmOptions, SpmmPlan, SpmmPlanInfo};
pub use op::{ElementwisePlan, Pairs};
pub use op::{
    HiSparseQueueOptions, HiSparseSpgemmMethod, HiSparseSpmmPlan, HiSparseSpmvMode, HiSparseSpmvOptions,
    HiSparseSpmvPlan, HiSparseSpmvPlanInfo, HiSparseSpmvQueues,
};
pub use op::{ParseSpgemmMethodError, SpgemmMethod, SpgemmOptions, SpgemmPhases, SpgemmPlan, SpgemmPlanInfo};
pub use op::{
    ParseTransposedModeError, SpmvTransposedPlan, SpmvTransposedPlanInfo, TransposedMode, TransposedOptions,
};
pub use op::{merge, sets, vector};
pub use operation::Elementwise;
pub use scalar::{Compute, Offset, Storage, Value, bf16, f16};
