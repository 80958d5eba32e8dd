//! Sparse matrix times dense matrix.

use std::fmt;

use evenpath::spmm::{self, SpmmOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, Factor, Layout, Value};

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
    /// Positions in C of the elements of the non-local matrix's rows.
    boundary: Positions,
    buffers: Exclusive<SpmmBuffers<V>>,
    costs: Costs,
}

struct SpmmBuffers<V: Value> {
    /// Product of the non-local matrix.
    partial: DeviceDense<V>,
    exchange: HaloExchange<V>,
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
        let (bytes, pinned) = exchange.bytes();
        let buffer_bytes = bytes + boundary.bytes() + (partial.as_vec().len() * size_of::<V>()) as u64;
        Ok(DistributedSpmmPlan {
            matrix: self.clone(),
            columns,
            local,
            non_local,
            boundary,
            buffers: Exclusive::new(SpmmBuffers { partial, exchange }),
            costs: Costs::new(rank, start, (buffer_bytes, pinned))?,
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
        let SpmmBuffers { partial, exchange } = &mut *self.buffers.take(rank)?;
        exchange.pack(b.local().as_vec())?;
        let sent = exchange
            .beside(HaloExchange::send, || Ok(self.local.run(alpha, b.local(), beta, c.local_mut())?))?;
        let halo = exchange.receive(&sent)?;
        self.non_local.run(alpha, halo, V::ZERO, partial)?;
        self.boundary.add(partial.as_vec(), c.local_mut().as_mut_slice())?;
        exchange.finish(&sent)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedSpmmPlanInfo> {
        let exchange = ExchangeInfo::forward::<V>(self.matrix.rank(), self.matrix.halo(), self.columns);
        let parts = [self.local.info()?, self.non_local.info()?];
        let parts = parts.map(|part| (part.workspace_bytes, part));
        self.costs.info(&self.matrix, exchange, parts)
    }
}

impl<V: Value> fmt::Debug for DistributedSpmmPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedSpmmPlan({:?}, {} columns)", self.matrix, self.columns)
    }
}
