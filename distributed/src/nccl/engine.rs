//! Engines that exchange elements of vectors between ranks: the requested one, and the one that a run uses.

use std::fmt;
use std::sync::Arc;

use super::communicator::Communicator;

/// Choice of the engine that exchanges elements of vectors between ranks: see
/// [`Cluster::with_engine`](crate::Cluster::with_engine).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Engine {
    /// NCCL if it can be used, otherwise the host.
    #[default]
    Auto,
    /// The host: page-locked memory and the messages of the cluster.
    Host,
    /// NCCL; if it cannot be used, runs fail.
    Nccl,
}

/// Engine that exchanges elements of vectors in a run: see [`Rank::exchange`](crate::Rank::exchange).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExchangeEngine {
    /// The host.
    Host {
        /// The reason why NCCL is not used.
        reason: String,
    },
    /// NCCL, from GPU to GPU.
    Nccl {
        /// Its version: 10000 times the major, 100 times the minor, and the patch.
        version: u32,
    },
}

impl fmt::Display for ExchangeEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { .. } => f.write_str("host"),
            Self::Nccl { version } => {
                write!(f, "nccl {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
            }
        }
    }
}

/// The engine of a rank in a run.
pub(crate) struct Chosen {
    pub(crate) engine: ExchangeEngine,
    /// The communicator of NCCL, if used.
    pub(crate) communicator: Option<Arc<Communicator>>,
}

impl Chosen {
    pub(crate) fn host(reason: impl Into<String>) -> Self {
        Self { engine: ExchangeEngine::Host { reason: reason.into() }, communicator: None }
    }
}
