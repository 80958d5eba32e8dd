//! The account of the memory that a product takes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::super::options::SpgemmOptions;
use crate::device::{Device, DeviceError, DeviceKind};
use crate::operand::OpError;
use crate::operand::requirement::Requirement;

/// The share of the free memory that a product may take if no limit is given.
const DEFAULT_SHARE: f64 = 0.9;

/// The part of a device's memory that a product may take without a look at what is free, which takes the driver as long as a small
/// launch: where less than this is free, allocations fail.
const UNASKED_PART: u64 = 256;

/// The memory that a product may take, workspace and result, and what it takes at the moment.
pub(in crate::op::spgemm) struct Workspace {
    account: Arc<Account>,
    device: Device,
    /// Bytes that it may take; found when it takes more than `unasked`.
    limit: OnceLock<u64>,
    unasked: u64,
}

struct Account {
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
    pub(in crate::op::spgemm) fn new(device: &Device, options: SpgemmOptions) -> Self {
        let known = match (options.memory_limit, device.kind()) {
            (Some(limit), _) => Some(limit),
            (None, DeviceKind::Cpu) => Some(u64::MAX),
            (None, _) => None,
        };
        let memory_bytes =
            if device.memory_limit().is_some() { None } else { device.properties().memory_bytes };
        Self {
            account: Arc::new(Account { taken: AtomicU64::new(0), peak: AtomicU64::new(0) }),
            device: device.clone(),
            limit: known.map_or_else(OnceLock::new, OnceLock::from),
            unasked: memory_bytes.unwrap_or(0) / UNASKED_PART,
        }
    }

    /// The limit, if `needed` bytes are more than are taken without a look at it.
    fn limit_for(&self, needed: u64) -> Result<u64, DeviceError> {
        match self.limit.get() {
            Some(&limit) => Ok(limit),
            None if needed <= self.unasked => Ok(self.unasked),
            None => {
                let memory = self.device.memory()?;
                let unused = memory.limit.map_or(u64::MAX, |limit| limit.saturating_sub(memory.in_use));
                let free = memory.free.unwrap_or(u64::MAX).min(unused);
                // Memory that was taken before is no longer free.
                let all = free.saturating_add(self.account.taken.load(Relaxed));
                Ok(*self.limit.get_or_init(|| (all as f64 * DEFAULT_SHARE) as u64))
            }
        }
    }

    /// Charges the workspace for `what`, or refuses it.
    pub(in crate::op::spgemm) fn take(
        &self,
        what: &'static str,
        required: Requirement,
    ) -> Result<Charge, OpError> {
        let Account { taken, peak } = &*self.account;
        let needed = taken.load(Relaxed).saturating_add(required.bytes());
        let limit = self.limit_for(needed)?;
        if needed > limit {
            return Err(OpError::ProductMemory { what, needed, limit });
        }
        taken.store(needed, Relaxed);
        peak.fetch_max(needed, Relaxed);
        Ok(Charge { account: Arc::clone(&self.account), bytes: required.bytes() })
    }

    /// Returns whether it has room for so much more; not if the device was lost.
    pub(in crate::op::spgemm) fn has_room(&self, required: Requirement) -> bool {
        let needed = self.account.taken.load(Relaxed).saturating_add(required.bytes());
        self.limit_for(needed).is_ok_and(|limit| needed <= limit)
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
    use crate::device::SimulatedOptions;

    #[test]
    fn charges_are_given_back() {
        let options = SpgemmOptions::default().with_memory_limit(100);
        let workspace = Workspace::new(&Device::cpu(), options);
        let take = |bytes| workspace.take("the workspace", Requirement::new(bytes));
        let mut first = take(60).unwrap();
        assert!(take(41).err().unwrap().to_string().contains("101"));
        drop(take(40).unwrap());
        first.shrink_to(Requirement::new(20));
        assert!(workspace.has_room(Requirement::new(80)) && !workspace.has_room(Requirement::new(81)));
        drop(first);
        assert!(workspace.has_room(Requirement::new(100)) && workspace.peak() == 100);
    }

    #[test]
    fn little_is_taken_without_a_look_at_free_memory() {
        let device = Device::simulated(SimulatedOptions::default().with_memory_bytes(1 << 20));
        let workspace = Workspace::new(&device, SpgemmOptions::default());
        let little = workspace.take("the workspace", Requirement::new(1 << 12)).unwrap();
        assert!(workspace.limit.get().is_none());
        let kept = device.zeros::<u8>(1 << 12).unwrap();
        let error = workspace.take("the result", Requirement::new(1 << 20)).err().unwrap();
        let limit = (1_048_576.0 * DEFAULT_SHARE) as u64;
        assert!(error.to_string().contains(&limit.to_string()), "{error}");
        assert!(workspace.has_room(Requirement::new(limit - (1 << 12))));
        drop((little, kept));
        // A limit of the device is always looked at.
        device.set_memory_limit(Some(100));
        assert!(!Workspace::new(&device, SpgemmOptions::default()).has_room(Requirement::new(91)));
    }
}
