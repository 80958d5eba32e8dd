//! Information on plans for a distributed matrix.

use std::fmt;

use evenpath::Value;
use evenpath::device::Event;
use evenpath::spmm::SpmmPlanInfo;
use evenpath::spmv::{SpmvPlanInfo, SpmvTransposedPlanInfo};

use crate::error::Result;
use crate::halo::ExchangeInfo;
use crate::{DistributedCsr, Rank};

/// Choices and costs of a [`DistributedSpmvPlan`](crate::DistributedSpmvPlan) on one rank.
pub type DistributedSpmvPlanInfo = DistributedPlanInfo<SpmvPlanInfo>;

/// Choices and costs of a [`DistributedSpmvTransposedPlan`](crate::DistributedSpmvTransposedPlan) on one rank.
pub type DistributedSpmvTransposedPlanInfo = DistributedPlanInfo<SpmvTransposedPlanInfo>;

/// Choices and costs of a [`DistributedSpmmPlan`](crate::DistributedSpmmPlan) on one rank.
pub type DistributedSpmmPlanInfo = DistributedPlanInfo<SpmmPlanInfo>;

/// Choices and costs of a plan for a [`DistributedCsr`] on one rank. `P` is the information on the plan of
/// each part of the matrix.
///
/// If products are slow, compare the ranks: unequal numbers of nonzeros keep some of them waiting
/// ([`Rank::traffic`]), and many nonzeros in columns of other ranks, or a long exchange, cannot be hidden
/// behind the product of the local part.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::{Cluster, DistributedCsr, Error, generate};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let grid = generate::Stencil::five_point(10);
/// let infos = cluster.run(|rank| {
///     let a: DistributedCsr<f64> = DistributedCsr::from_fn(rank, 100, 100, |row, entries| grid.row(row, entries))?;
///     a.plan_spmv(Default::default())?.info()
/// })?;
/// // A line of ten points of the other rank.
/// assert_eq!((infos[0].exchange.received, infos[0].exchange.received_bytes), (10, 80));
/// assert_eq!((infos[0].boundary_rows, infos[0].non_local_nonzeros), (10, 10));
/// println!("{}", infos[0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DistributedPlanInfo<P> {
    /// Plan of the local part: the entries in the rank's own columns. Its product runs beside the exchange.
    pub local: P,
    /// Plan of the non-local part: the entries in columns of other ranks. Its product runs after the
    /// exchange, or before it for the transpose.
    pub non_local: P,
    /// Number of nonzeros of the local part.
    pub local_nonzeros: u64,
    /// Number of nonzeros of the non-local part.
    pub non_local_nonzeros: u64,
    /// Number of the rank's rows that have entries in columns of other ranks.
    pub boundary_rows: u64,
    /// Exchange with other ranks in each run.
    pub exchange: ExchangeInfo,
    /// Part of a row that begins on an earlier rank; on all ranks if the matrix has rows that are cut
    /// ([`divide_evenly`](DistributedCsr::divide_evenly)), without nonzeros if there is none on this rank.
    pub cut_row: Option<DistributedCutRowInfo<P>>,
    /// Bytes of device memory that the plan holds beside the matrix: those of both parts, and the buffers of
    /// the exchange.
    pub workspace_bytes: u64,
    /// Bytes of page-locked host memory that the plan holds; 0 if the engine is NCCL.
    pub pinned_bytes: u64,
    /// Milliseconds that the analysis took on the device, including both parts.
    pub analysis_ms: f64,
}

/// Part of a [`DistributedPlanInfo`]: the plans for the part of a row that a rank has although another owns its
/// element of vectors.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DistributedCutRowInfo<P> {
    /// Plan of the entries in the rank's own columns.
    pub local: P,
    /// Plan of the entries in columns of other ranks.
    pub non_local: P,
    /// Number of nonzeros in the rank's own columns.
    pub local_nonzeros: u64,
    /// Number of nonzeros in columns of other ranks.
    pub non_local_nonzeros: u64,
    /// Exchange of the sums of cut rows, or for the transpose of their elements of x, in each run.
    pub exchange: ExchangeInfo,
}

impl<P> DistributedPlanInfo<P> {
    /// Number of all nonzeros on the rank. Compare the ranks to see how even the division is.
    pub fn nonzeros(&self) -> u64 {
        let cut_row = self.cut_row.as_ref().map_or(0, |cut| cut.local_nonzeros + cut.non_local_nonzeros);
        self.local_nonzeros + self.non_local_nonzeros + cut_row
    }
}

impl<P: fmt::Display> fmt::Display for DistributedPlanInfo<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { local, non_local, local_nonzeros, non_local_nonzeros, boundary_rows, exchange, .. } = self;
        write!(f, "local part: {local_nonzeros} nonzeros, {local}; ")?;
        write!(
            f,
            "non-local part: {non_local_nonzeros} nonzeros in {boundary_rows} rows, {non_local}; {exchange}; "
        )?;
        if let Some(cut) = &self.cut_row {
            let DistributedCutRowInfo { local, non_local, local_nonzeros, non_local_nonzeros, exchange } =
                cut;
            write!(f, "part of a cut row: {local_nonzeros} local nonzeros, {local}; ")?;
            write!(f, "{non_local_nonzeros} non-local nonzeros, {non_local}; {exchange}; ")?;
        }
        Costs::fmt(f, self.workspace_bytes, self.pinned_bytes, self.analysis_ms)
    }
}

/// Exchange of a run, and the bytes of the workspace and the information on the plans of both parts.
pub(super) type PartInfos<P> = (ExchangeInfo, [(u64, P); 2]);

/// Costs of a plan besides the plans of its parts.
pub(super) struct Costs {
    /// Bytes of the plan's own buffers in device memory.
    pub(super) buffer_bytes: u64,
    /// Bytes of page-locked host memory.
    pub(super) pinned_bytes: u64,
    /// Events before and after the analysis.
    analysis: (Event, Event),
}

impl Costs {
    /// Costs of a plan whose analysis began at `start` and ends now.
    pub(super) fn new(rank: &Rank, start: Event, (buffer_bytes, pinned_bytes): (u64, u64)) -> Result<Self> {
        Ok(Self { buffer_bytes, pinned_bytes, analysis: (start, rank.device().record()?) })
    }

    /// Returns the time of the analysis in milliseconds. Waits for it.
    pub(super) fn analysis_ms(&self) -> Result<f64> {
        let (start, end) = &self.analysis;
        Ok(end.elapsed_since(start)?)
    }

    /// Returns the information on a plan for a matrix, given its exchange and that on its local and its
    /// non-local part with the bytes of their workspaces, and the same for cut rows.
    pub(super) fn info<V: Value, P>(
        &self,
        matrix: &DistributedCsr<V>,
        (exchange, parts): PartInfos<P>,
        cut_row: Option<PartInfos<P>>,
    ) -> Result<DistributedPlanInfo<P>> {
        let [(local_bytes, local), (non_local_bytes, non_local)] = parts;
        let mut workspace_bytes = self.buffer_bytes + local_bytes + non_local_bytes;
        let cut_row = matrix.cut_row().zip(cut_row).map(|(cut, (exchange, parts))| {
            let [(local_bytes, local), (non_local_bytes, non_local)] = parts;
            workspace_bytes += local_bytes + non_local_bytes;
            let (local_nonzeros, non_local_nonzeros) = (cut.local.nnz() as u64, cut.non_local.nnz() as u64);
            DistributedCutRowInfo { local, non_local, local_nonzeros, non_local_nonzeros, exchange }
        });
        Ok(DistributedPlanInfo {
            local,
            non_local,
            local_nonzeros: matrix.local().nnz() as u64,
            non_local_nonzeros: matrix.non_local().nnz() as u64,
            boundary_rows: matrix.non_local().nrows() as u64,
            exchange,
            cut_row,
            workspace_bytes,
            pinned_bytes: self.pinned_bytes,
            analysis_ms: self.analysis_ms()?,
        })
    }

    /// Writes the end of a plan's description.
    pub(super) fn fmt(f: &mut fmt::Formatter<'_>, workspace: u64, pinned: u64, ms: f64) -> fmt::Result {
        write!(
            f,
            "{workspace} bytes of workspace, {pinned} bytes of page-locked memory, analyzed in {ms:.4} ms"
        )
    }
}
