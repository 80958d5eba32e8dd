//! Sparse matrix times dense matrix.

use std::fmt;

use evenpath::spmm::{self, SpmmOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, Factor, Layout, Value};

use super::cut_row;
use super::info::{Costs, DistributedSpmmPlanInfo};
use super::run::{Exclusive, factors};
use crate::error::Result;
use crate::halo::{ExchangeInfo, HaloExchange, expand};
use crate::{DistributedCsr, DistributedDense};

/// Plan of `C = αAB + βC` for one matrix, and dense matrices with a fixed number of columns, which can run
/// any number of times. Created by [`DistributedCsr::plan_spmm`].
///
/// A run treats rows of B like [`DistributedSpmvPlan`](crate::DistributedSpmvPlan) treats elements of x.
pub struct DistributedSpmmPlan<V: Value> {
    matrix: DistributedCsr<V>,
    columns: usize,
    local: spmm::SpmmPlan<V>,
    non_local: spmm::SpmmPlan<V>,
    cut_row: Option<[spmm::SpmmPlan<V>; 2]>,
    /// Positions in C of the elements of the non-local matrix's rows.
    boundary: Positions,
    buffers: Exclusive<SpmmBuffers<V>>,
    costs: Costs,
}

struct SpmmBuffers<V: Value> {
    /// Product of the non-local matrix.
    partial: DeviceDense<V>,
    exchange: HaloExchange<V>,
    /// Exchange of the sums of cut rows.
    sums: Option<HaloExchange<V>>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product with dense matrices of the number of columns in the options.
    ///
    /// # Errors
    ///
    /// If the elements of this rank's rows of a dense matrix are 2³² or more; also the errors of
    /// [`plan_spmm`](evenpath::DeviceCsr::plan_spmm) on one device.
    pub fn plan_spmm(&self, options: SpmmOptions) -> Result<DistributedSpmmPlan<V>> {
        let (parts, columns) = (self.non_local_parts(), options.columns);
        let (device, rank) = (self.rank().device(), self.rank());
        let options = options.with_layout(Layout::RowMajor);
        let boundary = expand(&parts.rows, columns)?;
        let start = device.record()?;
        let (local, non_local) = (self.local().plan_spmm(options)?, parts.matrix.plan_spmm(options)?);
        let boundary = Positions::new(device, &boundary, self.local().nrows().saturating_mul(columns))?;
        let partial = device.zeros_dense(parts.rows.len(), columns, Layout::RowMajor)?;
        let exchange = HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), columns, false)?;
        let cut_row = cut_row::plans(self, |a| a.plan_spmm(options))?;
        let sums = cut_row::exchange(self, columns, true)?;
        let ((bytes, pinned), (sums_bytes, sums_pinned)) = (exchange.bytes(), cut_row::bytes(sums.as_ref()));
        let partial_bytes = (partial.as_vec().len() * size_of::<V>()) as u64;
        let buffer_bytes = bytes + sums_bytes + boundary.bytes() + partial_bytes;
        Ok(DistributedSpmmPlan {
            matrix: self.clone(),
            columns,
            local,
            non_local,
            cut_row,
            boundary,
            buffers: Exclusive::new(SpmmBuffers { partial, exchange, sums }),
            costs: Costs::new(rank, start, (buffer_bytes, pinned + sums_pinned))?,
        })
    }
}

impl<V: Value> DistributedSpmmPlan<V> {
    /// Computes C = `alpha`·A·B + `beta`·C. If `beta` is zero, C is overwritten without being read. A
    /// collective operation: factors must be equal on all ranks, each on the rank's own device if it is in
    /// device memory.
    ///
    /// # Errors
    ///
    /// If B is not divided like the matrix's columns, C like its rows, or one does not have the plan's number
    /// of columns, a factor is not one element on the rank's device, or another thread of the rank is running
    /// the plan; then nothing is written on this rank. If a rank failed.
    pub fn run<'f>(
        &self,
        alpha: impl Into<Factor<'f, V>>,
        b: &DistributedDense<V>,
        beta: impl Into<Factor<'f, V>>,
        c: &mut DistributedDense<V>,
    ) -> Result<()> {
        let rank = self.matrix.rank();
        b.check_operand("B", rank, self.matrix.col_partition(), self.columns)?;
        c.check_operand("C", rank, self.matrix.row_partition(), self.columns)?;
        let (alpha, beta) = factors(rank, alpha, beta)?;
        let SpmmBuffers { partial, exchange, sums } = &mut *self.buffers.take(rank)?;
        exchange.pack(b.local().as_vec())?;
        let sent = exchange
            .beside(HaloExchange::send, || Ok(self.local.run(alpha, b.local(), beta, c.local_mut())?))?;
        let halo = exchange.receive(&sent)?;
        let sum = |sum: &mut DeviceDense<V>| {
            let Some([local, non_local]) = &self.cut_row else { return Ok(()) };
            local.run(alpha, b.local(), V::ZERO, sum)?;
            Ok(non_local.run(alpha, halo, V::ONE, sum)?)
        };
        cut_row::add_sums(sums.as_mut(), c.local_mut().as_mut_slice(), sum, |c| {
            self.non_local.run(alpha, halo, V::ZERO, partial)?;
            Ok(self.boundary.add(partial.as_vec(), c)?)
        })?;
        exchange.finish(&sent)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedSpmmPlanInfo> {
        let exchange = ExchangeInfo::forward::<V>(self.matrix.rank(), self.matrix.halo(), self.columns);
        let info = |plan: &spmm::SpmmPlan<V>| plan.info().map(|info| (info.workspace_bytes, info));
        let parts = [info(&self.local)?, info(&self.non_local)?];
        let cut_row = match (&self.cut_row, self.matrix.cut_row()) {
            (Some([local, non_local]), Some(cut)) => {
                let exchange = ExchangeInfo::reverse::<V>(self.matrix.rank(), &cut.halo, self.columns);
                Some((exchange, [info(local)?, info(non_local)?]))
            }
            _ => None,
        };
        self.costs.info(&self.matrix, (exchange, parts), cut_row)
    }
}

impl<V: Value> fmt::Debug for DistributedSpmmPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedSpmmPlan({:?}, {} columns)", self.matrix, self.columns)
    }
}
