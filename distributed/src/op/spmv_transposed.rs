//! Transposed sparse matrix times vector.

use std::fmt;

use evenpath::spmv::{self, SpmvTransposedOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceVec, Factor, Value};

use super::info::{Costs, DistributedSpmvTransposedPlanInfo};
use super::run::{Exclusive, factors};
use crate::error::Result;
use crate::halo::{ExchangeInfo, HaloExchange};
use crate::{DistributedCsr, DistributedVec};

/// Plan of y = αAᵀx + βy for one matrix, which can run any number of times. Created by
/// [`DistributedCsr::plan_spmv_transposed`].
///
/// The halo is exchanged in reverse: each rank computes its contributions to other ranks' elements of y, and
/// sends them. A rank adds the contributions of others to its own in the order of the ranks, so results are
/// the same to the last bit in every run with the same partitions, options and devices, unless the method is
/// an unordered one.
pub struct DistributedSpmvTransposedPlan<V: Value> {
    matrix: DistributedCsr<V>,
    local: spmv::SpmvTransposedPlan<V>,
    non_local: spmv::SpmvTransposedPlan<V>,
    /// Positions in x of the non-local matrix's rows.
    boundary: Positions,
    buffers: Exclusive<SpmvTransposedBuffers<V>>,
    costs: Costs,
}

struct SpmvTransposedBuffers<V: Value> {
    /// Elements of x in the rows of the non-local matrix.
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
    pub fn plan_spmv_transposed(
        &self,
        options: SpmvTransposedOptions,
    ) -> Result<DistributedSpmvTransposedPlan<V>> {
        let parts = self.non_local_parts();
        let (device, rank) = (self.rank().device(), self.rank());
        let start = device.record()?;
        let local = self.local().plan_spmv_transposed(options)?;
        let non_local = parts.matrix.plan_spmv_transposed(options)?;
        let boundary = Positions::new(device, &parts.rows, self.local().nrows())?;
        let gathered = device.zeros(parts.rows.len())?;
        let exchange = HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), 1, true)?;
        let (bytes, pinned) = exchange.bytes();
        let buffer_bytes = bytes + boundary.bytes() + (gathered.len() * size_of::<V>()) as u64;
        Ok(DistributedSpmvTransposedPlan {
            matrix: self.clone(),
            local,
            non_local,
            boundary,
            buffers: Exclusive::new(SpmvTransposedBuffers { gathered, exchange }),
            costs: Costs::new(rank, start, (buffer_bytes, pinned))?,
        })
    }
}

impl<V: Value> DistributedSpmvTransposedPlan<V> {
    /// Computes y = `alpha`·Aᵀ·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation: factors must be equal on all ranks, each on the rank's own device if it is in
    /// device memory.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's rows, or `y` like its columns, a factor is not one element on
    /// the rank's device, or another thread of the rank is running the plan; then nothing is written on this
    /// rank. If a rank failed.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DistributedVec<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DistributedVec<V>,
    ) -> Result<()> {
        let rank = self.matrix.rank();
        x.check_operand("x", rank, self.matrix.row_partition())?;
        y.check_operand("y", rank, self.matrix.col_partition())?;
        let (alpha, beta) = factors(rank, alpha, beta)?;
        let SpmvTransposedBuffers { gathered, exchange } = &mut *self.buffers.take(rank)?;
        exchange.contribute(|contributions| {
            self.boundary.gather(x.local(), gathered)?;
            Ok(self.non_local.run(alpha, gathered, V::ZERO, contributions)?)
        })?;
        let sent = exchange.beside(HaloExchange::send_back, || {
            Ok(self.local.run(alpha, x.local(), beta, y.local_mut())?)
        })?;
        exchange.add_contributions(&sent, y.local_mut())?;
        exchange.finish(&sent)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedSpmvTransposedPlanInfo> {
        let exchange = ExchangeInfo::reverse::<V>(self.matrix.rank(), self.matrix.halo(), 1);
        let parts = [self.local.info()?, self.non_local.info()?];
        let parts = parts.map(|part| (part.workspace_bytes, part));
        self.costs.info(&self.matrix, exchange, parts)
    }
}

impl<V: Value> fmt::Debug for DistributedSpmvTransposedPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedSpmvTransposedPlan({:?})", self.matrix)
    }
}
