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
pub struct DistributedHiSparseSpmvPlanInfo {
    /// Plan of the tree of the columns for which the rank owns elements of vectors.
    pub local: hisparse::SpmvPlanInfo,
    /// Plan of the tree of the columns of other ranks.
    pub non_local: hisparse::SpmvPlanInfo,
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

impl DistributedHiSparseSpmvPlanInfo {
    /// Returns the information on the plans of the local tree and of the other.
    pub(super) fn new<V: Value, const D: usize>(
        matrix: &DistributedHiSparse<V, D>,
        (local, non_local): (&hisparse::SpmvPlan<V, D>, &hisparse::SpmvPlan<V, D>),
        (x_exchange, y_exchange): (ExchangeInfo, ExchangeInfo),
        costs: &Costs,
    ) -> Result<Self> {
        let (local, non_local) = (local.info()?, non_local.info()?);
        Ok(Self {
            workspace_bytes: costs.buffer_bytes + local.workspace_bytes + non_local.workspace_bytes,
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

impl fmt::Display for DistributedHiSparseSpmvPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local, non_local, local_nonzeros, non_local_nonzeros, x_exchange, y_exchange, .. } = self;
        write!(f, "local tree: {local_nonzeros} nonzeros, {local}; ")?;
        write!(f, "non-local tree: {non_local_nonzeros} nonzeros, {non_local}; ")?;
        write!(f, "x: {x_exchange}; y: {y_exchange}; ")?;
        Costs::fmt(f, self.workspace_bytes, self.pinned_bytes, self.analysis_ms)
    }
}
