//! Clusters and their constructors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenpath::Device;

use super::environment::{self, DEFAULT_TIMEOUT, LONGEST_TIMEOUT};
use crate::error::{Error, Result};
use crate::nccl::Engine;
use crate::transport::{Transport, connect};

/// Ranks that work together, each with a device: threads of this process, or processes.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, Error};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu(), Device::cpu()])?;
/// let sums = cluster.run(|rank| rank.sum(rank.index() as f64))?;
/// assert_eq!(sums, [3.0, 3.0, 3.0]); // a result per rank
/// # Ok::<(), Error>(())
/// ```
///
/// With several processes, the same program runs once per rank: [`from_env`](Self::from_env) and `mpi` make a
/// cluster with only one rank in this process, and [`run`](Self::run) returns its result alone.
pub struct Cluster {
    pub(super) ranks: Ranks,
    pub(super) engine: Engine,
    pub(super) timeout: Duration,
    /// Number of runs started.
    pub(super) runs: u64,
}

pub(super) enum Ranks {
    /// One thread per device.
    Local(Vec<Device>),
    /// One rank of several processes.
    Process { index: usize, size: usize, device: Device, transport: Arc<dyn Transport> },
}

impl Cluster {
    /// Creates a cluster of threads of this process, one per device. GPUs should differ; ranks on the CPU
    /// share its threads.
    ///
    /// # Errors
    ///
    /// If no device is given.
    pub fn local(devices: impl IntoIterator<Item = Device>) -> Result<Self> {
        let devices: Vec<Device> = devices.into_iter().collect();
        if devices.is_empty() {
            return Err(Error::Empty);
        }
        Ok(Self::new(Ranks::Local(devices)))
    }

    /// Creates one rank of a cluster of processes, which are pairwise connected by TCP. These environment
    /// variables configure it:
    ///
    /// | variable | is |
    /// |---|---|
    /// | `EVENPATH_RANK` | this process's rank, from 0 |
    /// | `EVENPATH_SIZE` | the number of processes |
    /// | `EVENPATH_ADDRESS` | host and port at which the others find rank 0 |
    /// | `EVENPATH_SECRET` or `EVENPATH_SECRET_FILE` | what all ranks know and others do not, or the file that has it; optional on one host |
    /// | `EVENPATH_BIND` | optional: host, or host and port, at which this rank listens, where that differs from what others connect to |
    /// | `EVENPATH_TIMEOUT` | optional: seconds to wait for the others, now and later |
    ///
    /// Two ranks prove to each other that they know the secret (HMAC-SHA-256 over random numbers of both)
    /// before they exchange anything else. Without a secret, ranks listen and connect on the loopback
    /// interface only; any process of the host may then join. Connections are not encrypted. Processes that
    /// connect but are not ranks are dropped, and do not delay the start.
    ///
    /// # Errors
    ///
    /// If a variable is missing or invalid. If a process does not connect within the timeout, which covers
    /// the whole start, or is of another cluster: the error names the rank, on all that have connected. If
    /// ranks have different secrets or releases of this crate.
    pub fn from_env(device: Device) -> Result<Self> {
        let (options, timeout) = environment::read(|name| std::env::var_os(name))?;
        let transport = connect(&options, timeout)?;
        let ranks = Ranks::Process { index: options.index, size: options.size, device, transport };
        Ok(Self::new(ranks).with_timeout(timeout))
    }

    /// Creates one rank of the processes that `mpirun` started. Initializes MPI, which is finalized when the
    /// cluster is dropped. The variable `EVENPATH_TIMEOUT` has the same meaning as for
    /// [`from_env`](Self::from_env).
    ///
    /// # Errors
    ///
    /// If MPI was already initialized, or does not support serialized calls from any thread, or the variable
    /// is invalid.
    #[cfg(feature = "mpi")]
    pub fn mpi(device: Device) -> Result<Self> {
        let timeout = environment::timeout(|name| std::env::var_os(name))?;
        let transport = crate::transport::Mpi::initialize(timeout)?;
        let (index, size) = (transport.index(), transport.size());
        let ranks = Ranks::Process { index, size, device, transport: Arc::new(transport) };
        Ok(Self::new(ranks).with_timeout(timeout))
    }

    fn new(ranks: Ranks) -> Self {
        Self { ranks, engine: Engine::Auto, timeout: DEFAULT_TIMEOUT, runs: 0 }
    }

    /// Sets the limit on the wait for another rank's message: 60 s by default. It must be longer than any
    /// rank's computation between two exchanges.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: timeout.min(LONGEST_TIMEOUT), ..self }
    }

    /// Sets the engine that exchanges elements of vectors between ranks in later runs; the processes of a
    /// cluster must choose the same.
    ///
    /// NCCL copies from GPU to GPU. It needs a GPU for each rank, used by its primary context
    /// ([`Device::cuda_primary`]), and the library: `libnccl.so.2`, found by the system's loader or in a
    /// folder of the variable `EVENPATH_NCCL_PATH`, of version 2.14 or later and the same on all ranks.
    /// [`Engine::Auto`] is the default; [`Rank::exchange`](crate::Rank::exchange) returns the engine of a
    /// run. A communicator is created at the start of a run, which takes up to a second.
    #[must_use]
    pub fn with_engine(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        match &self.ranks {
            Ranks::Local(devices) => devices.len(),
            Ranks::Process { size, .. } => *size,
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ranks {
            Ranks::Local(devices) => write!(f, "Cluster({} threads)", devices.len()),
            Ranks::Process { index, size, device, .. } => {
                write!(f, "Cluster(rank {index} of {size}, on {device})")
            }
        }
    }
}
