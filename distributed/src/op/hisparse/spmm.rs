//! Products of distributed trees with dense matrices.

use std::fmt;

use evenpath::hisparse;
use evenpath::{Factor, Value};

use super::dense::DenseOperand;
use super::info::DistributedHiSparseSpmmPlanInfo;
use super::sums::TreeSums;
use crate::error::Result;
use crate::halo::ExchangeInfo;
use crate::op::info::Costs;
use crate::op::run::{Exclusive, factors};
use crate::{DistributedDense, DistributedHiSparse};

/// Plan of `C = αAB + βC` for one distributed tree, and dense matrices with a fixed number of columns, which
/// can run any number of times. Created by [`DistributedHiSparse::plan_spmm`].
///
/// A run treats rows of B and C like [`DistributedHiSparseSpmvPlan`](crate::DistributedHiSparseSpmvPlan) treats
/// elements of x and y. Reproducible like it.
pub struct DistributedHiSparseSpmmPlan<V: Value, const D: usize = 128> {
    matrix: DistributedHiSparse<V, D>,
    columns: usize,
    local: hisparse::SpmmPlan<V, D>,
    non_local: hisparse::SpmmPlan<V, D>,
    buffers: Exclusive<TreeSpmmBuffers<V>>,
    costs: Costs,
}

struct TreeSpmmBuffers<V: Value> {
    b: DenseOperand<V>,
    c: TreeSums<V>,
}

impl<V: Value, const D: usize> DistributedHiSparse<V, D> {
    /// Plans the product with dense matrices of `columns` columns: A is m x n, B n x k, and C m x k, for this k.
    /// Plans both trees with the given options, and memory for the exchanges.
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath_distributed::{Cluster, DistributedCsr, DistributedDense, DistributedHiSparse, Error, generate};
    ///
    /// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
    /// let grid = generate::Stencil::five_point(20);
    /// let found = cluster.run(|rank| {
    ///     let a = DistributedCsr::from_fn(rank, 400, 400, |row, entries| grid.row(row, entries))?;
    ///     let a: DistributedHiSparse<f64, 32> = a.to_hisparse(Default::default())?;
    ///     let b = DistributedDense::from_fn(rank, a.col_partition(), 3, |_, column| column as f64)?;
    ///     let mut c = DistributedDense::zeros(rank, a.row_partition(), 3)?;
    ///     a.plan_spmm(3, Default::default())?.run(1.0, &b, 0.0, &mut c)?;
    ///     c.gather(0)
    /// })?;
    /// assert_eq!(found[0].as_ref().unwrap()[..3], [0.0, 2.0, 4.0]); // a corner, without two neighbors
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the elements of a dense matrix that this rank owns, or needs for its trees, are 2³² or more; also the
    /// errors of [`plan_spmm`](evenpath::hisparse::DeviceHiSparse::plan_spmm) on one device.
    pub fn plan_spmm(
        &self,
        columns: usize,
        options: hisparse::SpmmOptions,
    ) -> Result<DistributedHiSparseSpmmPlan<V, D>> {
        let rank = self.rank();
        let start = rank.device().record()?;
        let (local, non_local) = (self.local().plan_spmm(options)?, self.non_local().plan_spmm(options)?);
        let b = DenseOperand::new(rank, self.col_side(), columns)?;
        let c = TreeSums::new(rank, self.row_side(), columns)?;
        let ((b_bytes, b_pinned), (c_bytes, c_pinned)) = (b.bytes(), c.bytes());
        Ok(DistributedHiSparseSpmmPlan {
            matrix: self.clone(),
            columns,
            local,
            non_local,
            buffers: Exclusive::new(TreeSpmmBuffers { b, c }),
            costs: Costs::new(rank, start, (b_bytes + c_bytes, b_pinned + c_pinned))?,
        })
    }
}

impl<V: Value, const D: usize> DistributedHiSparseSpmmPlan<V, D> {
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
        let TreeSpmmBuffers { b: operand, c: sums } = &mut *self.buffers.take(rank)?;
        let (fetched, others) = operand.fetch(b.local().as_vec(), |own| {
            Ok(self.local.run(alpha, own, V::ZERO, &mut sums.elements)?)
        })?;
        if others.nrows() > 0 {
            self.non_local.run(alpha, others, V::ONE, &mut sums.elements)?;
        }
        sums.contribute(|_| Ok(()))?;
        sums.finish(beta, c.local_mut().as_mut_slice(), |_| Ok(()))?;
        operand.finish(&fetched)
    }

    /// Returns the choices and costs of the plan on this rank. Waits for the analysis.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<DistributedHiSparseSpmmPlanInfo> {
        let (matrix, rank) = (&self.matrix, self.matrix.rank());
        let b_exchange = ExchangeInfo::forward::<V>(rank, matrix.col_halo(), self.columns);
        let c_exchange = ExchangeInfo::reverse::<V>(rank, matrix.row_halo(), self.columns);
        let parts = [self.local.info()?, self.non_local.info()?];
        let parts = parts.map(|part| (part.workspace_bytes, part));
        DistributedHiSparseSpmmPlanInfo::new(matrix, parts, (b_exchange, c_exchange), &self.costs)
    }
}

impl<V: Value, const D: usize> fmt::Debug for DistributedHiSparseSpmmPlan<V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DistributedHiSparseSpmmPlan({:?}, {} columns)", self.matrix, self.columns)
    }
}
