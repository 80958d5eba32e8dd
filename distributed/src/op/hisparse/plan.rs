//! Products of distributed trees with vectors.

use std::fmt;

use evenpath::hisparse;
use evenpath::{Factor, Value};

use super::info::DistributedHiSparseSpmvPlanInfo;
use super::operand::Operand;
use super::sums::TreeSums;
use crate::error::Result;
use crate::halo::ExchangeInfo;
use crate::op::info::Costs;
use crate::op::run::{Exclusive, factors};
use crate::{DistributedHiSparse, DistributedVec};

/// Plan of y = αAx + βy for one distributed tree, which can run any number of times. Created by
/// [`DistributedHiSparse::plan_spmv`].
///
/// A run sends the elements of x that other ranks need, and multiplies the local tree while they are in
/// transit, then the other tree with the received elements. It then sends the sums for other ranks' rows. A
/// rank adds the sums of others to its own in the order of the ranks, so results are the same to the last bit
/// in every run with the same partitions, options and devices.
pub struct DistributedHiSparseSpmvPlan<V: Value, const D: usize = 128> {
    matrix: DistributedHiSparse<V, D>,
    local: hisparse::SpmvPlan<V, D>,
    non_local: hisparse::SpmvPlan<V, D>,
    buffers: Exclusive<TreeSpmvBuffers<V>>,
    costs: Costs,
}

struct TreeSpmvBuffers<V: Value> {
    x: Operand<V>,
    y: TreeSums<V>,
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Plans the product with vectors: both trees with the given options, and memory for the exchanges.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](evenpath::hisparse::DeviceHiSparse::plan_spmv) on one device.
    pub fn plan_spmv(&self, options: hisparse::SpmvOptions) -> Result<DistributedHiSparseSpmvPlan<V, D>> {
        let rank = self.rank();
        let start = rank.device().record()?;
        let (local, non_local) = (self.local().plan_spmv(options)?, self.non_local().plan_spmv(options)?);
        let (x, y) = (Operand::new(rank, self.col_side())?, TreeSums::new(rank, self.row_side(), 1)?);
        let ((x_bytes, x_pinned), (y_bytes, y_pinned)) = (x.bytes(), y.bytes());
        Ok(DistributedHiSparseSpmvPlan {
            matrix: self.clone(),
            local,
            non_local,
            buffers: Exclusive::new(TreeSpmvBuffers { x, y }),
            costs: Costs::new(rank, start, (x_bytes + y_bytes, x_pinned + y_pinned))?,
        })
    }
}

impl<V: Value, const D: usize> DistributedHiSparseSpmvPlan<V, D> {
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
        let (alpha, beta) = factors(rank, alpha, beta)?;
        let TreeSpmvBuffers { x: operand, y: sums } = &mut *self.buffers.take(rank)?;
        let (own, others) = (operand.own, operand.others);
        let mut products = sums.elements.as_mut_slice().slice_mut(..sums.own + sums.others)?;
        let fetched = operand.fetch(x.local(), |elements| {
            Ok(self.local.run(alpha, &*elements.slice(..own)?, V::ZERO, &mut products)?)
        })?;
        if others > 0 {
            let elements = operand.elements.slice(own..)?;
            self.non_local.run(alpha, &elements, V::ONE, &mut products)?;
        }
        sums.contribute(|_| Ok(()))?;
        sums.finish(beta, y.local_mut(), |_| Ok(()))?;
        operand.exchange.finish(&fetched)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedHiSparseSpmvPlanInfo> {
        let (matrix, rank) = (&self.matrix, self.matrix.rank());
        let x_exchange = ExchangeInfo::forward::<V>(rank, matrix.col_halo(), 1);
        let y_exchange = ExchangeInfo::reverse::<V>(rank, matrix.row_halo(), 1);
        let parts = [self.local.info()?, self.non_local.info()?];
        let parts = parts.map(|part| (part.workspace_bytes, part));
        DistributedHiSparseSpmvPlanInfo::new(matrix, parts, (x_exchange, y_exchange), &self.costs)
    }
}

impl<V: Value, const D: usize> fmt::Debug for DistributedHiSparseSpmvPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedHiSparseSpmvPlan({:?})", self.matrix)
    }
}
