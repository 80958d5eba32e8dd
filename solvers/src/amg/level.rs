//! A level of a hierarchy.

use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Value};

use super::diagonal::{inverse_coarse_diagonal, inverse_diagonal};
use super::info::AmgLevelInfo;
use super::matrix::LevelMatrix;
use super::options::AmgSmoother;
use super::prolongation::Spectrum;
use super::smoother::Smoother;
use super::spectral::largest_eigenvalue;
use super::strength::scaled;
use crate::error::Result;

/// The matrices and vectors of a level of [`SmoothedAggregation`](crate::SmoothedAggregation).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AmgLevel<'a, V: Value> {
    /// The matrix A, of n rows.
    pub matrix: &'a DeviceCsr<V>,
    /// The diagonal of D⁻¹, of n elements, which smoothers use; zero in rows that are nothing but rounding.
    pub inverse_diagonal: &'a DeviceSlice<V>,
    /// Estimate of the spectral radius of D⁻¹A, which determines the steps of smoothers.
    pub spectral_radius: f64,
    /// The prolongation from the next level, of n rows and a column for each row there; `None` on the coarsest.
    pub prolongation: Option<&'a DeviceCsr<V>>,
    /// The inverse of A, if this is the coarsest level and it is solved exactly.
    pub inverse: Option<&'a DeviceCsr<V>>,
}

/// A matrix with its smoother.
pub(super) struct Level<V: Value, M: LevelMatrix<V>> {
    pub(super) a: M,
    /// Number of nonzeros on all ranks.
    pub(super) nonzeros: usize,
    pub(super) plan: M::SpmvPlan,
    pub(super) analysis: Analysis<V>,
    pub(super) smoother: Smoother<V>,
}

/// Numbers that a matrix's values determine.
pub(super) struct Analysis<V: Value> {
    /// The diagonal of D⁻¹.
    pub(super) inverse_diagonal: DeviceVec<V>,
    /// ρ(D⁻¹A).
    pub(super) radius: f64,
}

impl<V: Value> Analysis<V> {
    /// Analyzes a matrix from `start`, which has at least one element per row. `bound` has what the diagonal of a coarser matrix
    /// would be without cancellation. Also returns the matrix scaled to a diagonal of ones.
    pub(super) fn new<M: LevelMatrix<V>>(
        a: &M,
        bound: Option<&DeviceSlice<V>>,
        start: &DeviceSlice<V>,
    ) -> Result<(Self, M)> {
        let inverse_diagonal = match bound {
            Some(bound) => inverse_coarse_diagonal(a, bound)?,
            None => inverse_diagonal(a)?,
        };
        let scaled = scaled(a, &inverse_diagonal)?;
        let radius = largest_eigenvalue(&scaled, start)?;
        Ok((Self { inverse_diagonal, radius }, scaled))
    }

    pub(super) fn spectrum<'a>(&'a self, start: &'a DeviceSlice<V>) -> Spectrum<'a, V> {
        Spectrum { inverse_diagonal: &self.inverse_diagonal, radius: self.radius, start }
    }
}

impl<V: Value, M: LevelMatrix<V>> Level<V, M> {
    pub(super) fn new(a: M, analysis: Analysis<V>, smoother: AmgSmoother) -> Result<Self> {
        let (plan, nonzeros) = (a.plan_spmv()?, a.nonzeros()?);
        let smoother = Smoother::new(a.local(), smoother, (&analysis.inverse_diagonal, analysis.radius))?;
        Ok(Self { a, nonzeros, plan, analysis, smoother })
    }

    /// The sizes on all ranks.
    pub(super) fn info(&self) -> AmgLevelInfo {
        let (rows, spectral_radius) = (self.a.nrows(), self.analysis.radius);
        AmgLevelInfo { rows, nonzeros: self.nonzeros, spectral_radius }
    }

    /// Number of rows on this rank.
    pub(super) fn len(&self) -> usize {
        self.a.local().nrows()
    }

    /// Takes other values.
    pub(super) fn update(&mut self, a: &M, analysis: Analysis<V>, smoother: AmgSmoother) -> Result<()> {
        self.a.set_values_from(a)?;
        self.smoother.update(smoother, (&analysis.inverse_diagonal, analysis.radius))?;
        self.analysis = analysis;
        Ok(())
    }
}
