//! The traits that ways to multiply implement.

use super::base::{ProductArrays, SpgemmOperands, Workspace};
use super::method::SpgemmMethod;
use crate::device::DeviceVec;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// A way to compute `C = AB` for two patterns.
pub(super) trait Multiply<V: Scalar, O: Offset, C: Offset>: Send + Sync {
    /// Computes C, whose columns are not known yet, from the values that the operands have now.
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError>;
}

/// A way to compute `C = AB` again and again, which keeps what it finds out.
pub(super) trait Strategy<V: Scalar, O: Offset, C: Offset>: Multiply<V, O, C> {
    /// The values of C, whose pattern an earlier run found; only where that said that it repeats. They are charged
    /// already.
    fn again(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        pattern: &DevicePattern<C>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError>;

    /// Returns the method, and the size of the product.
    fn info(&self) -> Info;
}

/// Result of a first run.
pub(super) struct FirstRun<V: Scalar, C: Offset> {
    pub(super) arrays: ProductArrays<V, C>,
    /// True if later runs need values only.
    pub(super) repeats: bool,
}

/// Method and size of a product.
pub(super) struct Info {
    pub(super) method: SpgemmMethod,
    /// Multiplications.
    pub(super) products: u64,
    /// Entries of C.
    pub(super) nonzeros: u64,
    /// Bytes of device memory that are kept between runs.
    pub(super) kept_bytes: u64,
    /// The rows that are sorted beside others, if there are both.
    pub(super) sorted: SortedRegion,
}

/// Rows of C that are computed by sorting while others are not.
#[derive(Clone, Copy, Default)]
pub(super) struct SortedRegion {
    /// Number of rows.
    pub(super) rows: u64,
    /// Multiplications.
    pub(super) products: u64,
}
