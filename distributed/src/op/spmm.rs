//! Sparse matrix times dense matrix.

use std::fmt;

use evenpath::spmm::{self, SpmmOptions};
use evenpath::vector::Positions;
use evenpath::{DeviceDense, Layout, Value};

use crate::error::Result;
use crate::halo::{HaloExchange, expand};
use crate::{DistributedCsr, DistributedDense};

/// `C = αAB + βC` for one matrix and dense matrices of one number of columns, planned once and run as often as needed. Made by
/// [`DistributedCsr::plan_spmm`].
///
/// A run does for rows of B what [`SpmvPlan`](crate::SpmvPlan) does for elements of x.
pub struct SpmmPlan<V: Value> {
    matrix: DistributedCsr<V>,
    columns: usize,
    local: spmm::SpmmPlan<V, V>,
    non_local: spmm::SpmmPlan<V, V>,
    /// The elements of the non-local matrix's rows, in C.
    boundary: Positions,
    /// The product of the non-local matrix.
    partial: DeviceDense<V>,
    exchange: HaloExchange<V>,
}

impl<V: Value> DistributedCsr<V> {
    /// Plans the product with dense matrices of as many columns as the options say.
    ///
    /// # Errors
    ///
    /// If the elements of this rank's rows of a dense matrix are 2³² or more, and as for [`plan_spmm`](evenpath::DeviceCsr::plan_spmm)
    /// on one device.
    pub fn plan_spmm(&self, options: SpmmOptions) -> Result<SpmmPlan<V>> {
        let (parts, columns) = (self.non_local_parts(), options.columns);
        let (device, rank) = (self.rank().device(), self.rank());
        let options = options.with_layout(Layout::RowMajor);
        let boundary = expand(&parts.rows, columns)?;
        Ok(SpmmPlan {
            columns,
            local: self.local().plan_spmm(options)?,
            non_local: parts.matrix.plan_spmm(options)?,
            boundary: Positions::new(device, &boundary, self.local().rows().saturating_mul(columns))?,
            partial: device.zeros_dense(parts.rows.len(), columns, Layout::RowMajor)?,
            exchange: HaloExchange::new(rank, self.shared_halo(), self.local().cols(), columns, false)?,
            matrix: self.clone(),
        })
    }
}

impl<V: Value> SpmmPlan<V> {
    /// C = `alpha`·A·B + `beta`·C. With `beta` zero, C is overwritten, whatever it held. A collective operation.
    ///
    /// # Errors
    ///
    /// If B is not divided as the matrix's columns, C as its rows, or one has not the plan's number of columns; then nothing is written on
    /// this rank. If a rank failed.
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
