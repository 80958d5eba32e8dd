//! Real matrices in CSR, with offsets of either type.

use std::any::Any;

use evenpath::cg::{CgSteps, CgVectors};
use evenpath::{DeviceCsr, DeviceSlice, Offset, Scalar, Value};

use crate::error::Result;

/// A real matrix in CSR, with offsets of either type.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum RealCsr<'a, V: Value> {
    /// With offsets of 32 bits.
    Offsets32(&'a DeviceCsr<V, u32>),
    /// With offsets of 64 bits.
    Offsets64(&'a DeviceCsr<V, u64>),
}

impl<'a, V: Value> RealCsr<'a, V> {
    /// Returns the matrix as a real one, `None` if it is complex.
    pub fn new<S: Scalar<Real = V>, O: Offset>(matrix: &'a DeviceCsr<S, O>) -> Option<Self> {
        // A type that is not complex is its own real one.
        let matrix: &dyn Any = matrix;
        let with_32 = matrix.downcast_ref().map(Self::Offsets32);
        with_32.or_else(|| matrix.downcast_ref().map(Self::Offsets64))
    }

    /// Number of rows.
    pub fn nrows(self) -> usize {
        match self {
            Self::Offsets32(matrix) => matrix.nrows(),
            Self::Offsets64(matrix) => matrix.nrows(),
        }
    }

    /// Number of nonzeros.
    pub fn nnz(self) -> usize {
        match self {
            Self::Offsets32(matrix) => matrix.nnz(),
            Self::Offsets64(matrix) => matrix.nnz(),
        }
    }

    /// Does steps of conjugate gradients in one launch.
    pub(crate) fn run_in_one_block(
        self,
        steps: &mut CgSteps<V>,
        count: usize,
        inverse: Option<&DeviceSlice<V>>,
        vectors: CgVectors<V>,
    ) -> Result<()> {
        Ok(match self {
            Self::Offsets32(a) => steps.run_in_one_block(count, a, inverse, vectors),
            Self::Offsets64(a) => steps.run_in_one_block(count, a, inverse, vectors),
        }?)
    }
}
