//! The exchange of a vector's elements between devices.
//!
//! This is the one place where elements leave a device for another rank: by NCCL where the run has it, else through page-locked host
//! memory and the cluster's transport.

use std::ops::Range;
use std::sync::Arc;

use evenpath::device::{DeviceKind, PinnedVec, Stream};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, DeviceSlice, DeviceVec, Layout, Value};

use super::Halo;
use crate::error::{Operation, Result};
use crate::gpu_exchange::{self, Part, Started};
use crate::memory::reserved;
use crate::nccl::Communicator;
use crate::rank::{Exchange, Rank};

/// The memory and the stream to exchange vectors by a [`Halo`], forth or in reverse.
///
/// An element is `width` numbers side by side: a row of a dense matrix.
pub(crate) struct HaloExchange<V: Value> {
    rank: Rank,
    halo: Arc<Halo>,
    width: usize,
    /// Copies, packing and NCCL's kernels are put here, beside the product, and go before it where both wait for multiprocessors: a
    /// product has blocks enough to keep them waiting until its end.
    stream: Stream,
    /// What others need, in the rank's part of a vector.
    positions: Positions,
    /// The same for each rank by itself, where contributions come back.
    positions_by_rank: Vec<Option<Positions>>,
    /// What others need, side by side; or what they contribute.
    packed: DeviceVec<V>,
    /// What this rank needs of others; or contributes to theirs.
    needed: DeviceDense<V>,
    way: Way<V>,
}

/// How elements get to other ranks.
enum Way<V: Value> {
    Host {
        packed: PinnedVec<V>,
        needed: PinnedVec<V>,
    },
    /// In the first exchange connections are made, and nothing else is under way. What the driver does when kernels are first used, such as
    /// loading them, may wait for the GPU; it must not wait for NCCL, which may wait for a rank that does the same.
    Nccl {
        communicator: Arc<Communicator>,
        is_first: bool,
    },
}

/// An exchange that has begun, and is to be [finished](HaloExchange::finish).
pub(crate) enum Sent {
    Host(Exchange),
    Nccl(Started),
    /// It is done.
    Done,
}

impl<V: Value> HaloExchange<V> {
    /// For a rank's part of a vector, of `len` elements. `is_reverse` if contributions come back.
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

    /// Packs what others need, and begins to copy it to where it is sent from.
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

    /// Sends by `send`, and has the product computed meanwhile.
    ///
    /// On the CPU an operation is done when its call returns, so messages have to be on their way before it. On a GPU the product is
    /// only launched, and runs while the host waits for what it sends. NCCL goes first: its kernel would wait for the blocks of one that
    /// was launched before.
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

    /// Sends what was packed.
    pub(crate) fn send(&mut self) -> Result<Sent> {
        self.begin(Operation::Halo)
    }

    /// Sends each rank the contributions to its elements.
    pub(crate) fn send_back(&mut self) -> Result<Sent> {
        self.begin(Operation::HaloReverse)
    }

    /// Begins an exchange: of what was packed, or in reverse of what was contributed.
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
                for Part { peer, send, .. } in parts {
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

    /// What this rank needs, on the device. What reads it is ordered after its arrival.
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

    /// Has this rank's contributions to elements of others computed, and begins to copy them to where they are sent from.
    pub(crate) fn contribute(
        &mut self,
        product: impl FnOnce(&mut DeviceSlice<V>) -> Result<()>,
    ) -> Result<()> {
        let Self { stream, needed, way, .. } = self;
        stream.scope(|| {
            product(needed.as_mut_slice())?;
            if let Way::Host { needed: host, .. } = way {
                needed.as_vec().copy_to_pinned(host, 0)?;
            }
            Ok(())
        })
    }

    /// Adds what other ranks contribute to this rank's elements, in the order of the ranks.
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

    /// Waits until an exchange is done, so that a rank that fails in it fails no later than here.
    pub(crate) fn finish(&self, sent: &Sent) -> Result<()> {
        match (&self.way, sent) {
            (Way::Nccl { communicator, .. }, Sent::Nccl(started)) => communicator.finish(&self.rank, started),
            // It was waited for.
            _ => Ok(()),
        }
    }
}

/// What goes to each rank and comes from it, given the elements; ranks without any are left out.
fn parts(rank: &Rank, width: usize, ways: impl Fn(usize) -> (Range<usize>, Range<usize>)) -> Vec<Part> {
    let part = |peer| {
        let (send, receive) = ways(peer);
        Part { peer, send: scaled(&send, width), receive: scaled(&receive, width) }
    };
    rank.others().map(part).filter(|part| !part.send.is_empty() || !part.receive.is_empty()).collect()
}

/// The numbers of a range of elements.
fn scaled(range: &Range<usize>, width: usize) -> Range<usize> {
    range.start * width..range.end * width
}

/// The position of each number of elements that are `width` numbers side by side.
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
