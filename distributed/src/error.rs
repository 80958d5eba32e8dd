//! What can go wrong, on this rank and on others.

use std::fmt;
use std::time::Duration;

use evenpath::csr::InvalidCsr;
use evenpath::error::{DeviceError, MatrixError, MatrixMarketError, OpError};
use serde::{Deserialize, Serialize};

/// An error of this crate.
///
/// What goes wrong on one rank ends the work of all: the others get [`Failed`](Self::Failed), which names the rank and the cause.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, Error};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let results = cluster.run_each(|rank| if rank.index() == 1 { Err(Error::Empty) } else { rank.barrier() });
/// assert!(matches!(results[1], Err(Error::Empty)));
/// assert!(results[0].as_ref().unwrap_err().to_string().starts_with("rank 1 failed: "));
/// # Ok::<(), Error>(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rank failed, and with it the work of all.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A cluster without ranks.
    #[error("a cluster has at least one rank")]
    Empty,
    /// A cluster of processes could not be started.
    #[error("the cluster cannot start: {reason}")]
    Start {
        /// What is missing or wrong.
        reason: String,
    },
    /// A rank has to give what others get, and gave nothing.
    #[error("rank {rank} gives no {what}")]
    NothingGiven {
        /// The rank.
        rank: usize,
        /// What is missing.
        what: &'static str,
    },
    /// A rank that the cluster does not have.
    #[error("rank {rank} does not exist: the cluster has {size} ranks")]
    NoSuchRank {
        /// The rank.
        rank: usize,
        /// The cluster's ranks.
        size: usize,
    },
    /// The boundaries of a partition do not fit.
    #[error("the boundaries of a row partition are {reason}")]
    Partition {
        /// What is wrong.
        reason: String,
    },
    /// Operands are divided among the ranks in different ways.
    #[error("{operand} is divided as {found}, and must be divided as {needed}")]
    PartitionMismatch {
        /// The operand's name.
        operand: &'static str,
        /// Its partition.
        found: String,
        /// The partition that is needed.
        needed: String,
    },
    /// An operand is of another rank, or of another run of the cluster.
    #[error("{operand} is of another rank, or was made in another run of the cluster")]
    OtherRun {
        /// The operand's name.
        operand: &'static str,
    },
    /// A column outside the matrix.
    #[error("row {row} has column {column}: the matrix has {cols} columns")]
    ColumnOutOfRange {
        /// The row, of the whole matrix.
        row: u64,
        /// The column.
        column: u64,
        /// The matrix's columns.
        cols: u64,
    },
    /// A row outside the matrix, or outside what a rank may give.
    #[error("row {row} is not within {first}..{end}")]
    RowOutOfRange {
        /// The row, of the whole matrix.
        row: u64,
        /// The first row that may be.
        first: u64,
        /// One more than the last.
        end: u64,
    },
    /// What does not fit into one rank's share.
    #[error("{what}: {found} on one rank, where at most {limit} fit; more ranks have smaller shares")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// The rows of B that a product needs do not fit into the memory that it may take.
    #[error("row {row} of B takes {needed} bytes, and a panel may take {limit}")]
    PanelMemory {
        /// The row, of the whole matrix.
        row: u64,
        /// Its bytes.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// A matrix in host memory.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A file.
    #[error(transparent)]
    MatrixMarket(#[from] MatrixMarketError),
    /// An operation on one device.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A device.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<V, O> From<InvalidCsr<V, O>> for Error {
    fn from(refused: InvalidCsr<V, O>) -> Self {
        Self::Matrix(refused.into())
    }
}

/// Which rank failed, and why. All ranks that are told of it get the same.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("rank {rank} failed: {cause}")]
pub struct Failure {
    /// The rank at fault.
    pub rank: usize,
    /// Why.
    pub cause: Cause,
}

/// Why a rank failed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// What it ran returned an error, whose text this is.
    #[error("{0}")]
    Error(String),
    /// What it ran panicked, with this message.
    #[error("it panicked: {0}")]
    Panic(String),
    /// Its process ended, or the network did not reach it.
    #[error("the connection to it was lost ({0})")]
    Disconnected(String),
    /// Another rank waited for it longer than the timeout. It waits for no rank itself.
    #[error("{}", describe_timeout(*.waiting, *.operation, *.limit, .behind))]
    Timeout {
        /// The rank that waits for it.
        waiting: usize,
        /// Where.
        operation: Operation,
        /// The timeout, which has passed on the last rank of `behind`, or on `waiting` if that is empty.
        limit: Duration,
        /// Ranks that wait because `waiting` does: the first for `waiting`, each of the others for the one before.
        behind: Vec<usize>,
    },
    /// Ranks wait for each other.
    #[error("{}", describe_deadlock(.waits))]
    Deadlock {
        /// The ranks, and the operation in which each waits: each for the next one, and the last for the first, which is the one that
        /// is named as failed.
        waits: Vec<(usize, Operation)>,
    },
    /// It ended its work while another rank waited for a message from it.
    #[error("it is done, and rank {waiting} waits for it in `{operation}`")]
    Finished {
        /// The rank that waits.
        waiting: usize,
        /// Where.
        operation: Operation,
    },
    /// It called one operation where another rank called another.
    #[error("it called `{found}` where rank {waiting} called `{expected}`")]
    Mismatch {
        /// The other rank.
        waiting: usize,
        /// What that called.
        expected: Operation,
        /// What this called.
        found: Operation,
    },
    /// It sent a message of a wrong size.
    #[error("it sent {found} bytes in `{operation}` to rank {waiting}, which expected {expected}")]
    MessageSize {
        /// The rank that got the message.
        waiting: usize,
        /// Where.
        operation: Operation,
        /// Bytes that were expected, or a multiple of which.
        expected: u64,
        /// Bytes of the message.
        found: u64,
    },
    /// It had a message that is longer than the cluster's transport sends.
    #[error("its message to rank {to} in `{operation}` has {bytes} bytes, more than the limit of {limit}")]
    MessageLimit {
        /// The rank that the message was for.
        to: usize,
        /// Where.
        operation: Operation,
        /// Bytes of the message.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// NCCL refused a call on it, found a fault, or took too long.
    #[error("NCCL: {0}")]
    Nccl(String),
    /// It sent bytes that are not a valid message.
    #[error("it sent an invalid message: {0}")]
    Protocol(String),
}

evenpath_simt::debug_as_message!(Error, Failure, Cause);

fn describe_timeout(waiting: usize, operation: Operation, limit: Duration, behind: &[usize]) -> String {
    let seconds = limit.as_secs_f64();
    if behind.is_empty() {
        return format!("rank {waiting} waited {seconds} s for it in `{operation}`");
    }
    let mut text = format!("rank {waiting} waits for it in `{operation}`");
    let mut before = waiting;
    for &rank in behind {
        text.extend([", rank ", &rank.to_string(), " for rank ", &before.to_string()]);
        before = rank;
    }
    text + &format!("; rank {before} waited {seconds} s")
}

fn describe_deadlock(waits: &[(usize, Operation)]) -> String {
    let next = waits.iter().cycle().skip(1);
    let described = waits
        .iter()
        .zip(next)
        .map(|((rank, operation), (next, _))| format!("rank {rank} waits for rank {next} in `{operation}`"));
    format!("deadlock: {}", described.collect::<Vec<_>>().join(", "))
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// What ranks do together.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Operation { $($(#[$doc])* $name),+ }

        impl Operation {
            const ALL: &[Self] = &[$(Self::$name),+];
        }

        impl fmt::Display for Operation {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text),+ })
            }
        }
    };
}

operations! {
    /// [`Rank::barrier`](crate::Rank::barrier).
    Barrier = "barrier",
    /// [`Rank::broadcast`](crate::Rank::broadcast).
    Broadcast = "broadcast",
    /// [`Rank::gather`](crate::Rank::gather).
    Gather = "gather",
    /// [`Rank::all_gather`](crate::Rank::all_gather).
    AllGather = "all-gather",
    /// [`Rank::all_reduce`](crate::Rank::all_reduce).
    AllReduce = "all-reduce",
    /// [`Rank::all_to_all`](crate::Rank::all_to_all).
    AllToAll = "all-to-all",
    /// The exchange of a vector's elements before a product.
    Halo = "halo exchange",
    /// The exchange of contributions after a product with the transpose.
    HaloReverse = "reverse halo exchange",
}

impl Operation {
    /// The operation of a number, as messages have it.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
