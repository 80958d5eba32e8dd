//! How x is gathered, and what that asks of the memory of a multiprocessor.

use evenpath_simt::kernel::Kernel;

use super::sectors::sectors_per_nonzero;
use super::thresholds::{IN_FLIGHT, SCATTERED, SCATTERED_NONZEROS, SCATTERED_SPAN};
use crate::device::Launch;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Storage};

/// How the elements of x that a matrix is multiplied by are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Gathers {
    /// Sectors of x for each nonzero of neighboring ones. Not counted where there are few nonzeros: other things decide then.
    pub(super) sectors: Option<f64>,
    /// Bytes of an element of x.
    pub(super) value_bytes: usize,
    /// Bytes of x.
    pub(super) x_bytes: u64,
    /// Bytes of shared memory that a block may have: about as many as a multiprocessor divides between that and its first-level cache.
    pub(super) shared_bytes: u64,
}

impl Gathers {
    /// Gathers of an x of the matrix's type, like [`of_elements`](Self::of_elements).
    pub(super) fn of<S: Storage, O: Offset>(matrix: &DeviceCsr<S, O>) -> Result<Self, OpError> {
        Self::of_elements(matrix, S::SIZE)
    }

    /// Counts sectors of an x with elements of `value_bytes` if there are nonzeros enough for that; waits for the device then.
    pub(super) fn of_elements<S: Storage, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        value_bytes: usize,
    ) -> Result<Self, OpError> {
        let are_many = matrix.nnz() as u64 >= SCATTERED_NONZEROS;
        Ok(Self {
            sectors: are_many.then(|| sectors_per_nonzero(matrix, value_bytes)).transpose()?,
            value_bytes,
            x_bytes: (matrix.ncols() * value_bytes) as u64,
            shared_bytes: u64::from(matrix.device().properties().shared_bytes()),
        })
    }

    /// Returns whether neighboring nonzeros share few sectors of x, and the first-level cache has not all of it beside shared
    /// memory.
    pub(super) fn are_scattered(self) -> bool {
        let is_large = 2 * self.x_bytes > self.shared_bytes;
        is_large && self.sectors.is_some_and(|sectors| sectors >= SCATTERED)
    }

    /// Returns whether x is small enough that it matters how large first-level caches are.
    pub(super) fn span_few_caches(self) -> bool {
        self.x_bytes <= SCATTERED_SPAN * self.shared_bytes
    }

    /// A launch of a kernel that stages products in shared memory: with shared memory for as many blocks as a multiprocessor can run,
    /// or, where the first-level cache would have more of x otherwise, for those that have enough loads in flight.
    pub(super) fn divide<K: Kernel>(self, launch: Launch<K>) -> Launch<K> {
        if !(self.are_scattered() && self.span_few_caches()) {
            return launch.room_for(u32::MAX);
        }
        let staged = launch.info().tile_items() * self.value_bytes;
        let blocks = ((IN_FLIGHT + staged / 2) / staged).max(1) as u32;
        launch.room_for(blocks)
    }
}
