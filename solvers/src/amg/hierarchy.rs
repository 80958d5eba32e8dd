//! The preconditioner.

use std::sync::{Mutex, PoisonError};

use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Value};

use super::build::{Built, build};
use super::coarse::Coarse;
use super::cycle::{Hierarchy, Work};
use super::info::{AmgInfo, Part, Stopwatch};
use super::level::{AmgLevel, Level};
use super::matrix::LevelMatrix;
use super::near_null::{check_near_null, constants};
use super::options::{AmgCycle, AmgOptions};
use super::seeds::Seeds;
use super::transfer::Transfer;
use crate::Preconditioner;
use crate::error::{Error, Result, check_len, check_square};

/// Smoothed-aggregation algebraic multigrid, a preconditioner of symmetric positive definite and semidefinite matrices: one cycle
/// approximates A⁻¹r.
///
/// It is set up on the device. The same matrix gives the same bits in every run, and the same aggregates on every device as long as
/// no strong coupling is within rounding of the threshold. A cycle does not wait for the device, and is symmetric, so that it
/// suits [`Cg`](crate::Cg); except for [`AmgCycle::K`], which only flexible methods take.
///
/// ```
/// use evenpath::{Csr, Device};
/// use evenpath_solvers::{AmgOptions, Cg, CsrOperator, SmoothedAggregation, SolverOptions};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let n = 1000;
///     let entries = (0..n).flat_map(|i| [(i, i, 2.0), (i, (i + 1) % n, -0.9), ((i + 1) % n, i, -0.9)]);
///     let device = Device::best()?;
///     let a = device.upload(&Csr::from_triplets(n, n, entries)?)?;
///     let multigrid = SmoothedAggregation::new(&a, AmgOptions::default())?;
///     println!("{}", multigrid.info()?);
///     let operator = CsrOperator::new(&a)?;
///     let mut solver = Cg::new(&operator, &multigrid, SolverOptions::default())?;
///     let (b, mut x) = (device.upload(&vec![1.0; n])?, device.zeros(n)?);
///     let report = solver.solve(&b, &mut x)?;
///     assert!(report.is_converged() && report.steps < 20, "{report}");
///     Ok(())
/// }
/// ```
///
/// Sources: Vanek, Mandel, Brezina, Computing 56, 1996; for the aggregates Bell, Dalton, Olson, SIAM J. Sci. Comput. 34, 2012.
pub struct SmoothedAggregation<V: Value> {
    options: AmgOptions,
    hierarchy: Hierarchy<V, DeviceCsr<V>, Coarse<V>>,
    signs: DeviceVec<V>,
    stopwatch: Stopwatch,
    work: Mutex<Vec<Work<V>>>,
}

impl<V: Value> SmoothedAggregation<V> {
    /// Sets up a hierarchy for a matrix, with the constant vector as the near-null vector; if a node has several unknowns, with one
    /// vector for each, which is constant in that unknown. Waits for the device. Later changes of the matrix's values
    /// change nothing here until [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// If the matrix is not square, its rows are not sorted or have duplicates, an entry of the diagonal is missing or not positive, or
    /// a value is not finite; if an option is out of range; if there is too little memory, or the device was lost.
    pub fn new(a: &DeviceCsr<V>, options: AmgOptions) -> Result<Self> {
        check_square(a.shape())?;
        options.check(a.nrows())?;
        Self::with_near_null(a, &constants(a, options.block_size)?, options)
    }

    /// Sets up a hierarchy for vectors that A maps nearly to zero, such as the rigid motions of an elastic body. Each has one element
    /// per row, and there is at least one.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if a vector has another length or is on another device, or there is none.
    pub fn with_near_null(a: &DeviceCsr<V>, near_null: &[DeviceVec<V>], options: AmgOptions) -> Result<Self> {
        check_square(a.shape())?;
        options.check(a.nrows())?;
        check_near_null(a, near_null)?;
        Self::of_level(a, (near_null, None), options)
    }

    /// [`with_near_null`](Self::with_near_null) for a matrix that may be coarse: `bound` has what its diagonal would be without
    /// cancellation.
    pub(super) fn of_level(
        a: &DeviceCsr<V>,
        (near_null, bound): (&[DeviceVec<V>], Option<&DeviceSlice<V>>),
        options: AmgOptions,
    ) -> Result<Self> {
        let device = a.device();
        let mut stopwatch = Stopwatch::start(device)?;
        let seeds = Seeds::new(device, 0, a.nrows())?;
        let Built { levels, transfers, .. } = build(a, (near_null, bound), &options, &seeds, &mut stopwatch)?;
        let coarsest = levels.last().filter(|level| level.a.nrows() <= options.max_coarse);
        let coarse =
            coarsest.map(|level| Coarse::new(&level.a, &level.analysis.inverse_diagonal)).transpose()?;
        stopwatch.end(Part::Coarsest)?;
        let hierarchy = Hierarchy { levels, transfers, coarse };
        let work = Mutex::new(hierarchy.work(device, options.cycle)?);
        stopwatch.end(Part::Plans)?;
        Ok(Self { options, hierarchy, signs: seeds.signs, stopwatch, work })
    }

    /// Takes the values of a matrix of the same pattern. Aggregates, tentative prolongations and the patterns of all levels stay;
    /// everything that follows from the values is computed again. Graphs that were captured with the preconditioner keep the
    /// old smoothers. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the pattern differs, or those of [`new`](Self::new). If only the values are refused, the preconditioner stays; after
    /// other errors it is of no use before another update.
    pub fn update(&mut self, a: &DeviceCsr<V>) -> Result<()> {
        check_square(a.shape())?;
        self.update_level(a, None)
    }

    /// [`update`](Self::update) for a matrix that may be coarse: `bound` has what its diagonal would be without cancellation.
    pub(super) fn update_level(&mut self, a: &DeviceCsr<V>, bound: Option<&DeviceSlice<V>>) -> Result<()> {
        if !a.has_pattern_of(&self.hierarchy.levels[0].a)? {
            return Err(Error::OtherPattern);
        }
        let mut stopwatch = Stopwatch::start(a.device())?;
        self.hierarchy.update(a, bound, (self.options.smoother, &self.signs), &mut stopwatch)?;
        if let (Some(coarse), Some(level)) = (&self.hierarchy.coarse, self.hierarchy.levels.last()) {
            coarse.update(&level.a, &level.analysis.inverse_diagonal)?;
            stopwatch.end(Part::Coarsest)?;
        }
        self.stopwatch = stopwatch;
        Ok(())
    }

    /// Returns the sizes of the levels, and the time of the set-up or of the last update. Waits for it.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn info(&self) -> Result<AmgInfo> {
        let levels = self.hierarchy.levels.iter().map(Level::info);
        Ok(AmgInfo { levels: levels.collect(), set_up_ms: self.stopwatch.times()? })
    }

    /// Returns the matrices and vectors of a level, the finest first; `None` after the coarsest.
    ///
    /// ```
    /// # use evenpath::{Csr, Device};
    /// # use evenpath_solvers::{AmgOptions, SmoothedAggregation};
    /// let path = (0..500).flat_map(|i| [(i, i, 2.0), (i, (i + 1) % 500, -0.9), ((i + 1) % 500, i, -0.9)]);
    /// let a = Device::cpu().upload(&Csr::from_triplets(500, 500, path)?)?;
    /// let multigrid = SmoothedAggregation::new(&a, AmgOptions::default())?;
    /// let (finest, next) = (multigrid.level(0).unwrap(), multigrid.level(1).unwrap());
    /// assert_eq!(finest.prolongation.unwrap().shape(), (500, next.matrix.nrows()));
    /// assert!(next.prolongation.is_none() && next.inverse.is_some() && multigrid.level(2).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn level(&self, at: usize) -> Option<AmgLevel<'_, V>> {
        let Hierarchy { levels, transfers, coarse } = &self.hierarchy;
        let (level, transfer) = (levels.get(at)?, transfers.get(at));
        Some(AmgLevel {
            matrix: &level.a,
            inverse_diagonal: &level.analysis.inverse_diagonal,
            spectral_radius: level.analysis.radius,
            prolongation: transfer.map(Transfer::prolongation),
            inverse: coarse.as_ref().filter(|_| at + 1 == levels.len()).map(Coarse::inverse),
        })
    }
}

impl<V: Value> Preconditioner<V> for SmoothedAggregation<V> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        let rows = self.signs.len();
        check_len("r", r.len(), rows)?;
        check_len("z", z.len(), rows)?;
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        self.hierarchy.run(self.options.cycle, &mut work, r, z)
    }

    fn can_capture(&self) -> bool {
        true
    }

    fn is_linear(&self) -> bool {
        !matches!(self.options.cycle, AmgCycle::K { .. })
    }
}
