//! Operands of a run.

use crate::format::{DeviceCsr, DeviceDense};
use crate::{Compute, Offset, Storage};

/// The work of a run: `C = αAB + βC`, with matching operands on one device.
pub(super) struct SpmmCall<'a, S: Storage, T: Storage, O: Offset> {
    pub(super) matrix: &'a DeviceCsr<S, O>,
    pub(super) alpha: Compute<T>,
    pub(super) b: &'a DeviceDense<T>,
    pub(super) beta: Compute<T>,
    pub(super) c: &'a mut DeviceDense<T>,
}
