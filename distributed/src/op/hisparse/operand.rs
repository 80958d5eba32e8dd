//! Elements of x for a rank's trees.

use evenpath::vector::Positions;
use evenpath::{DeviceSlice, DeviceVec, Value};

use crate::Rank;
use crate::error::Result;
use crate::halo::{HaloExchange, Sent};
use crate::hisparse::Side;

/// The elements of a vector that a rank's trees need.
pub(super) struct Operand<V: Value> {
    /// Elements for the trees' rows, or columns: those of this rank, then those of others.
    pub(super) elements: DeviceVec<V>,
    pub(super) own: usize,
    pub(super) others: usize,
    gather_own: Positions,
    gather_others: Positions,
    pub(super) exchange: HaloExchange<V>,
}

impl<V: Value> Operand<V> {
    pub(super) fn new<const D: usize>(rank: &Rank, side: &Side<D>) -> Result<Self> {
        let (own, others) = (side.own.len(), side.others.len());
        Ok(Self {
            elements: rank.device().zeros(own + others)?,
            own,
            others,
            gather_own: side.gather_own(rank, 1)?,
            gather_others: side.gather_others(rank, 1)?,
            exchange: HaloExchange::new(rank, &side.halo, side.vector_len(), 1, false)?,
        })
    }

    /// Bytes of device memory, and of page-locked host memory.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (bytes, pinned) = self.exchange.bytes();
        let elements = (self.elements.len() * size_of::<V>()) as u64;
        (bytes + elements + self.gather_own.bytes() + self.gather_others.bytes(), pinned)
    }

    /// Exchanges elements with other ranks. Meanwhile `product` computes what it can with the rank's own
    /// elements, which come first.
    pub(super) fn fetch(
        &mut self,
        x: &DeviceSlice<V>,
        product: impl FnOnce(&DeviceSlice<V>) -> Result<()>,
    ) -> Result<Sent> {
        let Self { elements, own, gather_own, gather_others, exchange, .. } = self;
        exchange.pack(x)?;
        let sent = exchange.beside(HaloExchange::send, || {
            gather_own.gather(x, &mut *elements.slice_mut(..*own)?)?;
            product(elements)
        })?;
        let halo = exchange.receive(&sent)?;
        gather_others.gather(halo.as_vec(), &mut *elements.slice_mut(*own..)?)?;
        Ok(sent)
    }
}
