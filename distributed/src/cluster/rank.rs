//! One rank: its number, its device, and messages to others.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytemuck::Pod;
use evenpath::Device;
use parking_lot::Mutex;

use crate::error::{Cause, Error, Failure, Operation, Result};
use crate::nccl::{Chosen, Communicator, ExchangeEngine};
use crate::transport::{Missing, Tag, Transport};

/// One of the ranks of a [`Cluster`](crate::Cluster), as the function that it runs sees it.
///
/// Clones are the same rank. All ranks must call the same operations in the same order; each is a *collective* operation, which a
/// rank cannot do alone.
#[derive(Clone)]
pub struct Rank {
    shared: Arc<Shared>,
}

struct Shared {
    index: usize,
    size: usize,
    device: Device,
    transport: Arc<dyn Transport>,
    run: u64,
    timeout: Duration,
    /// Operations that have begun.
    sequence: AtomicU64,
    traffic: Mutex<Vec<Traffic>>,
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

/// An operation that has begun: its messages have its tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    tag: Tag,
}

impl Rank {
    pub(super) fn new(
        (index, size): (usize, usize),
        device: Device,
        transport: Arc<dyn Transport>,
        run: u64,
        timeout: Duration,
    ) -> Self {
        let traffic = Mutex::new(vec![Traffic::default(); size]);
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

    /// What carries elements of vectors between ranks in this run, on all of them.
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

    pub(super) fn run(&self) -> u64 {
        self.shared.run
    }

    /// An error unless an operand is of this rank, in this run.
    pub(crate) fn check_run(&self, operand: &'static str, other: &Self) -> Result<()> {
        if Arc::ptr_eq(&self.shared, &other.shared) { Ok(()) } else { Err(Error::OtherRun { operand }) }
    }

    /// Begins an operation that all ranks begin.
    pub(crate) fn begin(&self, operation: Operation) -> Exchange {
        let sequence = self.shared.sequence.fetch_add(1, Relaxed);
        Exchange { tag: Tag { run: self.shared.run, sequence, operation } }
    }

    /// Sends a message to another rank, one per operation. Does not wait until it is received.
    pub(crate) fn send<T: Pod>(&self, exchange: Exchange, to: usize, values: &[T]) -> Result<()> {
        let bytes = bytemuck::cast_slice(values).to_vec();
        let mut traffic = self.shared.traffic.lock();
        traffic[to].messages += 1;
        traffic[to].bytes += bytes.len() as u64;
        drop(traffic);
        Ok(self.shared.transport.send(to, exchange.tag, bytes)?)
    }

    /// The message of another rank in an operation, of any length.
    pub(crate) fn receive<T: Pod>(&self, exchange: Exchange, from: usize) -> Result<Vec<T>> {
        self.receive_until(exchange, from, Instant::now() + self.timeout())
    }

    /// [`receive`](Self::receive) with another deadline.
    pub(crate) fn receive_until<T: Pod>(
        &self,
        exchange: Exchange,
        from: usize,
        deadline: Instant,
    ) -> Result<Vec<T>> {
        let Shared { transport, traffic, .. } = &*self.shared;
        let start = Instant::now();
        let received = transport.receive(from, exchange.tag, deadline);
        traffic.lock()[from].waited += start.elapsed();
        self.decode(exchange, from, received)
    }

    /// The message of another rank in an operation, if it has come. Does not wait.
    pub(crate) fn try_receive<T: Pod>(&self, exchange: Exchange, from: usize) -> Result<Option<Vec<T>>> {
        match self.shared.transport.receive(from, exchange.tag, Instant::now()) {
            Err(Missing::Timeout) => Ok(None),
            received => self.decode(exchange, from, received).map(Some),
        }
    }

    fn decode<T: Pod>(
        &self,
        exchange: Exchange,
        from: usize,
        received: Result<Vec<u8>, Missing>,
    ) -> Result<Vec<T>> {
        let (waiting, operation) = (self.index(), exchange.tag.operation);
        let cause = match received {
            Ok(bytes) => {
                let size = size_of::<T>();
                if bytes.len().is_multiple_of(size) {
                    return Ok(bytemuck::allocation::pod_collect_to_vec(&bytes));
                }
                Cause::MessageSize { waiting, operation, expected: size as u64, found: bytes.len() as u64 }
            }
            Err(Missing::Failed(failure)) => return Err(failure.into()),
            Err(Missing::Finished) => Cause::Finished { waiting, operation },
            Err(Missing::Mismatch(found)) => Cause::Mismatch { waiting, expected: operation, found },
            Err(Missing::Timeout) => Cause::Timeout { waiting, operation, limit: self.timeout() },
        };
        Err(self.fail(from, cause))
    }

    /// [`receive`](Self::receive) of `len` elements.
    pub(crate) fn receive_exactly<T: Pod>(
        &self,
        exchange: Exchange,
        from: usize,
        len: usize,
    ) -> Result<Vec<T>> {
        let values = self.receive(exchange, from)?;
        self.check_message(exchange, from, (values.len() * size_of::<T>(), len * size_of::<T>()))?;
        Ok(values)
    }

    /// Ends the work of all if a message of a rank has not the bytes that it must have.
    pub(crate) fn check_message(
        &self,
        exchange: Exchange,
        from: usize,
        (found, expected): (usize, usize),
    ) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        let (waiting, operation) = (self.index(), exchange.tag.operation);
        let (expected, found) = (expected as u64, found as u64);
        Err(self.fail(from, Cause::MessageSize { waiting, operation, expected, found }))
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
