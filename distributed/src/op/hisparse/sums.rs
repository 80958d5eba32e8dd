//! Sums of a rank's trees for elements of y.

use evenpath::error::MatrixError;
use evenpath::vector::{self, Positions};
use evenpath::{DeviceDense, DeviceSlice, DeviceVec, Factor, Layout, Value};

use crate::Rank;
use crate::error::Result;
use crate::halo::HaloExchange;
use crate::hisparse::Side;

/// Sums computed by a rank's trees: elements of `width` numbers each.
pub(super) struct TreeSums<V: Value> {
    /// Sums for the trees' rows, or columns: those of this rank, then those of others. A row of zeros
    /// follows in memory.
    pub(super) elements: DeviceDense<V>,
    pub(super) own: usize,
    pub(super) others: usize,
    spread: Positions,
    /// Sums for each of the rank's elements of the result.
    product: DeviceVec<V>,
    gather_contributions: Positions,
    exchange: HaloExchange<V>,
}

impl<V: Value> TreeSums<V> {
    pub(super) fn new<const D: usize>(rank: &Rank, side: &Side<D>, width: usize) -> Result<Self> {
        let numbers = |elements: usize| elements.saturating_mul(width);
        let memory = rank.device().zeros(numbers(side.len() + 1))?;
        let elements =
            DeviceDense::try_with_leading_dimension(memory, side.len(), width, Layout::RowMajor, width)
                .map_err(MatrixError::from)?;
        Ok(Self {
            elements,
            own: side.own.len(),
            others: side.others.len(),
            spread: side.spread(rank, width)?,
            product: rank.device().zeros(numbers(side.vector_len()))?,
            gather_contributions: side.gather_contributions(rank, width)?,
            exchange: HaloExchange::new(rank, &side.halo, side.vector_len(), width, true)?,
        })
    }

    /// Bytes of device memory, and of page-locked host memory.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (bytes, pinned) = self.exchange.bytes();
        let elements = ((self.elements.as_vec().len() + self.product.len()) * size_of::<V>()) as u64;
        (bytes + elements + self.spread.bytes() + self.gather_contributions.bytes(), pinned)
    }

    /// Computes sums through `compute`, and starts copying those for other ranks to the send buffer.
    pub(super) fn contribute(
        &mut self,
        compute: impl FnOnce(&mut DeviceDense<V>) -> Result<()>,
    ) -> Result<()> {
        let Self { elements, gather_contributions, exchange, .. } = self;
        exchange.contribute(|contributions| {
            compute(elements)?;
            Ok(gather_contributions.gather(elements.as_vec(), contributions.as_mut_slice())?)
        })
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
            product(elements.as_mut_slice())?;
            spread.gather(elements.as_vec(), own_product)?;
            Ok(vector::axpby(V::ONE, own_product, beta, y)?)
        })?;
        exchange.add_contributions(&sent, y)?;
        exchange.finish(&sent)
    }
}
