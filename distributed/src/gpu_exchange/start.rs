//! Choice of a run's engine, on which all ranks agree.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use evenpath::Device;
use evenpath::device::DeviceKind;
use serde::{Deserialize, Serialize};

use super::join::SPLIT;
use crate::error::{Error, Operation, Result};
use crate::memory::filled;
use crate::nccl::functions::{Functions, SUCCESS, UniqueId};
use crate::nccl::{Chosen, Communicator, Engine, ExchangeEngine};
use crate::rank::Rank;

/// Properties that a rank announces if it can use NCCL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Offer {
    /// NCCL's version.
    pub(super) version: u32,
    /// A number of the process, and of the GPU in it.
    pub(super) gpu: (u64, u32),
}

/// A rank's answer, or the reason why there is none.
type Answer<T> = Result<T, String>;

/// Outcome of joining a communicator: an error with a reason, or without one if another rank failed.
type Outcome = Result<(), Option<String>>;

/// Chooses the engine of a run, and starts it. A collective operation, unless the host is requested.
pub(crate) fn start(rank: &Rank, engine: Engine) -> Result<Chosen> {
    if engine == Engine::Host {
        return Ok(Chosen::host("it was requested"));
    }
    join(rank, engine, offer(rank.device()))
}

/// Returns this rank's offer, or the reason why it cannot use NCCL.
fn offer(device: &Device) -> Answer<(Functions, Offer)> {
    let DeviceKind::Cuda(ordinal) = device.kind() else {
        return Err(format!("{device} is not an NVIDIA GPU"));
    };
    if !device.shares_memory().map_err(|error| error.to_string())? {
        return Err(format!("{device} does not use its primary context; see `Device::cuda_primary`"));
    }
    let functions = Functions::load()?;
    Ok((functions, Offer { version: functions.version()?, gpu: (process(), ordinal) }))
}

/// A number unique to the process.
fn process() -> u64 {
    static NUMBER: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    *NUMBER
}

/// Exchanges offers, and joins a communicator if all ranks can.
pub(super) fn join(rank: &Rank, engine: Engine, own: Answer<(Functions, Offer)>) -> Result<Chosen> {
    let host = |reason: String| match engine {
        Engine::Nccl => Err(Error::Start { reason: format!("NCCL cannot be used: {reason}") }),
        _ => Ok(Chosen::host(reason)),
    };
    let offers = all_gather(rank, &own.as_ref().map(|(_, offer)| offer.clone()).map_err(String::clone))?;
    let (mut functions, version) = match agree(&offers).and_then(|version| Ok((own?.0, version))) {
        Err(reason) => return host(reason),
        Ok(agreed) => agreed,
    };
    loop {
        let id = if rank.index() == 0 { new_id(rank, &functions) } else { Ok(Vec::new()) };
        let id = match broadcast(rank, &id)? {
            Err(reason) => return host(reason),
            Ok(id) => id,
        };
        match join_all(rank, functions, &id)? {
            // NCCL works without splitting, but small exchanges take longer. All ranks have the same reason.
            Err(reason) if functions.ncclCommSplit.is_some() && reason.contains(SPLIT) => {
                functions.ncclCommSplit = None;
            }
            Err(reason) => return host(reason),
            Ok(communicator) => {
                let engine = ExchangeEngine::Nccl { version };
                return Ok(Chosen { engine, communicator: Some(Arc::new(communicator)) });
            }
        }
    }
}

/// Returns the communicator if all ranks have joined it; otherwise the reason of one that has not, and the
/// others drop and thereby abort theirs.
fn join_all(rank: &Rank, functions: Functions, id: &[u8]) -> Result<Answer<Communicator>> {
    let exchange = rank.begin(Operation::AllGather);
    let mut outcomes: Vec<Option<Outcome>> = filled(&None, rank.size())?;
    let is_in_vain = || {
        for from in rank.others() {
            if outcomes[from].is_none() {
                outcomes[from] = rank.try_receive(exchange, from)?.map(|bytes| read_outcome(&bytes));
            }
        }
        Ok(outcomes.iter().flatten().any(Result::is_err))
    };
    let communicator = Communicator::join(rank, functions, id, is_in_vain)?;
    let own: Outcome = communicator.as_ref().map(|_| ()).map_err(Clone::clone);
    for to in rank.others() {
        rank.send(exchange, to, &encode(&own))?;
    }
    outcomes[rank.index()] = Some(own);
    let mut all = Vec::new();
    for (from, outcome) in outcomes.into_iter().enumerate() {
        all.push(match outcome {
            Some(own) => own,
            None => read_outcome(&rank.receive::<u8>(exchange, from)?),
        });
    }
    let reason =
        |(rank, outcome): (usize, Outcome)| outcome.err()?.map(|reason| format!("rank {rank}: {reason}"));
    let has_all = all.iter().all(Result::is_ok);
    let reason = all.into_iter().enumerate().find_map(reason);
    Ok(communicator.ok().filter(|_| has_all).ok_or_else(|| reason.unwrap_or_default()))
}

/// Returns the version that all ranks have, or the reason why they cannot use NCCL.
fn agree(offers: &[Result<Offer, String>]) -> Result<u32, String> {
    if let Some(reason) = first_reason(offers) {
        return Err(reason);
    }
    let offers: Vec<&Offer> = offers.iter().flatten().collect();
    for (rank, offer) in offers.iter().enumerate() {
        if let Some(other) = offers[..rank].iter().position(|other| other.gpu == offer.gpu) {
            return Err(format!("ranks {other} and {rank} have the same GPU"));
        }
        if offer.version != offers[0].version {
            let (first, version) = (offers[0].version, offer.version);
            return Err(format!("rank 0 has NCCL {first}, but rank {rank} has {version}"));
        }
    }
    offers.first().map(|offer| offer.version).ok_or_else(|| "there are no ranks".into())
}

/// Reason of the first rank that has one.
fn first_reason<T>(answers: &[Result<T, String>]) -> Option<String> {
    let reasons =
        answers.iter().enumerate().filter_map(|(rank, answer)| Some((rank, answer.as_ref().err()?)));
    reasons.map(|(rank, reason)| format!("rank {rank}: {reason}")).next()
}

/// Creates the identity of a new communicator.
fn new_id(rank: &Rank, functions: &Functions) -> Result<Vec<u8>, String> {
    let mut id = UniqueId([0; 128]);
    // SAFETY: there is room for the identity.
    match unsafe { (functions.ncclGetUniqueId)(&raw mut id) } {
        SUCCESS => Ok(id.0.to_vec()),
        code => Err(format!(
            "rank {}: {}",
            rank.index(),
            functions.describe("ncclGetUniqueId", code, std::ptr::null_mut())
        )),
    }
}

/// Returns the answers of all ranks.
fn all_gather<T: Serialize + for<'a> Deserialize<'a>>(
    rank: &Rank,
    answer: &Answer<T>,
) -> Result<Vec<Answer<T>>> {
    let answers = rank.all_gather(&encode(answer))?;
    Ok(answers.iter().map(|bytes| decode(bytes)).collect())
}

/// Returns the answer of rank 0.
fn broadcast(rank: &Rank, answer: &Answer<Vec<u8>>) -> Result<Answer<Vec<u8>>> {
    Ok(decode(&rank.broadcast(0, &encode(answer))?))
}

fn encode(answer: &impl Serialize) -> Vec<u8> {
    // Serializing strings and numbers cannot fail.
    serde_json::to_vec(answer).unwrap_or_default()
}

fn decode<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Answer<T> {
    serde_json::from_slice(bytes).unwrap_or_else(|error| Err(unreadable(&error)))
}

fn read_outcome(bytes: &[u8]) -> Outcome {
    serde_json::from_slice(bytes).unwrap_or_else(|error| Err(Some(unreadable(&error))))
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("an invalid answer: {error}")
}
