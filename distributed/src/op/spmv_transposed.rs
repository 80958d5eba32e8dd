//! Transposed sparse matrix times vector.

use std::fmt;

use evenpath::spmv::{self, SpmvTransposedOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceVec, Value};

use crate::error::Result;
use crate::halo::HaloExchange;
use crate::{DistributedCsr, DistributedVec};

/// y = αAᵀx + βy for one matrix, planned once and run as often as needed. Made by [`DistributedCsr::plan_spmv_transposed`].
///
/// The halo is exchanged in reverse: each rank computes what it contributes to other ranks' elements of y, and sends it to them. A rank
/// adds the contributions of others to its own in the order of the ranks, so results are the same to the last bit in every run with
/// the same partitions, options and devices, unless the method is an unordered one.
pub struct SpmvTransposedPlan<V: Value> {
    matrix: DistributedCsr<V>,
    local: spmv::SpmvTransposedPlan<V>,
    non_local: spmv::SpmvTransposedPlan<V>,
    /// The rows of the non-local matrix, in x.
    boundary: Positions,
    /// The elements of x in those rows.
    gathered: DeviceVec<V>,
    exchange: HaloExchange<V>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product of the transpose with vectors: both local matrices by the given options, and the memory for the exchange.
    ///
    /// # Errors
    ///
    /// As for [`plan_spmv_transposed`](evenpath::DeviceCsr::plan_spmv_transposed) on one device.
    pub fn plan_spmv_transposed(&self, options: SpmvTransposedOptions) -> Result<SpmvTransposedPlan<V>> {
        let parts = self.non_local_parts();
        let (device, rank) = (self.rank().device(), self.rank());
        Ok(SpmvTransposedPlan {
            local: self.local().plan_spmv_transposed(options)?,
            non_local: parts.matrix.plan_spmv_transposed(options)?,
            boundary: Positions::new(device, &parts.rows, self.local().rows())?,
            gathered: device.zeros(parts.rows.len())?,
            exchange: HaloExchange::new(rank, self.shared_halo(), self.local().cols(), 1, true)?,
            matrix: self.clone(),
        })
    }
}

impl<V: Value> SpmvTransposedPlan<V> {
    /// y = `alpha`·Aᵀ·`x` + `beta`·y. With `beta` zero, y is overwritten, whatever it held. A collective operation.
    ///
    /// # Errors
    ///
    /// If `x` is not divided as the matrix's rows, or `y` as its columns; then nothing is written on this rank. If a rank failed.
    pub fn run(&mut self, alpha: V, x: &DistributedVec<V>, beta: V, y: &mut DistributedVec<V>) -> Result<()> {
        let rank = self.matrix.rank();
        x.check_operand("x", rank, self.matrix.row_partition())?;
        y.check_operand("y", rank, self.matrix.col_partition())?;
        let Self { local, non_local, boundary, gathered, exchange, .. } = self;
        exchange.contribute(|contributions| {
            boundary.gather(x.local(), gathered)?;
            Ok(non_local.run(alpha, gathered, V::ZERO, contributions)?)
        })?;
        let sent = exchange
            .beside(HaloExchange::send_back, || Ok(local.run(alpha, x.local(), beta, y.local_mut())?))?;
        exchange.add_contributions(&sent, y.local_mut())?;
        exchange.finish(&sent)
    }
}

impl<V: Value> fmt::Debug for SpmvTransposedPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvTransposedPlan({:?})", self.matrix)
    }
}
