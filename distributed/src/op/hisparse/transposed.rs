//! Products of transposed distributed trees with vectors.

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

/// Plan of y = αAᵀx + βy for one distributed tree, which can run any number of times. Created by
/// [`DistributedHiSparse::plan_spmv_transposed`].
///
/// A run sends the elements of x that other ranks need, and waits for its own. It then multiplies the tree
/// with columns of other ranks and sends them their sums, while it multiplies the local tree. Reproducible
/// like [`DistributedHiSparseSpmvPlan`](crate::DistributedHiSparseSpmvPlan).
pub struct DistributedHiSparseSpmvTransposedPlan<V: Value, const D: usize = 128> {
    matrix: DistributedHiSparse<V, D>,
    local: hisparse::SpmvPlan<V, D>,
    non_local: hisparse::SpmvPlan<V, D>,
    buffers: Exclusive<TreeSpmvTransposedBuffers<V>>,
    costs: Costs,
}

struct TreeSpmvTransposedBuffers<V: Value> {
    x: Operand<V>,
    y: TreeSums<V>,
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Plans the product of the transpose with vectors, otherwise like [`plan_spmv`](Self::plan_spmv).
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](Self::plan_spmv).
    pub fn plan_spmv_transposed(
        &self,
        options: hisparse::SpmvOptions,
    ) -> Result<DistributedHiSparseSpmvTransposedPlan<V, D>> {
        let rank = self.rank();
        let start = rank.device().record()?;
        let (local, non_local) =
            (self.local().transpose().plan_spmv(options)?, self.non_local().transpose().plan_spmv(options)?);
        let (x, y) = (Operand::new(rank, self.row_side())?, TreeSums::new(rank, self.col_side(), 1)?);
        let ((x_bytes, x_pinned), (y_bytes, y_pinned)) = (x.bytes(), y.bytes());
        Ok(DistributedHiSparseSpmvTransposedPlan {
            matrix: self.clone(),
            local,
            non_local,
            buffers: Exclusive::new(TreeSpmvTransposedBuffers { x, y }),
            costs: Costs::new(rank, start, (x_bytes + y_bytes, x_pinned + y_pinned))?,
        })
    }
}

impl<V: Value, const D: usize> DistributedHiSparseSpmvTransposedPlan<V, D> {
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
        let TreeSpmvTransposedBuffers { x: operand, y: sums } = &mut *self.buffers.take(rank)?;
        let fetched = operand.fetch(x.local(), |_| Ok(()))?;
        let (own, end) = (sums.own, sums.own + sums.others);
        sums.contribute(|elements| {
            let others = &mut *elements.as_mut_slice().slice_mut(own..end)?;
            Ok(self.non_local.run(alpha, &operand.elements, V::ZERO, others)?)
        })?;
        sums.finish(beta, y.local_mut(), |elements| {
            let own = &mut *elements.slice_mut(..own)?;
            Ok(self.local.run(alpha, &operand.elements, V::ZERO, own)?)
        })?;
        operand.exchange.finish(&fetched)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedHiSparseSpmvPlanInfo> {
        let (matrix, rank) = (&self.matrix, self.matrix.rank());
        let x_exchange = ExchangeInfo::forward::<V>(rank, matrix.row_halo(), 1);
        let y_exchange = ExchangeInfo::reverse::<V>(rank, matrix.col_halo(), 1);
        let parts = [self.local.info()?, self.non_local.info()?];
        let parts = parts.map(|part| (part.workspace_bytes, part));
        DistributedHiSparseSpmvPlanInfo::new(matrix, parts, (x_exchange, y_exchange), &self.costs)
    }
}

impl<V: Value, const D: usize> fmt::Debug for DistributedHiSparseSpmvTransposedPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedHiSparseSpmvTransposedPlan({:?})", self.matrix)
    }
}
