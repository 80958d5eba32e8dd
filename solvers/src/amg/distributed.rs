//! The preconditioner over ranks.

use std::sync::{Mutex, TryLockError};

use evenpath::{DeviceSlice, DeviceVec, Value};
use evenpath_distributed::{DistributedCsr, Error as RankError};

use super::build::{Built, build};
use super::cycle::{Hierarchy, Work};
use super::gathered::Gathered;
use super::info::{AmgInfo, Part, Stopwatch};
use super::level::Level;
use super::matrix::LevelMatrix;
use super::near_null::{check_near_null, constants};
use super::options::AmgOptions;
use super::seeds::Seeds;
use crate::Preconditioner;
use crate::error::{Error, Result, check_len, check_square};

/// Smoothed-aggregation algebraic multigrid of a matrix over ranks: the preconditioner of a
/// [`DistributedOperator`](crate::DistributedOperator) whose steps hardly depend on the number of ranks.
///
/// Each rank aggregates its own nodes, and no aggregate reaches over two ranks. Everything else is that of the whole matrix:
/// prolongations, coarse matrices, smoothers and spectral radii. Couplings of two ranks count as strong where a prolongation is
/// [filtered](AmgOptions::with_filtered_prolongation). On one rank the levels have the sizes of those on a device.
///
/// A level of few rows is gathered on every rank ([`AmgOptions::with_max_gathered`]), which runs the rest of the cycle by itself as
/// [`SmoothedAggregation`](crate::SmoothedAggregation). A V-cycle with the default smoother exchanges six halos for each level above that one,
/// and gathers one vector. The set-up multiplies matrices over ranks, through host memory.
///
/// Cycles are [V](crate::AmgCycle::V) or [W](crate::AmgCycle::W), which visits the gathered levels once for each visit of the level above.
/// Smoothers are [Jacobi](crate::AmgSmoother::Jacobi) and [Chebyshev](crate::AmgSmoother::Chebyshev).
///
/// All operations but [`info`](Self::info) are collective: every rank calls them in the same order. With the same partitions, options and
/// devices the bits are the same in every run. The devices of all ranks should be of one kind: each rank computes the gathered levels, and
/// differences by rounding make the preconditioner a little unsymmetric.
///
/// ```
/// use evenpath::Device;
/// use evenpath_distributed::generate::Stencil;
/// use evenpath_distributed::{Cluster, DistributedCsr};
/// use evenpath_solvers::{AmgOptions, Cg, DistributedOperator, DistributedSmoothedAggregation, Error, SolverOptions};
///
/// let mut cluster = Cluster::local([Device::cpu(), Device::cpu()])?;
/// let grid = Stencil::five_point(40);
/// let steps = cluster.run(|rank| -> Result<usize, Error> {
///     let a = DistributedCsr::from_fn(rank, 1600, 1600, |row, entries| grid.row(row, entries))?;
///     let multigrid = DistributedSmoothedAggregation::new(&a, AmgOptions::default().with_max_gathered(500))?;
///     assert_eq!(multigrid.info()?.levels[0].rows, 1600);
///     let plan = a.plan_spmv(Default::default())?;
///     let operator = DistributedOperator::new(&plan);
///     let rows = a.local().nrows();
///     let (b, mut x) = (rank.device().upload(&vec![1.0; rows])?, rank.device().zeros(rows)?);
///     let report = Cg::new(&operator, &multigrid, SolverOptions::default())?.solve(&b, &mut x)?;
///     assert!(report.is_converged(), "{report}");
///     Ok(report.steps)
/// })?;
/// assert!(steps[0] == steps[1] && steps[0] < 20);
/// # Ok::<(), Error>(())
/// ```
///
/// Sources: Vanek, Mandel, Brezina, Computing 56, 1996; Tuminaro, Tong, Parallel smoothed aggregation multigrid: aggregation strategies on
/// massively parallel machines, SC 2000.
pub struct DistributedSmoothedAggregation<V: Value> {
    options: AmgOptions,
    hierarchy: Hierarchy<V, DistributedCsr<V>, Gathered<V>>,
    signs: DeviceVec<V>,
    stopwatch: Stopwatch,
    work: Mutex<Vec<Work<V>>>,
}

impl<V: Value> DistributedSmoothedAggregation<V> {
    /// Sets up a hierarchy like [`SmoothedAggregation::new`](crate::SmoothedAggregation::new), with the same near-null vectors. A collective
    /// operation.
    ///
    /// # Errors
    ///
    /// Those of [`SmoothedAggregation::new`](crate::SmoothedAggregation::new), with the row's number in the whole matrix: the same on all
    /// ranks. If columns are not divided like rows, or rows are cut between ranks; if a node's unknowns are on two ranks; if the cycle or the
    /// smoother is not supported over ranks; if a rank failed.
    pub fn new(a: &DistributedCsr<V>, options: AmgOptions) -> Result<Self> {
        check(a, &options)?;
        Self::with_near_null(a, &constants(a.local(), options.block_size)?, options)
    }

    /// Sets up a hierarchy for vectors that A maps nearly to zero, such as the rigid motions of an elastic body, of which each rank passes
    /// its parts. There is at least one, and as many on all ranks. A collective operation.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if a vector's part has another length than the rank's rows or is on another device, or there
    /// is no vector.
    pub fn with_near_null(
        a: &DistributedCsr<V>,
        near_null: &[DeviceVec<V>],
        options: AmgOptions,
    ) -> Result<Self> {
        check(a, &options)?;
        check_near_null(a.local(), near_null)?;
        let (rank, device) = (a.rank(), a.rank().device());
        let mut stopwatch = Stopwatch::start(device)?;
        let own = a.row_partition().range(rank.index());
        let seeds = Seeds::new(device, own.start, a.local().nrows())?;
        let max_coarse = options.max_gathered.max(options.max_coarse);
        let of_ranks = AmgOptions { max_coarse, ..options };
        let built = build(a, (near_null, None), &of_ranks, &seeds, &mut stopwatch)?;
        let is_small = built.levels.last().is_some_and(|level| LevelMatrix::nrows(&level.a) <= max_coarse);
        let coarse = if is_small { Gathered::new(&built, &options)? } else { None };
        stopwatch.end(Part::Coarsest)?;
        let Built { levels, transfers, .. } = built;
        let hierarchy = Hierarchy { levels, transfers, coarse };
        let work = Mutex::new(hierarchy.work(device, options.cycle)?);
        stopwatch.end(Part::Plans)?;
        Ok(Self { options, hierarchy, signs: seeds.signs, stopwatch, work })
    }

    /// Takes the values of a matrix of the same pattern and partitions. Aggregates, tentative prolongations and the patterns of all levels
    /// stay; everything that follows from the values is computed again. A collective operation.
    ///
    /// # Errors
    ///
    /// If the pattern differs, or those of [`new`](Self::new). If only the values are refused, the preconditioner stays; after other errors
    /// it is of no use before another update.
    pub fn update(&mut self, a: &DistributedCsr<V>) -> Result<()> {
        check(a, &self.options)?;
        if !LevelMatrix::has_pattern_of(&self.hierarchy.levels[0].a, a)? {
            return Err(Error::OtherPattern);
        }
        let mut stopwatch = Stopwatch::start(a.rank().device())?;
        let bound = self.hierarchy.update(a, None, (self.options.smoother, &self.signs), &mut stopwatch)?;
        let Hierarchy { levels, coarse, .. } = &mut self.hierarchy;
        if let (Some(gathered), Some(level)) = (coarse, levels.last()) {
            gathered.update(&level.a, bound.as_ref())?;
        }
        stopwatch.end(Part::Coarsest)?;
        self.stopwatch = stopwatch;
        Ok(())
    }

    /// Returns the sizes of the levels on all ranks, and this rank's time of the set-up or of the last update. Waits for it. Not a
    /// collective operation.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<AmgInfo> {
        let levels = self.hierarchy.levels.iter().map(Level::info).collect();
        let mut info = AmgInfo { levels, set_up_ms: self.stopwatch.times()? };
        if let Some(gathered) = &self.hierarchy.coarse {
            let below = gathered.info()?;
            info.levels.extend(&below.levels[1..]);
            info.set_up_ms.add(&below.set_up_ms);
        }
        Ok(info)
    }

    /// Number of levels that are divided among the ranks, the finest first. The last of them is the one that is gathered, if one is.
    pub fn distributed_levels(&self) -> usize {
        self.hierarchy.levels.len()
    }
}

impl<V: Value> Preconditioner<V> for DistributedSmoothedAggregation<V> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        let (rows, rank) = (self.signs.len(), self.hierarchy.levels[0].a.rank());
        check_len("r", r.len(), rows)?;
        check_len("z", z.len(), rows)?;
        // Ranks match operations by their order, which two threads of a rank do not have.
        let mut work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(RankError::PlanInUse { rank: rank.index() }.into());
            }
        };
        self.hierarchy.run(self.options.cycle, &mut work, r, z)
    }
}

/// Checks what all ranks know of a matrix and the options, so that all get the same error.
fn check<V: Value>(a: &DistributedCsr<V>, options: &AmgOptions) -> Result<()> {
    let (rows, cols) = a.shape();
    check_square((rows as usize, cols as usize))?;
    if a.has_cut_rows() {
        return Err(RankError::CutRows { operand: "the matrix" }.into());
    }
    let (needed, found) = (a.row_partition(), a.col_partition());
    if found != needed {
        let (operand, found, needed) = ("the columns", found.to_string(), needed.to_string());
        return Err(RankError::PartitionMismatch { operand, found, needed }.into());
    }
    options.check(rows as usize)?;
    options.check_over_ranks()?;
    if needed.boundaries().iter().all(|boundary| boundary.is_multiple_of(options.block_size as u64)) {
        return Ok(());
    }
    let (option, value) = ("block_size", options.block_size.to_string());
    Err(Error::Option { option, value, needed: "a divisor of the number of rows of each rank" })
}
