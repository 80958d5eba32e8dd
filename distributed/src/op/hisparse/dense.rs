//! Rows of B for a rank's trees.

use evenpath::vector::Positions;
use evenpath::{DeviceDense, DeviceSlice, Layout, Value};

use crate::Rank;
use crate::error::Result;
use crate::halo::{HaloExchange, Sent};
use crate::hisparse::Side;

/// The rows of a dense matrix that a rank's trees need.
pub(super) struct DenseOperand<V: Value> {
    /// Rows for the columns of the local tree.
    own: DeviceDense<V>,
    /// Rows for the columns of the other tree.
    others: DeviceDense<V>,
    gather_own: Positions,
    gather_others: Positions,
    exchange: HaloExchange<V>,
}

impl<V: Value> DenseOperand<V> {
    pub(super) fn new<const D: usize>(rank: &Rank, side: &Side<D>, width: usize) -> Result<Self> {
        let zeros = |rows: usize| rank.device().zeros_dense(rows, width, Layout::RowMajor);
        Ok(Self {
            own: zeros(side.own.len())?,
            others: zeros(side.others.len())?,
            gather_own: side.gather_own(rank, width)?,
            gather_others: side.gather_others(rank, width)?,
            exchange: HaloExchange::new(rank, &side.halo, side.vector_len(), width, false)?,
        })
    }

    /// Bytes of device memory, and of page-locked host memory.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (bytes, pinned) = self.exchange.bytes();
        let numbers = self.own.as_vec().len() + self.others.as_vec().len();
        let elements = (numbers * size_of::<V>()) as u64;
        (bytes + elements + self.gather_own.bytes() + self.gather_others.bytes(), pinned)
    }

    /// Exchanges rows with other ranks. Meanwhile `product` computes what it can with the rank's own. Returns
    /// the rows of others.
    pub(super) fn fetch(
        &mut self,
        b: &DeviceSlice<V>,
        product: impl FnOnce(&DeviceDense<V>) -> Result<()>,
    ) -> Result<(Sent, &DeviceDense<V>)> {
        let Self { own, others, gather_own, gather_others, exchange } = self;
        exchange.pack(b)?;
        let sent = exchange.beside(HaloExchange::send, || {
            gather_own.gather(b, own.as_mut_slice())?;
            product(own)
        })?;
        let halo = exchange.receive(&sent)?;
        gather_others.gather(halo.as_vec(), others.as_mut_slice())?;
        Ok((sent, others))
    }

    /// Waits until an exchange is complete.
    pub(super) fn finish(&self, sent: &Sent) -> Result<()> {
        self.exchange.finish(sent)
    }
}
