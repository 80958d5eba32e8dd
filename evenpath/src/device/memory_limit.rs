//! Accounting of the bytes that a device's buffers hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes in use and the limit on them.
#[derive(Debug)]
pub(super) struct Budget {
    in_use: AtomicU64,
    /// Maximum of the bytes in use.
    peak: AtomicU64,
    limit: AtomicU64,
}

impl Budget {
    pub(super) fn unlimited() -> Self {
        Self { in_use: AtomicU64::new(0), peak: AtomicU64::new(0), limit: AtomicU64::new(u64::MAX) }
    }

    pub(super) fn in_use(&self) -> u64 {
        self.in_use.load(Relaxed)
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Updates the peak. Called once buffers are allocated and not only counted.
    pub(super) fn record_peak(&self) {
        self.peak.fetch_max(self.in_use(), Relaxed);
    }

    /// Restarts the measurement of the peak.
    pub(super) fn reset_peak(&self) {
        self.peak.store(self.in_use(), Relaxed);
    }

    pub(super) fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Relaxed)).filter(|&limit| limit != u64::MAX)
    }

    pub(super) fn set_limit(&self, limit: Option<u64>) {
        self.limit.store(limit.unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts `bytes` as used. Fails with the bytes in use if the limit would be exceeded.
    fn take(&self, bytes: u64) -> Result<(), u64> {
        let limit = self.limit.load(Relaxed);
        let add = |in_use: u64| in_use.checked_add(bytes).filter(|&sum| sum <= limit);
        self.in_use.fetch_update(Relaxed, Relaxed, add).map(|_| ())
    }
}

/// Bytes counted as used on a device until this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Reservation {
    /// Reserves `bytes`. Fails with the bytes in use if the limit would be exceeded.
    pub(super) fn new(budget: &Arc<Budget>, bytes: u64) -> Result<Self, u64> {
        budget.take(bytes)?;
        Ok(Self { budget: Arc::clone(budget), bytes })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.in_use.fetch_sub(self.bytes, Relaxed);
    }
}
