//! Messages between ranks, and the search for the cause if one is missing.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::member::{Rank, RankState};
use super::waits::{fault, origin};
use crate::error::{Cause, Error, Operation, Result};
use crate::transport::{Missing, Report, Tag, Wait};

/// Time for the search for the failed rank after a rank's timeout.
const SEARCH: Duration = Duration::from_secs(1);

/// An operation in progress, with the tag of its messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    tag: Tag,
}

impl Rank {
    /// Starts an operation that all ranks start.
    pub(crate) fn begin(&self, operation: Operation) -> Exchange {
        let sequence = self.shared.sequence.fetch_add(1, Relaxed);
        Exchange { tag: Tag { run: self.shared.run, sequence, operation } }
    }

    /// Sends a message to another rank, one per operation. Does not wait for its receipt.
    pub(crate) fn send<T: Pod>(&self, exchange: Exchange, to: usize, values: &[T]) -> Result<()> {
        let bytes = bytemuck::cast_slice(values).to_vec();
        let mut traffic = self.shared.traffic.lock();
        traffic[to].messages += 1;
        traffic[to].bytes += bytes.len() as u64;
        drop(traffic);
        let sent = self.shared.transport.send(to, exchange.tag, bytes, Instant::now() + self.timeout());
        sent.map_err(|missing| self.explain(exchange, to, missing))
    }

    /// Receives another rank's message in an operation, of any length.
    pub(crate) fn receive<T: Pod>(&self, exchange: Exchange, from: usize) -> Result<Vec<T>> {
        let RankState { transport, traffic, timeout, .. } = &*self.shared;
        let start = Instant::now();
        let received = transport.receive(from, exchange.tag, start + *timeout);
        traffic.lock()[from].waited += start.elapsed();
        self.decode(exchange, from, received)
    }

    /// Returns another rank's message in an operation, if it has arrived. Does not wait.
    pub(crate) fn try_receive<T: Pod>(&self, exchange: Exchange, from: usize) -> Result<Option<Vec<T>>> {
        match self.shared.transport.receive(from, exchange.tag, Instant::now()) {
            Err(Missing::Timeout) => Ok(None),
            received => self.decode(exchange, from, received).map(Some),
        }
    }

    /// Returns an error if another rank's message in an operation will not arrive. Does not wait.
    pub(crate) fn check_arrival(&self, exchange: Exchange, from: usize) -> Result<()> {
        let found = self.shared.transport.has(from, exchange.tag);
        found.map(|_| ()).map_err(|missing| self.explain(exchange, from, missing))
    }

    fn decode<T: Pod>(
        &self,
        exchange: Exchange,
        from: usize,
        received: Result<Vec<u8>, Missing>,
    ) -> Result<Vec<T>> {
        let bytes = received.map_err(|missing| self.explain(exchange, from, missing))?;
        let size = size_of::<T>();
        if bytes.len().is_multiple_of(size) {
            return Ok(bytemuck::allocation::pod_collect_to_vec(&bytes));
        }
        let (waiting, operation) = (self.index(), exchange.tag.operation);
        let (expected, found) = (size as u64, bytes.len() as u64);
        Err(self.fail(from, Cause::MessageSize { waiting, operation, expected, found }))
    }

    /// Ends the work of all ranks because a message from or to another rank is missing.
    fn explain(&self, exchange: Exchange, other: usize, missing: Missing) -> Error {
        let (waiting, operation) = (self.index(), exchange.tag.operation);
        let cause = match missing {
            Missing::Failed(failure) => return failure.into(),
            Missing::Finished => Cause::Finished { waiting, operation },
            Missing::Mismatch(found) => Cause::Mismatch { waiting, expected: operation, found },
            Missing::Lost(reason) => Cause::Disconnected(reason),
            Missing::TooLong { bytes, limit } => {
                return self.fail(waiting, Cause::MessageLimit { to: other, operation, bytes, limit });
            }
            Missing::Timeout => {
                // Also if the message arrives at this moment.
                let own = Report { operation, missing: vec![other], present: Vec::new() };
                let alone = Cause::Disconnected("its message came too late".into());
                return self.fail_by_waits(Some(own), alone);
            }
        };
        self.fail(other, cause)
    }

    /// Ends the work of all ranks because this rank timed out. The failed rank is the end of the chain of
    /// waiting ranks. `own` is this rank's own report, if the transport does not know it, and `alone` the
    /// cause if this rank is the end.
    fn fail_by_waits(&self, own: Option<Report>, alone: Cause) -> Error {
        let RankState { index, size, ref transport, timeout, .. } = *self.shared;
        let deadline = Instant::now() + SEARCH;
        let mut own = own;
        let ask = |rank| own.take_if(|_| rank == index).or_else(|| transport.ask(rank, deadline));
        let (rank, cause) = fault(origin(index, size, ask), timeout, alone);
        self.fail(rank, cause)
    }

    /// Reports, until the guard is dropped, that this rank waits for an exchange between GPUs.
    pub(crate) fn wait_for_gpus(
        &self,
        exchange: Exchange,
        peers: Arc<[usize]>,
        has_begun: bool,
    ) -> GpuWait<'_> {
        let tag = exchange.tag;
        let wait = if has_begun { Wait::Gpu { peers, tag } } else { Wait::Begin { peers, tag } };
        self.shared.transport.set_wait(Some(wait));
        GpuWait { rank: self }
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

    /// Ends the work of all ranks if a message does not have the expected number of bytes.
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
}

/// A rank that waits for an exchange between GPUs.
pub(crate) struct GpuWait<'a> {
    rank: &'a Rank,
}

impl GpuWait<'_> {
    /// Ends the work of all ranks because this rank timed out: it is the cause, with this reason, unless it
    /// waits for another rank.
    pub(crate) fn fail(self, reason: String) -> Error {
        self.rank.fail_by_waits(None, Cause::Nccl(reason))
    }
}

impl Drop for GpuWait<'_> {
    fn drop(&mut self) {
        self.rank.shared.transport.set_wait(None);
    }
}
