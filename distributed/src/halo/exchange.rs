//! The exchange of a vector's elements between devices.
//!
//! This is the one place where elements leave a device for another rank. They go through page-locked host memory and the cluster's
//! transport; an engine that copies from device to device would replace what is below [`HaloExchange`].

use std::sync::Arc;

use evenpath::device::{DeviceKind, PinnedVec, Stream};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, DeviceSlice, DeviceVec, Layout, Value};

use super::Halo;
use crate::Rank;
use crate::cluster::Exchange;
use crate::error::{Operation, Result};

/// The memory and the stream to exchange vectors by a [`Halo`], forth or in reverse.
///
/// An element is `width` numbers side by side: a row of a dense matrix.
pub(crate) struct HaloExchange<V: Value> {
    rank: Rank,
    halo: Arc<Halo>,
    width: usize,
    /// Copies and packing happen here, beside the product.
    stream: Stream,
    /// What others need, in the rank's part of a vector.
    positions: Positions,
    /// The same for each rank by itself, where contributions come back.
    positions_by_rank: Vec<Option<Positions>>,
    /// What others need, side by side; or what they contribute.
    packed: DeviceVec<V>,
    packed_host: PinnedVec<V>,
    /// What this rank needs of others; or contributes to theirs.
    needed: DeviceDense<V>,
    needed_host: PinnedVec<V>,
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
            let range = halo.send_range(other);
            let own = &expanded[range.start * width..range.end * width];
            let positions =
                if own.is_empty() { None } else { Some(Positions::new(device, own, vector_len)?) };
            positions_by_rank.push(positions);
        }
        let needed = halo.columns().len();
        Ok(Self {
            rank: rank.clone(),
            halo: Arc::clone(halo),
            width,
            stream: device.stream()?,
            positions: Positions::new(device, &expanded, vector_len)?,
            positions_by_rank,
            packed: device.zeros(expanded.len())?,
            packed_host: device.pinned(expanded.len())?,
            needed: device.zeros_dense(needed, width, Layout::RowMajor)?,
            needed_host: device.pinned(needed * width)?,
        })
    }

    /// Begins to copy what others need to the host.
    pub(crate) fn pack(&mut self, x: &DeviceSlice<V>) -> Result<()> {
        let Self { stream, positions, packed, packed_host, .. } = self;
        stream.scope(|| {
            positions.gather(x, packed)?;
            Ok(packed.copy_to_pinned(packed_host, 0)?)
        })
    }

    /// Sends by `send`, and has the product computed meanwhile.
    ///
    /// On the CPU an operation is done when its call returns, so messages have to be on their way before it. On a GPU the product is
    /// only launched, and runs while the host waits for what it sends.
    pub(crate) fn beside(
        &mut self,
        send: fn(&mut Self) -> Result<Exchange>,
        product: impl FnOnce() -> Result<()>,
    ) -> Result<Exchange> {
        if self.rank.device().kind() == DeviceKind::Cpu {
            let exchange = send(self)?;
            product()?;
            return Ok(exchange);
        }
        product()?;
        send(self)
    }

    /// Sends what was packed, when it has been copied.
    pub(crate) fn send(&mut self) -> Result<Exchange> {
        let exchange = self.rank.begin(Operation::Halo);
        let packed = self.packed_host.as_slice()?;
        for to in self.rank.others() {
            let range = self.halo.send_range(to);
            if !range.is_empty() {
                self.rank.send(exchange, to, &packed[range.start * self.width..range.end * self.width])?;
            }
        }
        Ok(exchange)
    }

    /// Waits for what this rank needs, and begins to copy it to the device. What reads the result is ordered after that.
    pub(crate) fn receive(&mut self, exchange: Exchange) -> Result<&DeviceDense<V>> {
        let host = self.needed_host.as_mut_slice()?;
        for from in 0..self.rank.size() {
            let range = self.halo.receive_range(from);
            if !range.is_empty() {
                let part = &mut host[range.start * self.width..range.end * self.width];
                part.copy_from_slice(&self.rank.receive_exactly(exchange, from, part.len())?);
            }
        }
        let Self { stream, needed, needed_host, .. } = self;
        stream.scope(|| needed.as_mut_slice().copy_from_pinned(needed_host, 0))?;
        Ok(&self.needed)
    }

    /// Has this rank's contributions to elements of others computed, and begins to copy them to the host.
    pub(crate) fn contribute(
        &mut self,
        product: impl FnOnce(&mut DeviceSlice<V>) -> Result<()>,
    ) -> Result<()> {
        let Self { stream, needed, needed_host, .. } = self;
        stream.scope(|| {
            product(needed.as_mut_slice())?;
            Ok(needed.as_vec().copy_to_pinned(needed_host, 0)?)
        })
    }

    /// Sends each rank the contributions to its elements.
    pub(crate) fn send_back(&mut self) -> Result<Exchange> {
        let exchange = self.rank.begin(Operation::HaloReverse);
        let host = self.needed_host.as_slice()?;
        for to in self.rank.others() {
            let range = self.halo.receive_range(to);
            if !range.is_empty() {
                self.rank.send(exchange, to, &host[range.start * self.width..range.end * self.width])?;
            }
        }
        Ok(exchange)
    }

    /// Adds what other ranks contribute to this rank's elements, in the order of the ranks.
    pub(crate) fn add_contributions(&mut self, exchange: Exchange, y: &mut DeviceSlice<V>) -> Result<()> {
        for from in 0..self.rank.size() {
            let Some(positions) = &self.positions_by_rank[from] else { continue };
            let range = self.halo.send_range(from);
            let range = range.start * self.width..range.end * self.width;
            let part: Vec<V> = self.rank.receive_exactly(exchange, from, range.len())?;
            self.packed_host.as_mut_slice()?[range.clone()].copy_from_slice(&part);
            let mut packed = self.packed.slice_mut(range.clone())?;
            packed.copy_from_pinned(&self.packed_host, range.start)?;
            positions.add(&packed, y)?;
        }
        Ok(())
    }
}

/// The position of each number of elements that are `width` numbers side by side.
pub(crate) fn expand(positions: &[u32], width: usize) -> Result<Vec<u32>> {
    let found = (positions.len() as u64).saturating_mul(width as u64);
    let limit = u64::from(u32::MAX);
    if found > limit {
        return Err(crate::Error::TooLarge { what: "numbers of a dense matrix", found, limit });
    }
    let mut expanded = Vec::with_capacity(positions.len() * width);
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
