//! Messages between ranks: tags, reasons for a missing message, and waits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Failure, Operation};

/// Identity of a message. Ranks call the same operations in the same order, so a number identifies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Run of the cluster.
    pub(crate) run: u64,
    /// Number of the operation within the run.
    pub(crate) sequence: u64,
    /// Kind of the operation, to detect ranks that call different ones.
    pub(crate) operation: Operation,
}

/// Reason why a message was not sent or not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A rank failed.
    Failed(Failure),
    /// The other rank has ended its run.
    Finished,
    /// The sender called another operation.
    Mismatch(Operation),
    /// The connection to the other rank is lost, with this reason.
    Lost(String),
    /// The message exceeds the engine's limit.
    TooLong {
        /// Size of the message.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The deadline has passed.
    Timeout,
}

/// Ranks that a rank waits for, and the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Waits for a message.
    Receive { from: usize, tag: Tag },
    /// Waits until a message is accepted.
    Send { to: usize, tag: Tag },
    /// Waits until an exchange between GPUs starts: each peer sends a message that it takes part, which is
    /// not taken yet.
    Begin { peers: Arc<[usize]>, tag: Tag },
    /// Waits until an exchange between GPUs in which all peers take part is complete.
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

/// A rank's answer to the question which ranks it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The operation in which it waits.
    pub(crate) operation: Operation,
    /// Ranks whose message has not arrived.
    pub(crate) missing: Vec<usize>,
    /// Ranks whose message has arrived, and whose GPU may still be needed.
    pub(crate) present: Vec<usize>,
}
