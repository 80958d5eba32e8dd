//! How bytes get from rank to rank. Everything else is built on [`Transport`].

mod frame;
mod local;
mod mailbox;
#[cfg(feature = "mpi")]
mod mpi;
mod tcp;

use std::time::Instant;

pub(crate) use local::local;
#[cfg(feature = "mpi")]
pub(crate) use mpi::Mpi;
pub(crate) use tcp::{TcpAddress, connect};

use crate::error::{Failure, Operation, Result};

/// Which message it is. Ranks call the same operations in the same order, so that a number tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The run of the cluster.
    pub(crate) run: u64,
    /// The operation's number within the run.
    pub(crate) sequence: u64,
    /// What the operation is: to notice that ranks call different ones.
    pub(crate) operation: Operation,
}

/// Why a message was not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A rank failed.
    Failed(Failure),
    /// The sender has ended its run.
    Finished,
    /// The sender called another operation.
    Mismatch(Operation),
    /// The deadline has passed.
    Timeout,
}

/// One rank's way to the others. A rank sends nothing to itself.
pub(crate) trait Transport: Send + Sync {
    /// Sends a message. Does not wait until it is received.
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), Failure>;

    /// The message of a rank, as soon as it is there.
    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing>;

    /// Tells the others that this rank sends no more in a run.
    fn finish(&self, run: u64);

    /// Tells all ranks, this one included, that a rank failed, or of the failure that this rank was told of before. Returns the first.
    fn abort(&self, failure: Failure) -> Failure;

    /// The failure that this rank was told of.
    fn failure(&self) -> Option<Failure>;
}
