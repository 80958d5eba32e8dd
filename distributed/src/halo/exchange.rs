//! Exchange of a vector's elements between devices.
//!
//! This is the only place where elements leave a device for another rank: by NCCL if the run uses it,
//! otherwise through page-locked host memory and the cluster's transport.

use std::ops::Range;
use std::sync::Arc;

use evenpath::device::{DeviceKind, PinnedVec, Stream};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, DeviceSlice, DeviceVec, Layout, Value};

use super::Halo;
use crate::error::{Operation, Result};
use crate::gpu_exchange::{self, PeerRanges, Started};
use crate::memory::reserved;
use crate::nccl::Communicator;
use crate::rank::{Exchange, Rank};

/// Memory and stream for exchanges of vectors by a [`Halo`], forward or in reverse.
///
/// An element is `width` adjacent numbers: a row of a dense matrix.
pub(crate) struct HaloExchange<V: Value> {
    rank: Rank,
    halo: Arc<Halo>,
    width: usize,
    /// Stream of copies, packing and NCCL's kernels, beside the product. It has priority: a product has
    /// enough blocks to keep other kernels waiting until its end.
    stream: Stream,
    /// Positions of the elements that others need, in the rank's part of a vector.
    positions: Positions,
    /// The same for each rank separately, for contributions.
    positions_by_rank: Vec<Option<Positions>>,
    /// Elements that others need, packed; or their contributions.
    packed: DeviceVec<V>,
    /// Elements that this rank needs from others; or its contributions to theirs.
    needed: DeviceDense<V>,
    way: Way<V>,
}

/// Transport of elements to other ranks.
enum Way<V: Value> {
    Host {
        packed: PinnedVec<V>,
        needed: PinnedVec<V>,
    },
    /// The first exchange makes connections, with nothing else in progress: the driver may wait for the GPU
    /// when kernels are first used, for example to load them, and must not wait for NCCL, which may wait for
    /// a rank that does the same.
    Nccl {
        communicator: Arc<Communicator>,
        is_first: bool,
    },
}

/// An exchange in progress, to be [finished](HaloExchange::finish).
pub(crate) enum Sent {
    Host(Exchange),
    Nccl(Started),
    /// A completed exchange.
    Done,
}

impl<V: Value> HaloExchange<V> {
    /// Creates an exchange for a rank's part of a vector, of `len` elements. `is_reverse` if contributions
    /// are returned.
    pub(crate) fn new(
        rank: &Rank,
        halo: &Arc<Halo>,
        len: usize,
        width: usize,
        is_reverse: bool,
    ) -> Result<Self> {
        let device = rank.device();
        let expanded = expand(halo.send_positions(), width)?;
        let vector_len = len.saturating_mul(width);
        let mut positions_by_rank = Vec::new();
        for other in 0..if is_reverse { rank.size() } else { 0 } {
            let own = &expanded[scaled(&halo.send_range(other), width)];
            let positions =
                if own.is_empty() { None } else { Some(Positions::new(device, own, vector_len)?) };
            positions_by_rank.push(positions);
        }
        let needed = halo.columns().len();
        let way = match rank.communicator() {
            Some(communicator) => Way::Nccl { communicator, is_first: true },
            None => {
                Way::Host { packed: device.pinned(expanded.len())?, needed: device.pinned(needed * width)? }
            }
        };
        Ok(Self {
            rank: rank.clone(),
            halo: Arc::clone(halo),
            width,
            stream: device.urgent_stream()?,
            positions: Positions::new(device, &expanded, vector_len)?,
            positions_by_rank,
            packed: device.zeros(expanded.len())?,
            needed: device.zeros_dense(needed, width, Layout::RowMajor)?,
            way,
        })
    }

    /// Bytes of device memory, and of page-locked host memory.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let of = |len: usize| (len * size_of::<V>()) as u64;
        let by_rank: u64 = self.positions_by_rank.iter().flatten().map(Positions::bytes).sum();
        let positions = self.positions.bytes() + by_rank;
        let pinned = match &self.way {
            Way::Host { packed, needed } => of(packed.len()) + of(needed.len()),
            Way::Nccl { .. } => 0,
        };
        (positions + of(self.packed.len()) + of(self.needed.as_vec().len()), pinned)
    }

    /// Packs the elements that others need, and starts copying them to the send buffer.
    pub(crate) fn pack(&mut self, x: &DeviceSlice<V>) -> Result<()> {
        let Self { stream, positions, packed, way, .. } = self;
        stream.scope(|| {
            positions.gather(x, packed)?;
            if let Way::Host { packed: host, .. } = way {
                packed.copy_to_pinned(host, 0)?;
            }
            Ok(())
        })
    }

    /// Sends through `send`, and computes the product meanwhile.
    ///
    /// On the CPU an operation is complete when its call returns, so messages must be sent before it. On a
    /// GPU the product is only launched, and runs while the host waits for the data to send. NCCL goes first:
    /// its kernel would wait for the blocks of one that was launched before.
    pub(crate) fn beside(
        &mut self,
        send: fn(&mut Self) -> Result<Sent>,
        product: impl FnOnce() -> Result<()>,
    ) -> Result<Sent> {
        let is_sent_first = match self.way {
            Way::Host { .. } => self.rank.device().kind() == DeviceKind::Cpu,
            Way::Nccl { is_first, .. } => !is_first,
        };
        if is_sent_first {
            let sent = send(self)?;
            product()?;
            return Ok(sent);
        }
        product()?;
        send(self)
    }

    /// Sends the packed elements.
    pub(crate) fn send(&mut self) -> Result<Sent> {
        self.begin(Operation::Halo)
    }

    /// Sends each rank the contributions to its elements.
    pub(crate) fn send_back(&mut self) -> Result<Sent> {
        self.begin(Operation::HaloReverse)
    }

    /// Starts an exchange: of packed elements, or in reverse of contributions.
    fn begin(&mut self, operation: Operation) -> Result<Sent> {
        let Self { rank, halo, width, stream, packed, needed, way, .. } = self;
        let is_reverse = operation == Operation::HaloReverse;
        let exchange = rank.begin(operation);
        let parts = parts(rank, *width, |peer| {
            let (packed, needed) = (halo.send_range(peer), halo.receive_range(peer));
            if is_reverse { (needed, packed) } else { (packed, needed) }
        });
        match way {
            Way::Host { packed, needed } => {
                let elements = if is_reverse { needed.as_slice() } else { packed.as_slice() }?;
                for PeerRanges { peer, send, .. } in parts {
                    if !send.is_empty() {
                        rank.send(exchange, peer, &elements[send])?;
                    }
                }
                Ok(Sent::Host(exchange))
            }
            Way::Nccl { .. } if parts.is_empty() => Ok(Sent::Done),
            Way::Nccl { communicator, is_first } => {
                let (packed, needed) = (&mut **packed, needed.as_mut_slice());
                let operands = if is_reverse { (&*needed, packed) } else { (&*packed, needed) };
                let way =
                    if *is_first { gpu_exchange::Way::Connecting } else { gpu_exchange::Way::Connected };
                let started = communicator.start(rank, (exchange, way), stream, operands, &parts)?;
                if !std::mem::take(is_first) {
                    return Ok(Sent::Nccl(started));
                }
                communicator.finish(rank, &started)?;
                Ok(Sent::Done)
            }
        }
    }

    /// Returns the received elements, on the device. Kernels that read them are ordered after their arrival.
    pub(crate) fn receive(&mut self, sent: &Sent) -> Result<&DeviceDense<V>> {
        let Self { rank, halo, width, stream, needed, way, .. } = self;
        if let (Way::Host { needed: host, .. }, Sent::Host(exchange)) = (way, sent) {
            let elements = host.as_mut_slice()?;
            for from in 0..rank.size() {
                let range = scaled(&halo.receive_range(from), *width);
                if !range.is_empty() {
                    let part = &mut elements[range];
                    part.copy_from_slice(&rank.receive_exactly(*exchange, from, part.len())?);
                }
            }
            stream.scope(|| needed.as_mut_slice().copy_from_pinned(host, 0))?;
        }
        Ok(needed)
    }

    /// Computes this rank's contributions to elements of others through `compute`, and starts copying them to
    /// the send buffer.
    pub(crate) fn contribute(
        &mut self,
        product: impl FnOnce(&mut DeviceDense<V>) -> Result<()>,
    ) -> Result<()> {
        let Self { stream, needed, way, .. } = self;
        stream.scope(|| {
            product(needed)?;
            if let Way::Host { needed: host, .. } = way {
                needed.as_vec().copy_to_pinned(host, 0)?;
            }
            Ok(())
        })
    }

    /// Adds other ranks' contributions to this rank's elements, in the order of the ranks.
    pub(crate) fn add_contributions(&mut self, sent: &Sent, y: &mut DeviceSlice<V>) -> Result<()> {
        for from in 0..self.rank.size() {
            let Some(positions) = &self.positions_by_rank[from] else { continue };
            let range = scaled(&self.halo.send_range(from), self.width);
            if let (Way::Host { packed: host, .. }, Sent::Host(exchange)) = (&mut self.way, sent) {
                let part: Vec<V> = self.rank.receive_exactly(*exchange, from, range.len())?;
                host.as_mut_slice()?[range.clone()].copy_from_slice(&part);
                self.packed.slice_mut(range.clone())?.copy_from_pinned(host, range.start)?;
            }
            positions.add(&*self.packed.slice(range)?, y)?;
        }
        Ok(())
    }

    /// Waits until an exchange is complete, so that a rank that fails in it is reported here at the latest.
    pub(crate) fn finish(&self, sent: &Sent) -> Result<()> {
        match (&self.way, sent) {
            (Way::Nccl { communicator, .. }, Sent::Nccl(started)) => communicator.finish(&self.rank, started),
            // Already waited for.
            _ => Ok(()),
        }
    }
}

/// Lists the parts to send to and receive from each rank; ranks without any are omitted.
fn parts(rank: &Rank, width: usize, ways: impl Fn(usize) -> (Range<usize>, Range<usize>)) -> Vec<PeerRanges> {
    let part = |peer| {
        let (send, receive) = ways(peer);
        PeerRanges { peer, send: scaled(&send, width), receive: scaled(&receive, width) }
    };
    rank.others().map(part).filter(|part| !part.send.is_empty() || !part.receive.is_empty()).collect()
}

/// Range of numbers for a range of elements.
fn scaled(range: &Range<usize>, width: usize) -> Range<usize> {
    range.start * width..range.end * width
}

/// Positions of all numbers, for elements of `width` adjacent numbers.
pub(crate) fn expand(positions: &[u32], width: usize) -> Result<Vec<u32>> {
    let found = (positions.len() as u64).saturating_mul(width as u64);
    let limit = u64::from(u32::MAX);
    if found > limit {
        return Err(crate::Error::TooLarge { what: "numbers of a dense matrix", found, limit });
    }
    let mut expanded = reserved(found as usize)?;
    for &position in positions {
        let first = u64::from(position).saturating_mul(width as u64);
        for number in first..first.saturating_add(width as u64) {
            let too_large =
                |_| crate::Error::TooLarge { what: "numbers of a dense matrix", found: number, limit };
            expanded.push(u32::try_from(number).map_err(too_large)?);
        }
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn positions_have_32_bits() {
        assert_eq!(expand(&[3, 0], 2).unwrap(), [6, 7, 0, 1]);
        assert_eq!(expand(&[(1 << 31) - 1], 2).unwrap(), [u32::MAX - 1, u32::MAX]);
        assert!(matches!(expand(&[1 << 31], 2), Err(Error::TooLarge { found, .. }) if found == 1 << 32));
        assert!(matches!(expand(&[0, 0], usize::MAX), Err(Error::TooLarge { .. })), "positions");
    }
}
