//! Sparse matrix times dense matrix.

use std::fmt;

use evenpath::spmm::{self, SpmmOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, Layout, Value};

use crate::error::Result;
use crate::halo::{HaloExchange, expand};
use crate::{DistributedCsr, DistributedDense};

/// Plan of `C = αAB + βC` for one matrix, and dense matrices with a fixed number of columns, which can run
/// any number of times. Created by [`DistributedCsr::plan_spmm`].
///
/// A run treats rows of B like [`SpmvPlan`](crate::SpmvPlan) treats elements of x.
pub struct SpmmPlan<V: Value> {
    matrix: DistributedCsr<V>,
    columns: usize,
    local: spmm::SpmmPlan<V>,
    non_local: spmm::SpmmPlan<V>,
    /// Positions in C of the elements of the non-local matrix's rows.
    boundary: Positions,
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
    pub fn plan_spmm(&self, options: SpmmOptions) -> Result<SpmmPlan<V>> {
        let (parts, columns) = (self.non_local_parts(), options.columns);
        let (device, rank) = (self.rank().device(), self.rank());
        let options = options.with_layout(Layout::RowMajor);
        let boundary = expand(&parts.rows, columns)?;
        Ok(SpmmPlan {
            columns,
            local: self.local().plan_spmm(options)?,
            non_local: parts.matrix.plan_spmm(options)?,
            boundary: Positions::new(device, &boundary, self.local().nrows().saturating_mul(columns))?,
            partial: device.zeros_dense(parts.rows.len(), columns, Layout::RowMajor)?,
            exchange: HaloExchange::new(rank, self.shared_halo(), self.local().ncols(), columns, false)?,
            matrix: self.clone(),
        })
    }
}

impl<V: Value> SpmmPlan<V> {
    /// Computes C = `alpha`·A·B + `beta`·C. If `beta` is zero, C is overwritten without being read. A
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If B is not divided like the matrix's columns, C like its rows, or one does not have the plan's number
    /// of columns; then nothing is written on this rank. If a rank failed.
    pub fn run(
        &mut self,
        alpha: V,
        b: &DistributedDense<V>,
        beta: V,
        c: &mut DistributedDense<V>,
    ) -> Result<()> {
        let rank = self.matrix.rank();
        b.check_operand("B", rank, self.matrix.col_partition(), self.columns)?;
        c.check_operand("C", rank, self.matrix.row_partition(), self.columns)?;
        self.exchange.pack(b.local().as_vec())?;
        let sent = self
            .exchange
            .beside(HaloExchange::send, || Ok(self.local.run(alpha, b.local(), beta, c.local_mut())?))?;
        let halo = self.exchange.receive(&sent)?;
        self.non_local.run(alpha, halo, V::ZERO, &mut self.partial)?;
        self.boundary.add(self.partial.as_vec(), c.local_mut().as_mut_slice())?;
        self.exchange.finish(&sent)
    }
}

impl<V: Value> fmt::Debug for SpmmPlan<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpmmPlan({:?}, {} columns)", self.matrix, self.columns)
    }
}
