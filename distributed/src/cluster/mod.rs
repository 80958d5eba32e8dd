//! Ranks, and how they are started.

mod collectives;
mod environment;
mod rank;
mod waits;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use evenpath::Device;

pub(crate) use rank::Exchange;
pub use rank::{Rank, Traffic};

use crate::error::{Cause, Error, Failure, Result};
use crate::nccl::Engine;
use crate::transport::{Transport, connect, local};

/// How long a rank waits for a message of another, unless [`Cluster::with_timeout`] says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// Longer timeouts are shortened to this, about 34 years, so that deadlines do not overflow.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(1 << 30);

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
/// The same program runs as one process per rank: [`from_env`](Self::from_env) and `mpi` make a cluster of which only one rank lives in
/// this process, and [`run`](Self::run) returns its result alone.
pub struct Cluster {
    ranks: Ranks,
    engine: Engine,
    timeout: Duration,
    /// Runs that have begun.
    runs: u64,
}

enum Ranks {
    /// A thread for each device.
    Local(Vec<Device>),
    /// One rank of several processes.
    Process { index: usize, size: usize, device: Device, transport: Arc<dyn Transport> },
}

impl Cluster {
    /// A cluster of threads of this process, one for each device. GPUs should differ; ranks on the CPU share its threads.
    ///
    /// # Errors
    ///
    /// If there is no device.
    pub fn local(devices: impl IntoIterator<Item = Device>) -> Result<Self> {
        let devices: Vec<Device> = devices.into_iter().collect();
        if devices.is_empty() {
            return Err(Error::Empty);
        }
        Ok(Self::new(Ranks::Local(devices)))
    }

    /// One rank of a cluster of processes, which connect by TCP, each with all others. These environment variables say which:
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
    /// Each two ranks prove to each other that they have the secret (HMAC-SHA-256 over random numbers of both) before anything else is
    /// exchanged. Without a secret ranks listen and connect on the loopback interface alone; then any process of the host may join.
    /// Connections are not encrypted. Processes that connect and are not ranks are dropped, and do not delay the start.
    ///
    /// # Errors
    ///
    /// If a variable is missing or wrong. If a process does not come within the timeout, which is that of the whole start, or is of
    /// another cluster: the error names the rank, on all that have come. If ranks have different secrets or releases of this crate.
    pub fn from_env(device: Device) -> Result<Self> {
        let (options, timeout) = environment::read(|name| std::env::var_os(name))?;
        let transport = connect(&options, timeout)?;
        let ranks = Ranks::Process { index: options.index, size: options.size, device, transport };
        Ok(Self::new(ranks).with_timeout(timeout))
    }

    /// One rank of the processes that `mpirun` started. MPI is initialized by the call and finalized when the cluster is dropped. The
    /// variable `EVENPATH_TIMEOUT` is as for [`from_env`](Self::from_env).
    ///
    /// # Errors
    ///
    /// If MPI was initialized before, or does not let any one thread at a time call it, or the variable is wrong.
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

    /// Sets how long a rank waits for a message of another before it gives up: 60 s by default. It has to be longer than any rank
    /// computes between two exchanges.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: timeout.min(LONGEST_TIMEOUT), ..self }
    }

    /// Sets what carries elements of vectors between ranks in the runs to come; the processes of a cluster must choose the same.
    ///
    /// NCCL copies from GPU to GPU. It needs a GPU for each rank, used by its primary context ([`Device::cuda_primary`]), and the library:
    /// `libnccl.so.2` where the system's loader finds it or in a folder of the variable `EVENPATH_NCCL_PATH`, of version 2.14 or later and
    /// the same on all ranks. [`Engine::Auto`] is the default; [`Rank::exchange`] tells what a run uses. A communicator is made when a run
    /// begins, which takes up to a second.
    #[must_use]
    pub fn with_engine(self, engine: Engine) -> Self {
        Self { engine, ..self }
    }

    /// Ranks.
    pub fn size(&self) -> usize {
        match &self.ranks {
            Ranks::Local(devices) => devices.len(),
            Ranks::Process { size, .. } => *size,
        }
    }

    /// Has every rank run `body`, and returns the results of those that live in this process, in their order.
    ///
    /// All ranks must call the same operations of this crate in the same order. If a rank fails, by an error, by a panic or because its
    /// process ends, the operations of all others return an error that names it.
    ///
    /// # Errors
    ///
    /// The error of the rank that failed first, if it lives in this process, else that of the first one here. A panic becomes an error.
    pub fn run<T, E, F>(&mut self, body: F) -> Result<Vec<T>, E>
    where
        T: Send,
        E: From<Error> + fmt::Display + Send,
        F: Fn(&Rank) -> Result<T, E> + Sync,
    {
        let (results, first_failed) = self.run_all(&body);
        let mut errors = Vec::new();
        let mut values = Vec::new();
        for (index, result) in results {
            match result {
                Ok(value) => values.push(value),
                Err(error) if Some(index) == first_failed => return Err(error),
                Err(error) => errors.push(error),
            }
        }
        errors.into_iter().next().map_or(Ok(values), Err)
    }

    /// [`run`](Self::run), with the result of each rank by itself.
    pub fn run_each<T, E, F>(&mut self, body: F) -> Vec<Result<T, E>>
    where
        T: Send,
        E: From<Error> + fmt::Display + Send,
        F: Fn(&Rank) -> Result<T, E> + Sync,
    {
        self.run_all(&body).0.into_iter().map(|(_, result)| result).collect()
    }

    /// The results by rank, and the rank that failed first.
    #[expect(clippy::type_complexity)] // Both as they are.
    fn run_all<T, E, F>(&mut self, body: &F) -> (Vec<(usize, Result<T, E>)>, Option<usize>)
    where
        T: Send,
        E: From<Error> + fmt::Display + Send,
        F: Fn(&Rank) -> Result<T, E> + Sync,
    {
        let run = self.runs;
        self.runs += 1;
        let (timeout, engine) = (self.timeout, self.engine);
        let first_failed = |transport: &dyn Transport| transport.failure().map(|failure| failure.rank);
        match &self.ranks {
            Ranks::Process { index, size, device, transport } => {
                let rank = Rank::new((*index, *size), device.clone(), Arc::clone(transport), run, timeout);
                let result = run_one(&rank, transport, engine, body);
                (vec![(*index, result)], first_failed(&**transport))
            }
            Ranks::Local(devices) => {
                let transports = local(devices.len());
                let size = devices.len();
                let work = |index: usize| {
                    let (device, transport) = (devices[index].clone(), &transports[index]);
                    run_one(
                        &Rank::new((index, size), device, Arc::clone(transport), run, timeout),
                        transport,
                        engine,
                        body,
                    )
                };
                let results = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..size)
                        .map(|index| {
                            let builder = std::thread::Builder::new().name(format!("rank {index}"));
                            builder.spawn_scoped(scope, move || work(index)).map_err(|error| {
                                let cause = Cause::Error(format!("no thread: {error}"));
                                Error::from(transports[index].abort(Failure { rank: index, cause }))
                            })
                        })
                        .collect();
                    threads
                        .into_iter()
                        .enumerate()
                        .map(|(index, thread)| (index, join(index, thread)))
                        .collect()
                });
                (results, first_failed(&*transports[0]))
            }
        }
    }
}

/// The result of a rank's thread, which catches panics itself.
fn join<T, E: From<Error>>(
    rank: usize,
    thread: Result<std::thread::ScopedJoinHandle<'_, Result<T, E>>>,
) -> Result<T, E> {
    let panicked = |_| Failure { rank, cause: Cause::Panic("while it ended".into()) };
    thread?.join().unwrap_or_else(|payload| Err(Error::from(panicked(payload)).into()))
}

/// Runs the body on one rank, and tells the others how it ended.
fn run_one<T, E, F>(rank: &Rank, transport: &Arc<dyn Transport>, engine: Engine, body: &F) -> Result<T, E>
where
    E: From<Error> + fmt::Display,
    F: Fn(&Rank) -> Result<T, E>,
{
    let index = rank.index();
    if let Some(failure) = transport.failure() {
        return Err(Error::from(transport.abort(failure)).into());
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        rank.choose(crate::nccl::start(rank, engine)?);
        body(rank)
    }));
    let result = match result {
        Ok(Ok(value)) => {
            transport.finish(rank.run());
            Ok(value)
        }
        Ok(Err(error)) => {
            transport.abort(Failure { rank: index, cause: Cause::Error(error.to_string()) });
            Err(error)
        }
        Err(payload) => {
            let failure = Failure { rank: index, cause: Cause::Panic(message(&*payload)) };
            transport.abort(failure.clone());
            Err(Error::from(failure).into())
        }
    };
    if let Some(communicator) = rank.communicator() {
        communicator.close(rank, result.is_ok());
    }
    result
}

/// The message of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
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
