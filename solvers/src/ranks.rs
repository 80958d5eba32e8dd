//! Operators over ranks.

use evenpath::{Device, DeviceSlice, Value};
use evenpath_distributed::DistributedSpmvPlan;

use crate::LinearOperator;
use crate::error::Result;

/// A matrix over ranks as an operator. Each rank makes one, and calls the same solver with its parts of b and x.
///
/// [`DistributedSmoothedAggregation`](crate::DistributedSmoothedAggregation) is a preconditioner of the whole matrix. Others work on the rank's
/// part alone: one of the rank's [local](evenpath_distributed::DistributedCsr::local) matrix is block Jacobi with a block for each rank,
/// whatever it does within, multigrid too.
///
/// All ranks stop in the same step, because they compute with the same sums.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::generate::Stencil;
/// use evenpath_distributed::{Cluster, DistributedCsr};
/// use evenpath_solvers::{Cg, DistributedOperator, Error, Jacobi, SolverOptions};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let grid = Stencil::five_point(30);
/// let steps = cluster.run(|rank| -> Result<usize, Error> {
///     let a = DistributedCsr::from_fn(rank, 900, 900, |row, entries| grid.row(row, entries))?;
///     let plan = a.plan_spmv(Default::default())?;
///     let (operator, preconditioner) = (DistributedOperator::new(&plan), Jacobi::new(a.local())?);
///     let rows = a.local().nrows();
///     let (b, mut x) = (rank.device().upload(&vec![1.0; rows])?, rank.device().zeros(rows)?);
///     let mut solver = Cg::new(&operator, &preconditioner, SolverOptions::default())?;
///     let report = solver.solve(&b, &mut x)?;
///     assert!(report.is_converged(), "{report}");
///     Ok(report.steps)
/// })?;
/// assert_eq!(steps[0], steps[1]);
/// # Ok::<(), Error>(())
/// ```
pub struct DistributedOperator<'a, V: Value> {
    plan: &'a DistributedSpmvPlan<V>,
}

impl<'a, V: Value> DistributedOperator<'a, V> {
    /// Returns the operator of a plan.
    pub fn new(plan: &'a DistributedSpmvPlan<V>) -> Self {
        Self { plan }
    }
}

impl<V: Value> LinearOperator<V> for DistributedOperator<'_, V> {
    fn device(&self) -> &Device {
        self.plan.matrix().rank().device()
    }

    fn nrows(&self) -> usize {
        let matrix = self.plan.matrix();
        matrix.row_partition().len(matrix.rank().index()) as usize
    }

    fn ncols(&self) -> usize {
        let matrix = self.plan.matrix();
        matrix.col_partition().len(matrix.rank().index()) as usize
    }

    fn apply(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        Ok(self.plan.run_local(V::ONE, x, V::ZERO, y)?)
    }

    fn sum_over_ranks(&self, numbers: &mut [f64]) -> Result<()> {
        let sums = self.plan.matrix().rank().all_reduce(numbers, |sum, number| sum + number)?;
        numbers.copy_from_slice(&sums);
        Ok(())
    }

    fn norm_over_ranks(&self, norm: f64) -> Result<f64> {
        Ok(self.plan.matrix().rank().all_reduce(&[norm], f64::hypot)?[0])
    }
}
