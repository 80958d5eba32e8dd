//! How bytes get from rank to rank. Everything else is built on [`Transport`].

mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod local;
mod mailbox;
#[cfg(feature = "mpi")]
mod mpi;
mod tcp;

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub(crate) use local::local;
#[cfg(feature = "mpi")]
pub(crate) use mpi::Mpi;
pub(crate) use tcp::{Secret, TcpOptions, connect};

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

/// Why a message was not sent, or not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A rank failed.
    Failed(Failure),
    /// The other rank has ended its run.
    Finished,
    /// The sender called another operation.
    Mismatch(Operation),
    /// The connection to the other rank is lost, for this reason.
    Lost(String),
    /// The message is longer than this engine sends.
    TooLong {
        /// Its bytes.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The deadline has passed.
    Timeout,
}

/// Whom a rank waits for, and in which operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For a message.
    Receive { from: usize, tag: Tag },
    /// Until a message is accepted.
    Send { to: usize, tag: Tag },
    /// Until an exchange between GPUs begins: each peer sends a message that it takes part, which is not taken yet.
    Begin { peers: Arc<[usize]>, tag: Tag },
    /// Until an exchange between GPUs in which all peers take part is done.
    Gpu { peers: Arc<[usize]>, tag: Tag },
}

impl Wait {
    fn tag(&self) -> Tag {
        let (Self::Receive { tag, .. }
        | Self::Send { tag, .. }
        | Self::Begin { tag, .. }
        | Self::Gpu { tag, .. }) = self;
        *tag
    }
}

/// A rank's answer to the question whom it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The operation in which it waits.
    pub(crate) operation: Operation,
    /// The ranks whose message has not come.
    pub(crate) missing: Vec<usize>,
    /// Ranks whose message has come, and whose GPU may still be needed.
    pub(crate) present: Vec<usize>,
}

/// One rank's way to the others. A rank sends nothing to itself.
pub(crate) trait Transport: Send + Sync {
    /// Sends a message. Does not wait until it is received.
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>, deadline: Instant) -> Result<(), Missing>;

    /// The message of a rank, as soon as it is there. A rank whose deadline passes keeps saying, when it is asked, that it waits: it
    /// fails next.
    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing>;

    /// Whether the message of a rank is there; an error if it will not come.
    fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing>;

    /// Sets whom this rank waits for outside of [`receive`](Self::receive) and [`send`](Self::send).
    fn set_wait(&self, wait: Option<Wait>);

    /// Asks a rank, which may be this one, whom it waits for: `None` if it does not wait, or does not answer by the deadline.
    fn ask(&self, rank: usize, deadline: Instant) -> Option<Report>;

    /// Tells the others that this rank sends no more in a run.
    fn finish(&self, run: u64);

    /// Tells all ranks, this one included, that a rank failed, or of the failure that this rank was told of before. Returns the first.
    fn abort(&self, failure: Failure) -> Failure;

    /// The failure that this rank was told of.
    fn failure(&self) -> Option<Failure>;
}
