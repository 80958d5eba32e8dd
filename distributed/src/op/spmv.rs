//! Sparse matrix times vector.

use std::fmt;

use evenpath::spmv::SpmvOptions;
use evenpath::vector::Positions;
use evenpath::{DeviceVec, Value, spmv};

use crate::error::Result;
use crate::halo::HaloExchange;
use crate::{DistributedCsr, DistributedVec};

/// Plan of y = αAx + βy for one matrix, which can run any number of times. Created by
/// [`DistributedCsr::plan_spmv`].
///
/// A run packs the elements that other ranks need, multiplies the local matrix while they are in transit, and
/// adds the product of the non-local matrix with the received elements. Results are the same to the last bit
/// in every run with the same partitions, options and devices. With other partitions they differ by rounding:
/// the sum of a row is that of its local part plus that of the other.
pub struct SpmvPlan<V: Value> {
    matrix: DistributedCsr<V>,
    local: spmv::SpmvPlan<V>,
    non_local: spmv::SpmvPlan<V>,
    /// Positions in y of the non-local matrix's rows.
    boundary: Positions,
    /// Product of the non-local matrix.
    partial: DeviceVec<V>,
    exchange: HaloExchange<V>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product with vectors: both local matrices with the given options, and memory for the
    /// exchange.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](evenpath::DeviceCsr::plan_spmv) on one device.
    pub fn plan_spmv(&self, options: SpmvOptions) -> Result<SpmvPlan<V>> {
        let parts = self.non_local_parts();
        let (device, rank) = (self.rank().device(), self.rank());
        Ok(SpmvPlan {
            local: self.local().plan_spmv(options)?,
            non_local: parts.matrix.plan_spmv(options)?,
            boundary: Positions::new(device, &parts.rows, self.local().nrows())?,
            partial: device.zeros(parts.rows.len())?,
            exchange: HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), 1, false)?,
            matrix: self.clone(),
        })
    }
}

impl<V: Value> SpmvPlan<V> {
    /// Computes y = `alpha`·A·`x` + `beta`·y. If `beta` is zero, y is overwritten without being read. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If `x` is not divided like the matrix's columns, or `y` like its rows; then nothing is written on this
    /// rank. If a rank failed.
    pub fn run(&mut self, alpha: V, x: &DistributedVec<V>, beta: V, y: &mut DistributedVec<V>) -> Result<()> {
        let rank = self.matrix.rank();
        x.check_operand("x", rank, self.matrix.col_partition())?;
        y.check_operand("y", rank, self.matrix.row_partition())?;
        self.exchange.pack(x.local())?;
        let sent = self
            .exchange
            .beside(HaloExchange::send, || Ok(self.local.run(alpha, x.local(), beta, y.local_mut())?))?;
        let halo = self.exchange.receive(&sent)?;
        self.non_local.run(alpha, halo.as_vec(), V::ZERO, &mut self.partial)?;
        self.boundary.add(&self.partial, y.local_mut())?;
        self.exchange.finish(&sent)
    }

    /// Choices of the plans of the local matrix and of the non-local one.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<(spmv::SpmvPlanInfo, spmv::SpmvPlanInfo)> {
        Ok((self.local.info()?, self.non_local.info()?))
    }
}

impl<V: Value> fmt::Debug for SpmvPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmvPlan({:?})", self.matrix)
    }
}
