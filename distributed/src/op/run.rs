//! Common parts of the runs of plans: their factors, and the buffers that one run at a time uses.

use evenpath::error::OpError;
use evenpath::{DeviceSlice, Factor, Value};
use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::{Rank, RowPartition};

/// Returns α and β if the rank's device can use them. A run that refuses them has sent nothing, so the ranks
/// stay in step.
pub(super) fn factors<'f, V: Value>(
    rank: &Rank,
    alpha: impl Into<Factor<'f, V>>,
    beta: impl Into<Factor<'f, V>>,
) -> Result<(Factor<'f, V>, Factor<'f, V>)> {
    let device = rank.device();
    Ok((alpha.into().check(device, "alpha")?, beta.into().check(device, "beta")?))
}

/// Checks a rank's part of a vector with this partition.
pub(super) fn check_part<V: Value>(
    operand: &'static str,
    part: &DeviceSlice<V>,
    rank: &Rank,
    partition: &RowPartition,
) -> Result<()> {
    rank.check_device(part.device())?;
    let (len, needed) = (part.len(), partition.len(rank.index()) as usize);
    if len == needed { Ok(()) } else { Err(OpError::Length { operand, len, needed }.into()) }
}

/// Buffers of a plan, which one run at a time uses.
///
/// A run that finds them in use is refused. It must not wait: ranks match their operations by their order,
/// and two threads of a rank have none. If both waited their turn, one rank might run the operands of the
/// first thread while another runs those of the second, and neither would notice.
pub(super) struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub(super) fn new(buffers: T) -> Self {
        Self(Mutex::new(buffers))
    }

    /// Returns the buffers until the guard is dropped, or an error if a run has them.
    pub(super) fn take(&self, rank: &Rank) -> Result<MutexGuard<'_, T>> {
        self.0.try_lock().ok_or(Error::PlanInUse { rank: rank.index() })
    }
}
