//! A rank by itself: its number, its device, and what it counts.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use evenpath::Device;
use parking_lot::Mutex;

use crate::error::{Cause, Error, Failure, Result};
use crate::nccl::{Chosen, Communicator, ExchangeEngine};
use crate::transport::Transport;

/// One of the ranks of a [`Cluster`](crate::Cluster), as the function that it runs sees it.
///
/// Clones are the same rank. All ranks must call the same operations in the same order; each is a *collective* operation, which a
/// rank cannot do alone.
#[derive(Clone)]
pub struct Rank {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) index: usize,
    pub(super) size: usize,
    device: Device,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) run: u64,
    pub(super) timeout: Duration,
    /// Operations that have begun.
    pub(super) sequence: AtomicU64,
    pub(super) traffic: Mutex<Vec<Traffic>>,
    /// What the ranks choose before the body of a run begins.
    chosen: Mutex<Chosen>,
}

/// What went between this rank and another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// How long this rank waited for messages of the other.
    pub waited: Duration,
    /// Messages to the other.
    pub messages: u64,
    /// Their bytes.
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
        let (sequence, chosen) = (AtomicU64::new(0), Mutex::new(Chosen::host("the run has not begun")));
        let shared = Shared { index, size, device, transport, run, timeout, sequence, traffic, chosen };
        Self { shared: Arc::new(shared) }
    }

    /// Its number, from 0.
    pub fn index(&self) -> usize {
        self.shared.index
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// What went between this rank and each so far; what it sends itself is not counted.
    pub fn traffic(&self) -> Vec<Traffic> {
        self.shared.traffic.lock().clone()
    }

    /// Returns the engine that carries elements of vectors in this run, the same on all ranks.
    pub fn exchange(&self) -> ExchangeEngine {
        self.shared.chosen.lock().engine.clone()
    }

    /// Sets the engine of the run. What the ranks said to choose it is not counted as traffic.
    pub(crate) fn choose(&self, chosen: Chosen) {
        *self.shared.chosen.lock() = chosen;
        self.shared.traffic.lock().fill(Traffic::default());
    }

    /// The communicator of the run, if it has one.
    pub(crate) fn communicator(&self) -> Option<Arc<Communicator>> {
        self.shared.chosen.lock().communicator.clone()
    }

    /// How long to wait for others.
    pub(crate) fn timeout(&self) -> Duration {
        self.shared.timeout
    }

    /// The failure that this rank was told of.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.shared.transport.failure()
    }

    /// Notes bytes that go to another rank by other ways than messages.
    pub(crate) fn count_bytes(&self, to: usize, bytes: u64) {
        self.shared.traffic.lock()[to].bytes += bytes;
    }

    pub(crate) fn run(&self) -> u64 {
        self.shared.run
    }

    /// An error unless an operand is of this rank, in this run.
    pub(crate) fn check_run(&self, operand: &'static str, other: &Self) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &other.shared) { Ok(()) } else { Err(Error::OtherRun { operand }) }
    }

    /// Ends the work of all by the fault of a rank. The error that every rank gets.
    pub(crate) fn fail(&self, rank: usize, cause: Cause) -> Error {
        self.shared.transport.abort(Failure { rank, cause }).into()
    }

    /// An error unless there is such a rank.
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
