//! Transposed sparse matrix times vector.

use std::fmt;

use evenpath::spmv::{self, SpmvTransposedOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceVec, Value};

use crate::error::Result;
use crate::halo::HaloExchange;
use crate::{DistributedCsr, DistributedVec};

/// Plan of y = αAᵀx + βy for one matrix, which can run any number of times. Created by
/// [`DistributedCsr::plan_spmv_transposed`].
///
/// The halo is exchanged in reverse: each rank computes its contributions to other ranks' elements of y, and
/// sends them. A rank adds the contributions of others to its own in the order of the ranks, so results are
/// the same to the last bit in every run with the same partitions, options and devices, unless the method is
/// an unordered one.
pub struct SpmvTransposedPlan<V: Value> {
    matrix: DistributedCsr<V>,
    local: spmv::SpmvTransposedPlan<V>,
    non_local: spmv::SpmvTransposedPlan<V>,
    /// Positions in x of the non-local matrix's rows.
    boundary: Positions,
    /// Elements of x in those rows.
    gathered: DeviceVec<V>,
    exchange: HaloExchange<V>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product of the transpose with vectors: both local matrices with the given options, and
    /// memory for the exchange.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv_transposed`](evenpath::DeviceCsr::plan_spmv_transposed) on one device.
    pub fn plan_spmv_transposed(&self, options: SpmvTransposedOptions) -> Result<SpmvTransposedPlan<V>> {
        let parts = self.non_local_parts();
        let (device, rank) = (self.rank().device(), self.rank());
        Ok(SpmvTransposedPlan {
            local: self.local().plan_spmv_transposed(options)?,
            non_local: parts.matrix.plan_spmv_transposed(options)?,
            boundary: Positions::new(device, &parts.rows, self.local().nrows())?,
            gathered: device.zeros(parts.rows.len())?,
            exchange: HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), 1, true)?,
            matrix: self.clone(),
        })
    }
}

impl<V: Value> SpmvTransposedPlan<V> {
    /// Computes y = `alpha`·Aᵀ·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's rows, or `y` like its columns; then nothing is written on this
    /// rank. If a rank failed.
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
