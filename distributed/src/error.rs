//! Errors, and failures of other ranks.

use std::fmt;
use std::time::Duration;

use evenpath::csr::InvalidCsr;
use evenpath::error::{DeviceError, MatrixError, MatrixMarketError, OpError};
use serde::{Deserialize, Serialize};

/// An error of this crate.
///
/// A failure of one rank ends the work of all: the others get [`Failed`](Self::Failed), which names the rank
/// and the cause.
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
    /// A rank failed, which ended the work of all.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The cluster has no ranks.
    #[error("a cluster needs at least one rank")]
    Empty,
    /// A cluster of processes could not be started.
    #[error("cannot start the cluster: {reason}")]
    Start {
        /// The reason.
        reason: String,
    },
    /// The root of a collective operation passed nothing.
    #[error("rank {rank} passed no {what}")]
    NothingGiven {
        /// The rank.
        rank: usize,
        /// The missing argument.
        what: &'static str,
    },
    /// The rank does not exist.
    #[error("rank {rank} does not exist: the cluster has {size} ranks")]
    NoSuchRank {
        /// The rank.
        rank: usize,
        /// Number of ranks of the cluster.
        size: usize,
    },
    /// The partition is invalid.
    #[error("invalid row partition: {reason}")]
    Partition {
        /// The reason.
        reason: String,
    },
    /// Operands have different partitions.
    #[error("{operand} is divided as {found}, but must be divided as {needed}")]
    PartitionMismatch {
        /// The operand's name.
        operand: &'static str,
        /// Its partition.
        found: String,
        /// The required partition.
        needed: String,
    },
    /// An operand belongs to another rank, or to another run of the cluster.
    #[error("{operand} belongs to another rank or another run of the cluster")]
    OtherRun {
        /// The operand's name.
        operand: &'static str,
    },
    /// A plan was run while another thread of the rank was running it. Ranks match their operations by their
    /// order, so the second run does not wait.
    #[error("rank {rank} is running the plan on another thread already, and the limit is one run at a time")]
    PlanInUse {
        /// The rank.
        rank: usize,
    },
    /// The operation needs whole rows, but rows of the matrix are cut between ranks.
    #[error("rows of {operand} are cut between ranks, but the operation needs whole rows: call `whole_rows`")]
    CutRows {
        /// The operand's name.
        operand: &'static str,
    },
    /// A column is outside the matrix.
    #[error("row {row} has column {column}, but the matrix has {cols} columns")]
    ColumnOutOfRange {
        /// The global row number.
        row: u64,
        /// The column.
        column: u64,
        /// Number of columns of the matrix.
        cols: u64,
    },
    /// A row is outside the matrix, or outside the rows that a rank may provide.
    #[error("row {row} is outside {first}..{end}")]
    RowOutOfRange {
        /// The global row number.
        row: u64,
        /// The first allowed row.
        first: u64,
        /// The last allowed row plus one.
        end: u64,
    },
    /// A rank's share is too large.
    #[error("too many {what} on one rank: {found}, but the limit is {limit}; use more ranks")]
    TooLarge {
        /// The counted quantity.
        what: &'static str,
        /// The count.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// A row of B that a product needs exceeds the memory limit for panels.
    #[error("row {row} of B takes {needed} bytes, but the limit for a panel is {limit}")]
    PanelMemory {
        /// The global row number.
        row: u64,
        /// Size of the row in bytes.
        needed: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Error of a matrix in host memory.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// Error of a Matrix Market file.
    #[error(transparent)]
    MatrixMarket(#[from] MatrixMarketError),
    /// Error of an operation on one device.
    #[error(transparent)]
    Op(#[from] OpError),
    /// Error of a device.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<V, O> From<InvalidCsr<V, O>> for Error {
    fn from(refused: InvalidCsr<V, O>) -> Self {
        Self::Matrix(refused.into())
    }
}

/// Failure of a rank and its cause, the same on all ranks that are told of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("rank {rank} failed: {cause}")]
pub struct Failure {
    /// The failed rank.
    pub rank: usize,
    /// The cause.
    pub cause: Cause,
}

/// Cause of a rank's failure.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// Its function returned an error with this text.
    #[error("{0}")]
    Error(String),
    /// Its function panicked with this message.
    #[error("it panicked: {0}")]
    Panic(String),
    /// Its process ended, or the network did not reach it.
    #[error("the connection to it was lost ({0})")]
    Disconnected(String),
    /// Another rank waited for it longer than the timeout, and it was not waiting for any rank itself.
    #[error("{}", describe_timeout(*.waiting, *.operation, *.limit, .behind))]
    Timeout {
        /// The rank that waits for it.
        waiting: usize,
        /// The operation in which it waits.
        operation: Operation,
        /// The timeout, exceeded on the last rank of `behind`, or on `waiting` if that is empty.
        limit: Duration,
        /// Ranks that wait because `waiting` does: the first for `waiting`, each of the others for its
        /// predecessor.
        behind: Vec<usize>,
    },
    /// Ranks wait for each other.
    #[error("{}", describe_deadlock(.waits))]
    Deadlock {
        /// The ranks, and the operation in which each waits: each for the next one, and the last for the
        /// first, which is reported as failed.
        waits: Vec<(usize, Operation)>,
    },
    /// It ended its function while another rank waited for a message from it.
    #[error("it has ended, but rank {waiting} waits for it in `{operation}`")]
    Finished {
        /// The rank that waits.
        waiting: usize,
        /// The operation in which it waits.
        operation: Operation,
    },
    /// It called a different operation than another rank.
    #[error("it called `{found}` where rank {waiting} called `{expected}`")]
    Mismatch {
        /// The other rank.
        waiting: usize,
        /// Operation that the other rank called.
        expected: Operation,
        /// Operation that this rank called.
        found: Operation,
    },
    /// It sent a message of the wrong size.
    #[error("it sent {found} bytes in `{operation}` to rank {waiting}, which expected {expected}")]
    MessageSize {
        /// The rank that received the message.
        waiting: usize,
        /// The operation.
        operation: Operation,
        /// Expected number of bytes, or a divisor of it.
        expected: u64,
        /// Number of bytes in the message.
        found: u64,
    },
    /// It sent a message that exceeds the limit of the cluster's transport.
    #[error("its message to rank {to} in `{operation}` has {bytes} bytes, but the limit is {limit}")]
    MessageLimit {
        /// The receiving rank.
        to: usize,
        /// The operation.
        operation: Operation,
        /// Number of bytes in the message.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An NCCL call on it failed or took too long.
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
        /// Collective operations.
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
    /// Converts the operation number of a message.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
