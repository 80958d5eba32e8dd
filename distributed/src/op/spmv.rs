//! Sparse matrix times vector.

use std::fmt;

use evenpath::spmv::SpmvOptions;
use evenpath::vector::Positions;
use evenpath::{DeviceDense, DeviceSlice, DeviceVec, Factor, Value, spmv};

use super::cut_row;
use super::info::{Costs, DistributedSpmvPlanInfo};
use super::run::{Exclusive, check_part, factors};
use crate::error::Result;
use crate::halo::{ExchangeInfo, HaloExchange};
use crate::{DistributedCsr, DistributedVec};

/// Plan of y = αAx + βy for one matrix, which can run any number of times. Created by
/// [`DistributedCsr::plan_spmv`].
///
/// A run packs the elements that other ranks need, multiplies the local matrix while they are in transit, and
/// adds the product of the non-local matrix with the received elements. Results are the same to the last bit
/// in every run with the same partitions, options and devices. With other partitions they differ by rounding:
/// the sum of a row is that of its local part plus that of the other. If rows are cut between ranks, each of a
/// row's other ranks sends its sum, and the owner adds these sums last, in the order of the ranks.
pub struct DistributedSpmvPlan<V: Value> {
    matrix: DistributedCsr<V>,
    local: spmv::SpmvPlan<V>,
    non_local: spmv::SpmvPlan<V>,
    cut_row: Option<[spmv::SpmvPlan<V>; 2]>,
    /// Positions in y of the non-local matrix's rows.
    boundary: Positions,
    buffers: Exclusive<SpmvBuffers<V>>,
    costs: Costs,
}

struct SpmvBuffers<V: Value> {
    /// Product of the non-local matrix.
    partial: DeviceVec<V>,
    exchange: HaloExchange<V>,
    /// Exchange of the sums of cut rows.
    sums: Option<HaloExchange<V>>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product with vectors: both local matrices with the given options, and memory for the
    /// exchange.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](evenpath::DeviceCsr::plan_spmv) on one device.
    pub fn plan_spmv(&self, options: SpmvOptions) -> Result<DistributedSpmvPlan<V>> {
        let parts = self.non_local_parts();
        let (device, rank) = (self.rank().device(), self.rank());
        let start = device.record()?;
        let (local, non_local) = (self.local().plan_spmv(options)?, parts.matrix.plan_spmv(options)?);
        let boundary = Positions::new(device, &parts.rows, self.local().nrows())?;
        let partial = device.zeros(parts.rows.len())?;
        let exchange = HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), 1, false)?;
        let (cut_row, sums) =
            (cut_row::plans(self, |a| a.plan_spmv(options))?, cut_row::exchange(self, 1, true)?);
        let ((bytes, pinned), (sums_bytes, sums_pinned)) = (exchange.bytes(), cut_row::bytes(sums.as_ref()));
        let buffer_bytes = bytes + sums_bytes + boundary.bytes() + (partial.len() * size_of::<V>()) as u64;
        Ok(DistributedSpmvPlan {
            matrix: self.clone(),
            local,
            non_local,
            cut_row,
            boundary,
            buffers: Exclusive::new(SpmvBuffers { partial, exchange, sums }),
            costs: Costs::new(rank, start, (buffer_bytes, pinned + sums_pinned))?,
        })
    }
}

impl<V: Value> DistributedSpmvPlan<V> {
    /// Computes y = `alpha`·A·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation: factors must be equal on all ranks, each on the rank's own device if it is in
    /// device memory.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's columns, or `y` like its rows, a factor is not one element on
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
        x.check_operand("x", rank, self.matrix.col_partition())?;
        y.check_operand("y", rank, self.matrix.row_partition())?;
        self.multiply(factors(rank, alpha, beta)?, x.local(), y.local_mut())
    }

    /// Computes y = `alpha`·A·x + `beta`·y like [`run`](Self::run) for vectors of which each rank passes its part, on its device: as many
    /// elements of x as it has columns, and of y as it has rows.
    ///
    /// # Errors
    ///
    /// If a part has another length or is on another device; also those of [`run`](Self::run).
    pub fn run_local<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        x: &DeviceSlice<V>,
        beta: impl Into<Factor<'f, V>>,
        y: &mut DeviceSlice<V>,
    ) -> Result<()> {
        let rank = self.matrix.rank();
        check_part("x", x, rank, self.matrix.col_partition())?;
        check_part("y", y, rank, self.matrix.row_partition())?;
        self.multiply(factors(rank, alpha, beta)?, x, y)
    }

    /// The matrix.
    pub fn matrix(&self) -> &DistributedCsr<V> {
        &self.matrix
    }

    fn multiply(
        &self,
        (alpha, beta): (Factor<V>, Factor<V>),
        x: &DeviceSlice<V>,
        y: &mut DeviceSlice<V>,
    ) -> Result<()> {
        let rank = self.matrix.rank();
        let SpmvBuffers { partial, exchange, sums } = &mut *self.buffers.take(rank)?;
        exchange.pack(x)?;
        let sent = exchange.beside(HaloExchange::send, || Ok(self.local.run(alpha, x, beta, y)?))?;
        let halo = exchange.receive(&sent)?;
        let sum = |sum: &mut DeviceDense<V>| {
            let Some([local, non_local]) = &self.cut_row else { return Ok(()) };
            local.run(alpha, x, V::ZERO, sum.as_mut_slice())?;
            Ok(non_local.run(alpha, halo.as_vec(), V::ONE, sum.as_mut_slice())?)
        };
        cut_row::add_sums(sums.as_mut(), y, sum, |y| {
            self.non_local.run(alpha, halo.as_vec(), V::ZERO, partial)?;
            Ok(self.boundary.add(partial, y)?)
        })?;
        exchange.finish(&sent)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedSpmvPlanInfo> {
        let exchange = ExchangeInfo::forward::<V>(self.matrix.rank(), self.matrix.halo(), 1);
        let info = |plan: &spmv::SpmvPlan<V>| plan.info().map(|info| (info.workspace_bytes, info));
        let parts = [info(&self.local)?, info(&self.non_local)?];
        let cut_row = match (&self.cut_row, self.matrix.cut_row()) {
            (Some([local, non_local]), Some(cut)) => {
                let exchange = ExchangeInfo::reverse::<V>(self.matrix.rank(), &cut.halo, 1);
                Some((exchange, [info(local)?, info(non_local)?]))
            }
            _ => None,
        };
        self.costs.info(&self.matrix, (exchange, parts), cut_row)
    }
}

impl<V: Value> fmt::Debug for DistributedSpmvPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedSpmvPlan({:?})", self.matrix)
    }
}
