//! Information on an exchange.

use std::fmt;

use evenpath::Value;

use super::Halo;
use crate::nccl::ExchangeEngine;
use crate::rank::Rank;

/// Exchange of elements between one rank and others in each run of a plan: part of the plan's information,
/// such as [`DistributedPlanInfo::exchange`](crate::DistributedPlanInfo::exchange).
///
/// Elements are numbers: those of a vector, or of the rows of a dense matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExchangeInfo {
    /// Engine that transports the elements.
    pub engine: ExchangeEngine,
    /// Number of elements that the rank sends, counted once for each rank that gets them.
    pub sent: u64,
    /// Bytes of the sent elements.
    pub sent_bytes: u64,
    /// Number of ranks that the sent elements go to.
    pub destinations: u64,
    /// Number of elements that the rank receives.
    pub received: u64,
    /// Bytes of the received elements.
    pub received_bytes: u64,
    /// Number of ranks that the received elements come from.
    pub sources: u64,
}

impl ExchangeInfo {
    /// Describes the exchange of a halo's elements, of `width` numbers each.
    pub(crate) fn forward<V: Value>(rank: &Rank, halo: &Halo, width: usize) -> Self {
        let (sent, received) =
            (total(rank, |to| halo.sent_to(to)), total(rank, |from| halo.received_from(from)));
        Self::new::<V>(rank, width, sent, received)
    }

    /// Describes the return of contributions to a halo's elements.
    pub(crate) fn reverse<V: Value>(rank: &Rank, halo: &Halo, width: usize) -> Self {
        let (sent, received) =
            (total(rank, |to| halo.received_from(to)), total(rank, |from| halo.sent_to(from)));
        Self::new::<V>(rank, width, sent, received)
    }

    /// Describes an exchange, given the number of elements and of ranks in each direction.
    fn new<V: Value>(
        rank: &Rank,
        width: usize,
        (sent, destinations): (u64, u64),
        (received, sources): (u64, u64),
    ) -> Self {
        let (sent, received) = (sent * width as u64, received * width as u64);
        let bytes = |elements: u64| elements * size_of::<V>() as u64;
        Self {
            engine: rank.exchange(),
            sent,
            sent_bytes: bytes(sent),
            destinations,
            received,
            received_bytes: bytes(received),
            sources,
        }
    }
}

/// Number of elements exchanged with all ranks, and number of ranks with which some are.
fn total(rank: &Rank, elements: impl Fn(usize) -> usize) -> (u64, u64) {
    let counts = (0..rank.size()).map(elements).filter(|&count| count > 0);
    counts.fold((0, 0), |(sum, ranks), count| (sum + count as u64, ranks + 1))
}

impl fmt::Display for ExchangeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, sent, sent_bytes, destinations, received, received_bytes, sources } = self;
        write!(
            f,
            "{sent} elements ({sent_bytes} bytes) sent to {destinations} ranks and {received} \
             ({received_bytes} bytes) received from {sources}, by {engine}"
        )?;
        match engine {
            ExchangeEngine::Host { reason } => write!(f, " ({reason})"),
            ExchangeEngine::Nccl { .. } => Ok(()),
        }
    }
}
