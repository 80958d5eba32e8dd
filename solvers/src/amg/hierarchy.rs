//! The preconditioner.

use std::sync::{Mutex, PoisonError};

use evenpath::spadd::Elementwise;
use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Value, vector};

use super::aggregate::aggregate;
use super::coarse::Coarse;
use super::cycle::{Hierarchy, Work};
use super::filtered::Filtered;
use super::info::{AmgInfo, AmgLevelInfo, Part, Stopwatch};
use super::level::{AmgLevel, Analysis, Level};
use super::options::{AmgCycle, AmgOptions};
use super::prolongation::Prolongation;
use super::seeds::Seeds;
use super::strength::strong_couplings;
use super::tentative::Tentative;
use super::transfer::Transfer;
use crate::Preconditioner;
use crate::error::{Error, Result, check_len, check_square};
use crate::vectors::copied;

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
    hierarchy: Hierarchy<V>,
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
        let of_unknown = |unknown: usize| -> Result<DeviceVec<V>> {
            let is_of = |row: usize| row % options.block_size == unknown;
            let values = (0..a.nrows()).map(|row| if is_of(row) { V::ONE } else { V::ZERO });
            Ok(a.device().upload(&values.collect::<Vec<V>>())?)
        };
        let near_null = if options.block_size == 1 {
            let mut ones = a.device().uninitialized(a.nrows())?;
            vector::fill(V::ONE, &mut ones)?;
            vec![ones]
        } else {
            (0..options.block_size).map(of_unknown).collect::<Result<_>>()?
        };
        Self::with_near_null(a, &near_null, options)
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
        if near_null.is_empty() {
            let needed = "at least 1";
            return Err(Error::Option {
                option: "the number of near-null vectors",
                value: "0".into(),
                needed,
            });
        }
        let (device, rows) = (a.device(), a.nrows());
        for vector in near_null {
            check_len("a near-null vector", vector.len(), rows)?;
            // A copy of none of its elements, which is refused between devices.
            device.uninitialized(0)?.copy_from(&vector.slice(..0)?)?;
        }
        let mut stopwatch = Stopwatch::start(device)?;
        let seeds = Seeds::new(device, rows)?;
        let hierarchy = build(a, near_null, &options, &seeds, &mut stopwatch)?;
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
        let finest = &self.hierarchy.levels[0].a;
        let is_same = a.shape() == finest.shape()
            && a.nnz() == finest.nnz()
            && a.count_elementwise(Elementwise::MaskOut, finest)? == 0;
        if !is_same {
            return Err(Error::OtherPattern);
        }
        let mut stopwatch = Stopwatch::start(a.device())?;
        let Hierarchy { levels, transfers, coarse } = &mut self.hierarchy;
        let mut analysis = Analysis::new(a, None, &self.signs)?.0;
        let mut values = a.clone();
        stopwatch.end(Part::Spectra)?;
        for (at, level) in levels.iter_mut().enumerate() {
            level.update(&values, analysis, self.options.smoother)?;
            let Some(transfer) = transfers.get(at) else { break };
            values = transfer.update(&level.analysis.spectrum(&self.signs))?;
            stopwatch.end(Part::Products)?;
            analysis = Analysis::new(&values, Some(&*transfer.coarse_bound(&level.a)?), &self.signs)?.0;
            stopwatch.end(Part::Spectra)?;
        }
        if let (Some(coarse), Some(level)) = (coarse, levels.last()) {
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
        let levels = self.hierarchy.levels.iter().map(|level| AmgLevelInfo {
            rows: level.a.nrows(),
            nonzeros: level.a.nnz(),
            spectral_radius: level.analysis.radius,
        });
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

/// Builds the levels, from the finest to the coarsest.
fn build<V: Value>(
    a: &DeviceCsr<V>,
    near_null: &[DeviceVec<V>],
    options: &AmgOptions,
    seeds: &Seeds<V>,
    stopwatch: &mut Stopwatch,
) -> Result<Hierarchy<V>> {
    let (mut levels, mut transfers): (Vec<Level<V>>, Vec<Transfer<V>>) = (Vec::new(), Vec::new());
    // The user's values may change, ours stay.
    let (mut a, mut bound) = (a.copy()?, None);
    let mut near_null = near_null.iter().map(|vector| copied(vector)).collect::<Result<Vec<_>>>()?;
    let mut block_size = options.block_size;
    loop {
        let (analysis, scaled) = Analysis::new(&a, bound.as_deref(), &seeds.signs)?;
        stopwatch.end(Part::Spectra)?;
        let level = Level::new(a, analysis, options.smoother)?;
        stopwatch.end(Part::Plans)?;
        levels.push(level);
        let Some(level) = levels.last() else { unreachable!("a level was pushed") };
        if level.a.nrows() <= options.max_coarse || levels.len() == options.max_levels {
            break;
        }
        let (couplings, has_weak) = strong_couplings(&scaled, options.strength, block_size)?;
        drop(scaled);
        let aggregates = aggregate(&couplings, &seeds.priorities)?;
        stopwatch.end(Part::Aggregates)?;
        let coarse_rows = aggregates.ncols() * near_null.len();
        if coarse_rows == 0 || coarse_rows >= level.a.nrows() {
            break;
        }
        let Tentative { prolongation, coarse_near_null } =
            Tentative::new(&aggregates, block_size, &near_null)?;
        let is_filtered = options.is_filtered && options.strength > 0.0 && has_weak;
        let filtered = is_filtered.then(|| Filtered::new(&level.a, &couplings, block_size)).transpose()?;
        let spectrum = level.analysis.spectrum(&seeds.signs);
        let prolongation = Prolongation::new(&level.a, filtered, &prolongation, &spectrum)?;
        stopwatch.end(Part::Prolongations)?;
        let (transfer, coarse) = Transfer::new(&level.a, prolongation)?;
        bound = Some(transfer.coarse_bound(&level.a)?);
        stopwatch.end(Part::Products)?;
        transfers.push(transfer);
        (a, block_size, near_null) = (coarse, near_null.len(), coarse_near_null);
    }
    let coarse = levels.last().filter(|level| level.a.nrows() <= options.max_coarse);
    let coarse = coarse.map(|level| Coarse::new(&level.a, &level.analysis.inverse_diagonal)).transpose()?;
    stopwatch.end(Part::Coarsest)?;
    Ok(Hierarchy { levels, transfers, coarse })
}
