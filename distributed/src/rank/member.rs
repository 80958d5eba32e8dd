//! A rank's number, device and counters.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use evenpath::Device;
use evenpath::error::DeviceError;
use parking_lot::Mutex;

use crate::error::{Cause, Error, Failure, Result};
use crate::nccl::{Chosen, Communicator, ExchangeEngine};
use crate::transport::Transport;

/// A rank of a [`Cluster`](crate::Cluster), passed to the function that it runs.
///
/// Clones are the same rank. All ranks must call the same operations in the same order; each is a
/// *collective* operation, which one rank cannot perform alone.
#[derive(Clone)]
pub struct Rank {
    pub(super) shared: Arc<RankState>,
}

pub(super) struct RankState {
    pub(super) index: usize,
    pub(super) size: usize,
    device: Device,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) run: u64,
    pub(super) timeout: Duration,
    /// Number of operations started.
    pub(super) sequence: AtomicU64,
    pub(super) traffic: Mutex<Vec<Traffic>>,
    /// Engine that the ranks choose before the function of a run starts.
    chosen: Mutex<Chosen>,
}

/// Traffic between this rank and another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Time that this rank waited for messages from the other.
    pub waited: Duration,
    /// Number of messages sent to the other.
    pub messages: u64,
    /// Bytes sent to the other.
    pub bytes: u64,
}

impl Rank {
    pub(crate) fn new(
        (index, size): (usize, usize),
        device: Device,
        transport: Arc<dyn Transport>,
        run: u64,
        timeout: Duration,
    ) -> Self {
        let traffic = Mutex::new((0..size).map(|_| Traffic::default()).collect());
        let (sequence, chosen) = (AtomicU64::new(0), Mutex::new(Chosen::host("the run has not started")));
        let shared = RankState { index, size, device, transport, run, timeout, sequence, traffic, chosen };
        Self { shared: Arc::new(shared) }
    }

    /// Number of the rank, from 0.
    pub fn index(&self) -> usize {
        self.shared.index
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Device of the rank.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Traffic with each rank so far; messages of a rank to itself are not counted.
    pub fn traffic(&self) -> Vec<Traffic> {
        self.shared.traffic.lock().clone()
    }

    /// Returns the engine that exchanges elements of vectors in this run, the same on all ranks.
    pub fn exchange(&self) -> ExchangeEngine {
        self.shared.chosen.lock().engine.clone()
    }

    /// Sets the engine of the run. Messages for its choice are not counted as traffic.
    pub(crate) fn choose(&self, chosen: Chosen) {
        *self.shared.chosen.lock() = chosen;
        self.shared.traffic.lock().fill(Traffic::default());
    }

    /// The communicator of the run, if it has one.
    pub(crate) fn communicator(&self) -> Option<Arc<Communicator>> {
        self.shared.chosen.lock().communicator.clone()
    }

    /// Maximum wait for other ranks.
    pub(crate) fn timeout(&self) -> Duration {
        self.shared.timeout
    }

    /// The failure of which this rank was told.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.shared.transport.failure()
    }

    /// Counts bytes sent to another rank by other means than messages.
    pub(crate) fn count_bytes(&self, to: usize, bytes: u64) {
        self.shared.traffic.lock()[to].bytes += bytes;
    }

    pub(crate) fn run(&self) -> u64 {
        self.shared.run
    }

    /// Returns an error unless an operand is of this rank and this run.
    pub(crate) fn check_run(&self, operand: &'static str, other: &Self) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &other.shared) { Ok(()) } else { Err(Error::OtherRun { operand }) }
    }

    /// Returns an error unless an operand is on this rank's device.
    pub(crate) fn check_device(&self, device: &Device) -> Result<()> {
        if device.is_same(self.device()) {
            return Ok(());
        }
        let (left, right) = (device.to_string(), self.device().to_string());
        Err(DeviceError::DifferentDevices { left, right }.into())
    }

    /// Ends the work of all ranks because one failed. Returns the error that every rank gets.
    pub(crate) fn fail(&self, rank: usize, cause: Cause) -> Error {
        self.shared.transport.abort(Failure { rank, cause }).into()
    }

    /// Returns an error unless the rank exists.
    pub(crate) fn check_rank(&self, rank: usize) -> Result<()> {
        let size = self.size();
        if rank < size { Ok(()) } else { Err(Error::NoSuchRank { rank, size }) }
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rank({} of {}, on {})", self.index(), self.size(), self.device())
    }
}
