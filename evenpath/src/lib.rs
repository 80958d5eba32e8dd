//! Sparse linear algebra on NVIDIA GPUs, written entirely in Rust.
//!
//! * [`Csr`] and [`Coo`]: matrices in host memory, validated; [`generate`] makes some, [`io`] reads
//!   and writes Matrix Market files, [`Statistics`] describes how their nonzeros are spread.
//! * [`Device`]: an NVIDIA GPU, the CPU, or a simulated GPU; [`DeviceCsr`] and [`DeviceVec`] are in its memory.
//! * [`DeviceCsr::plan_spmv`]: sparse matrix times dense vector; [`DeviceCsr::plan_spmv_transposed`]: with the transpose,
//!   which [`DeviceCsr::transpose`] builds.
//! * [`scan`]: plain and segmented scans; [`reduce`]: sums of segments.
//! * [`merge`] and [`sets`]: merge, union, intersection and difference of sorted sequences.
//! * [`sort`]: radix sort of keys, and of keys with values.

mod cpu;
pub mod device;
pub mod io;
mod key;
mod matrix;
mod op;
pub mod policy;
mod scalar;

pub use device::{Device, DeviceError, DeviceKind, DeviceVec, Event, SimulatedOptions};
pub use key::{Key, PairValue, Pairs, coordinate, row_and_column};
pub use matrix::generate;
pub use matrix::{
    Coo, Csr, CsrView, Duplicates, InvalidCoo, InvalidCsr, MAX_DIMENSION, MatrixError, Row, Rows, Statistics,
};
pub use op::reduce;
pub use op::scan;
pub use op::sort;
pub use op::{DeviceCsr, OpError, ParseSpmvMethodError, SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo};
pub use op::{
    ParseTransposedModeError, SpmvTransposedPlan, SpmvTransposedPlanInfo, TransposedMode, TransposedOptions,
};
pub use op::{merge, sets};
pub use scalar::{Offset, Value};
