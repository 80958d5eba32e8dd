//! Messages between ranks: by what they are told apart, why one is missing, and who waits for one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Failure, Operation};

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
    pub(super) fn tag(&self) -> Tag {
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
