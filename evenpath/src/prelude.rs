//! Common imports: `use evenpath::prelude::*`.
//!
//! Matrices, devices, value types and the options of the common operations. [`Error`](crate::Error) and
//! [`Result`](crate::Result) are not included, since most programs have their own.

pub use crate::coo::Coo;
pub use crate::csr::{Csr, DeviceCsr};
pub use crate::dense::{DeviceDense, Layout};
pub use crate::device::{Device, DeviceKind, DeviceSlice, DeviceVec};
pub use crate::hisparse::{DeviceHiSparse, HiSparse};
pub use crate::offset::Offset;
pub use crate::scalar::{Complex, Compute, Multiplies, RealStorage, Scalar, Storage, Value};
pub use crate::spgemm::{SpgemmMethod, SpgemmOptions};
pub use crate::spmm::SpmmOptions;
pub use crate::spmv::{SpmvMethod, SpmvOptions, SpmvTransposedMethod, SpmvTransposedOptions};
