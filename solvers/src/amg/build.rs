//! Set-up and update of the levels of a hierarchy.

use evenpath::{DeviceSlice, DeviceVec, Value};

use super::aggregate::aggregate;
use super::cycle::Hierarchy;
use super::filtered::Filtered;
use super::info::{Part, Stopwatch};
use super::level::{Analysis, Level};
use super::matrix::LevelMatrix;
use super::options::{AmgOptions, AmgSmoother};
use super::prolongation::Prolongation;
use super::seeds::Seeds;
use super::strength::strong_couplings;
use super::tentative::Tentative;
use super::transfer::Transfer;
use crate::error::Result;
use crate::vectors::copied;

/// Levels, and what another hierarchy needs to continue from the last.
pub(super) struct Built<V: Value, M: LevelMatrix<V>> {
    pub(super) levels: Vec<Level<V, M>>,
    pub(super) transfers: Vec<Transfer<V, M>>,
    /// Near-null vectors of the last level.
    pub(super) near_null: Vec<DeviceVec<V>>,
    /// The diagonal of the last level as it would be without cancellation, if it is a coarse one.
    pub(super) bound: Option<DeviceVec<V>>,
    /// Number of unknowns of a node of the last level.
    pub(super) block_size: usize,
}

/// Builds the levels, from the finest to the coarsest, which has `options.max_coarse` rows at most if it can. `bound` has what the
/// diagonal of the finest matrix would be without cancellation, if that is a coarse one.
///
/// Over ranks no aggregate has nodes of two of them: each rank aggregates its nodes by their couplings with each other ("uncoupled
/// aggregation": Tuminaro, Tong, SC 2000). All ranks take the same decisions, from sums over them.
pub(super) fn build<V: Value, M: LevelMatrix<V>>(
    a: &M,
    (near_null, bound): (&[DeviceVec<V>], Option<&DeviceSlice<V>>),
    options: &AmgOptions,
    seeds: &Seeds<V>,
    stopwatch: &mut Stopwatch,
) -> Result<Built<V, M>> {
    let (mut levels, mut transfers): (Vec<Level<V, M>>, _) = (Vec::new(), Vec::new());
    // The user's values may change, ours stay.
    let (mut a, mut bound) = (a.copy()?, bound.map(copied).transpose()?);
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
        let (couplings, has_weak) = strong_couplings(scaled.local(), options.strength, block_size)?;
        drop(scaled);
        let aggregates = aggregate(&couplings, &seeds.priorities)?;
        stopwatch.end(Part::Aggregates)?;
        let coarse_rows = level.a.sum(aggregates.ncols())? * near_null.len();
        if coarse_rows == 0 || coarse_rows >= level.a.nrows() {
            break;
        }
        let Tentative { prolongation, coarse_near_null } =
            Tentative::new(&aggregates, block_size, &near_null)?;
        let tentative = level.a.block_diagonal(prolongation)?;
        let is_filtered =
            options.is_filtered && options.strength > 0.0 && level.a.sum(usize::from(has_weak))? > 0;
        let filtered =
            is_filtered.then(|| Filtered::new(level.a.local(), &couplings, block_size)).transpose()?;
        let spectrum = level.analysis.spectrum(&seeds.signs);
        let prolongation = Prolongation::new(&level.a, filtered, &tentative, &spectrum)?;
        stopwatch.end(Part::Prolongations)?;
        let (transfer, coarse) = Transfer::new(&level.a, prolongation)?;
        bound = Some(transfer.coarse_bound(&level.a)?);
        stopwatch.end(Part::Products)?;
        transfers.push(transfer);
        (a, block_size, near_null) = (coarse, near_null.len(), coarse_near_null);
    }
    Ok(Built { levels, transfers, near_null, bound, block_size })
}

impl<V: Value, M: LevelMatrix<V>, C> Hierarchy<V, M, C> {
    /// Takes the values of a matrix of the same pattern, on all levels. Returns what the diagonal of the last level would be without
    /// cancellation, if that is not the finest. If the values of the finest are refused, all levels stay.
    pub(super) fn update(
        &mut self,
        a: &M,
        bound: Option<&DeviceSlice<V>>,
        (smoother, signs): (AmgSmoother, &DeviceSlice<V>),
        stopwatch: &mut Stopwatch,
    ) -> Result<Option<DeviceVec<V>>> {
        let mut analysis = Analysis::new(a, bound, signs)?.0;
        let (mut values, mut bound) = (a.clone(), None);
        stopwatch.end(Part::Spectra)?;
        for (at, level) in self.levels.iter_mut().enumerate() {
            level.update(&values, analysis, smoother)?;
            let Some(transfer) = self.transfers.get(at) else { break };
            values = transfer.update(&level.analysis.spectrum(signs))?;
            stopwatch.end(Part::Products)?;
            let of_diagonal = transfer.coarse_bound(&level.a)?;
            analysis = Analysis::new(&values, Some(&*of_diagonal), signs)?.0;
            bound = Some(of_diagonal);
            stopwatch.end(Part::Spectra)?;
        }
        Ok(bound)
    }
}
