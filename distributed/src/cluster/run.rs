//! Runs of a cluster: every rank calls the same function.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::start::{Cluster, Ranks};
use crate::error::{Cause, Error, Failure, Result};
use crate::gpu_exchange;
use crate::nccl::Engine;
use crate::rank::Rank;
use crate::transport::{Transport, local};

impl Cluster {
    /// Runs `body` on every rank, and returns the results of the ranks in this process, in order.
    ///
    /// All ranks must call the same operations of this crate in the same order. If a rank fails, by an error,
    /// by a panic or because its process ends, the operations of all others return an error that names it.
    ///
    /// # Errors
    ///
    /// The error of the rank that failed first if it is in this process, otherwise that of the first rank
    /// here. A panic becomes an error.
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

    /// Like [`run`](Self::run), but returns the result of each rank separately.
    pub fn run_each<T, E, F>(&mut self, body: F) -> Vec<Result<T, E>>
    where
        T: Send,
        E: From<Error> + fmt::Display + Send,
        F: Fn(&Rank) -> Result<T, E> + Sync,
    {
        self.run_all(&body).0.into_iter().map(|(_, result)| result).collect()
    }

    /// Returns the results by rank, and the rank that failed first.
    #[expect(clippy::type_complexity)] // Both are returned as they are.
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

/// Joins a rank's thread, which catches panics itself, and returns its result.
fn join<T, E: From<Error>>(
    rank: usize,
    thread: Result<std::thread::ScopedJoinHandle<'_, Result<T, E>>>,
) -> Result<T, E> {
    let panicked = |_| Failure { rank, cause: Cause::Panic("while it ended".into()) };
    thread?.join().unwrap_or_else(|payload| Err(Error::from(panicked(payload)).into()))
}

/// Runs the body on one rank, and reports its end to the others.
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
        rank.choose(gpu_exchange::start(rank, engine)?);
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

/// Message of a panic.
fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}
