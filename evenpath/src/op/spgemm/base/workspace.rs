//! The account of the memory that a product takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::device::{Device, DeviceError, DeviceKind};
use crate::op::OpError;
use crate::op::requirement::Requirement;
use crate::op::spgemm::SpgemmOptions;

/// The share of the free memory that a product may take if no limit is given.
const DEFAULT_SHARE: f64 = 0.9;

/// The memory that a product may take, workspace and result, and what it takes at the moment.
pub(in crate::op::spgemm) struct Workspace {
    account: Arc<Account>,
}

struct Account {
    limit: u64,
    taken: AtomicU64,
    peak: AtomicU64,
}

/// Bytes of a workspace that are taken until this is dropped.
#[must_use]
pub(in crate::op::spgemm) struct Charge {
    account: Arc<Account>,
    bytes: u64,
}

impl Workspace {
    pub(in crate::op::spgemm) fn new(device: &Device, options: SpgemmOptions) -> Result<Self, DeviceError> {
        let limit = match (options.memory_limit, device.kind()) {
            (Some(limit), _) => limit,
            (None, DeviceKind::Cpu) => u64::MAX,
            (None, _) => {
                let memory = device.memory()?;
                let unused = memory.limit.map_or(u64::MAX, |limit| limit.saturating_sub(memory.in_use));
                (memory.free.unwrap_or(u64::MAX).min(unused) as f64 * DEFAULT_SHARE) as u64
            }
        };
        Ok(Self { account: Arc::new(Account { limit, taken: AtomicU64::new(0), peak: AtomicU64::new(0) }) })
    }

    /// Charges the workspace for `what`, or refuses it.
    pub(in crate::op::spgemm) fn take(
        &self,
        what: &'static str,
        required: Requirement,
    ) -> Result<Charge, OpError> {
        let Account { limit, ref taken, ref peak } = *self.account;
        let needed = taken.load(Relaxed).saturating_add(required.bytes());
        if needed > limit {
            return Err(OpError::ProductMemory { what, needed, limit });
        }
        taken.store(needed, Relaxed);
        peak.fetch_max(needed, Relaxed);
        Ok(Charge { account: Arc::clone(&self.account), bytes: required.bytes() })
    }

    /// Whether it has room for so much more.
    pub(in crate::op::spgemm) fn has_room(&self, required: Requirement) -> bool {
        required.bytes() <= self.left()
    }

    /// Bytes that are left.
    fn left(&self) -> u64 {
        self.account.limit - self.account.taken.load(Relaxed)
    }

    /// The most that was taken at once.
    pub(in crate::op::spgemm) fn peak(&self) -> u64 {
        self.account.peak.load(Relaxed)
    }
}

impl Charge {
    /// Gives back what is over a requirement.
    pub(in crate::op::spgemm) fn shrink_to(&mut self, required: Requirement) {
        let kept = self.bytes.min(required.bytes());
        self.account.taken.fetch_sub(self.bytes - kept, Relaxed);
        self.bytes = kept;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.taken.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_given_back() {
        let options = SpgemmOptions::default().with_memory_limit(100);
        let workspace = Workspace::new(&Device::cpu(), options).unwrap();
        let take = |bytes| workspace.take("the workspace", Requirement::new(bytes));
        let mut first = take(60).unwrap();
        assert!(take(41).err().unwrap().to_string().contains("101"));
        drop(take(40).unwrap());
        first.shrink_to(Requirement::new(20));
        assert!(workspace.has_room(Requirement::new(80)) && !workspace.has_room(Requirement::new(81)));
        drop(first);
        assert_eq!((workspace.left(), workspace.peak()), (100, 100));
    }
}
