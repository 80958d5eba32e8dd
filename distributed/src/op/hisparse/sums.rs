//! Sums of a rank's trees for elements of y.

use evenpath::vector::{self, Positions};
use evenpath::{DeviceSlice, DeviceVec, Factor, Value};

use crate::Rank;
use crate::error::Result;
use crate::halo::HaloExchange;
use crate::hisparse::Side;

/// Sums computed by a rank's trees.
pub(super) struct TreeSums<V: Value> {
    /// Sums for the trees' rows, or columns: those of this rank, those of others, and a zero.
    pub(super) elements: DeviceVec<V>,
    pub(super) own: usize,
    pub(super) others: usize,
    spread: Positions,
    /// Sums for each of the rank's elements of the result.
    product: DeviceVec<V>,
    pub(super) gather_contributions: Positions,
    pub(super) exchange: HaloExchange<V>,
}

impl<V: Value> TreeSums<V> {
    pub(super) fn new<const D: usize>(rank: &Rank, side: &Side<D>) -> Result<Self> {
        let (own, others) = (side.own.len(), side.others.len());
        Ok(Self {
            elements: rank.device().zeros(own + others + 1)?,
            own,
            others,
            spread: side.spread(rank)?,
            product: rank.device().zeros(side.vector_len())?,
            gather_contributions: side.gather_contributions(rank)?,
            exchange: HaloExchange::new(rank, &side.halo, side.vector_len(), 1, true)?,
        })
    }

    /// Bytes of device memory, and of page-locked host memory.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (bytes, pinned) = self.exchange.bytes();
        let elements = ((self.elements.len() + self.product.len()) * size_of::<V>()) as u64;
        (bytes + elements + self.spread.bytes() + self.gather_contributions.bytes(), pinned)
    }

    /// Sends the contributions. Meanwhile `product` computes the rank's own sums, if still to be done, which
    /// are added to `beta`·y; then the contributions of others are added.
    pub(super) fn finish<'f>(
        &mut self,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
        product: impl FnOnce(&mut DeviceSlice<V>) -> Result<()>,
    ) -> Result<()> {
        let Self { elements, spread, product: own_product, exchange, .. } = self;
        let sent = exchange.beside(HaloExchange::send_back, || {
            product(elements)?;
            spread.gather(elements, own_product)?;
            Ok(vector::axpby(V::ONE, own_product, beta, y)?)
        })?;
        exchange.add_contributions(&sent, y)?;
        exchange.finish(&sent)
    }
}
