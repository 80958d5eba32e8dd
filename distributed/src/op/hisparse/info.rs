//! Information on plans for a distributed tree.

use std::fmt;

use evenpath::Value;
use evenpath::hisparse;

use crate::DistributedHiSparse;
use crate::error::Result;
use crate::halo::ExchangeInfo;
use crate::op::info::Costs;

/// Choices and costs of a [`DistributedHiSparseSpmvPlan`](crate::DistributedHiSparseSpmvPlan), or of a
/// [`DistributedHiSparseSpmvTransposedPlan`](crate::DistributedHiSparseSpmvTransposedPlan), on one rank.
pub type DistributedHiSparseSpmvPlanInfo = DistributedHiSparsePlanInfo<hisparse::SpmvPlanInfo>;

/// Choices and costs of a [`DistributedHiSparseSpmmPlan`](crate::DistributedHiSparseSpmmPlan) on one rank.
pub type DistributedHiSparseSpmmPlanInfo = DistributedHiSparsePlanInfo<hisparse::SpmmPlanInfo>;

/// Choices and costs of a plan for a [`DistributedHiSparse`] on one rank. `P` is the information on the plan of
/// each tree. Elements of x and y are those of vectors, or of the dense matrices B and C.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, DistributedCsr, DistributedHiSparse, Error, generate};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let grid = generate::Stencil::five_point(40);
/// let infos = cluster.run(|rank| {
///     let a = DistributedCsr::from_fn(rank, 1600, 1600, |row, entries| grid.row(row, entries))?;
///     let a: DistributedHiSparse<f64, 64> = a.to_hisparse(Default::default())?;
///     a.plan_spmv(Default::default())?.info()
/// })?;
/// assert_eq!(infos[0].x_exchange.sent, infos[1].x_exchange.received);
/// assert_eq!(infos[0].y_exchange.sent, infos[1].y_exchange.received);
/// println!("{}", infos[0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DistributedHiSparsePlanInfo<P> {
    /// Plan of the tree of the columns for which the rank owns elements of vectors.
    pub local: P,
    /// Plan of the tree of the columns of other ranks.
    pub non_local: P,
    /// Number of nonzeros of the local tree.
    pub local_nonzeros: u64,
    /// Number of nonzeros of the other tree.
    pub non_local_nonzeros: u64,
    /// Exchange of the elements of x in each run, before products that need them.
    pub x_exchange: ExchangeInfo,
    /// Exchange of the sums for elements of y in each run.
    pub y_exchange: ExchangeInfo,
    /// Bytes of device memory that the plan holds beside the matrix: those of both trees' plans, and the
    /// buffers of the exchanges.
    pub workspace_bytes: u64,
    /// Bytes of page-locked host memory that the plan holds; 0 if the engine is NCCL.
    pub pinned_bytes: u64,
    /// Milliseconds that the analysis took on the device, including both trees.
    pub analysis_ms: f64,
}

impl<P> DistributedHiSparsePlanInfo<P> {
    /// Returns the information on a plan, given that on its local tree and on the other with the bytes of
    /// their workspaces.
    pub(super) fn new<V: Value, const D: usize>(
        matrix: &DistributedHiSparse<V, D>,
        [(local_bytes, local), (non_local_bytes, non_local)]: [(u64, P); 2],
        (x_exchange, y_exchange): (ExchangeInfo, ExchangeInfo),
        costs: &Costs,
    ) -> Result<Self> {
        Ok(Self {
            workspace_bytes: costs.buffer_bytes + local_bytes + non_local_bytes,
            local,
            non_local,
            local_nonzeros: matrix.local().nnz() as u64,
            non_local_nonzeros: matrix.non_local().nnz() as u64,
            x_exchange,
            y_exchange,
            pinned_bytes: costs.pinned_bytes,
            analysis_ms: costs.analysis_ms()?,
        })
    }
}

impl<P: fmt::Display> fmt::Display for DistributedHiSparsePlanInfo<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local, non_local, local_nonzeros, non_local_nonzeros, x_exchange, y_exchange, .. } = self;
        write!(f, "local tree: {local_nonzeros} nonzeros, {local}; ")?;
        write!(f, "non-local tree: {non_local_nonzeros} nonzeros, {non_local}; ")?;
        write!(f, "x: {x_exchange}; y: {y_exchange}; ")?;
        Costs::fmt(f, self.workspace_bytes, self.pinned_bytes, self.analysis_ms)
    }
}
