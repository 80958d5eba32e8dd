//! A level of a hierarchy.

use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Value};

use super::diagonal::{inverse_coarse_diagonal, inverse_diagonal};
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
pub(super) struct Level<V: Value> {
    pub(super) a: DeviceCsr<V>,
    pub(super) plan: SpmvPlan<V>,
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
    pub(super) fn new(
        a: &DeviceCsr<V>,
        bound: Option<&DeviceSlice<V>>,
        start: &DeviceSlice<V>,
    ) -> Result<(Self, DeviceCsr<V>)> {
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

impl<V: Value> Level<V> {
    pub(super) fn new(a: DeviceCsr<V>, analysis: Analysis<V>, smoother: AmgSmoother) -> Result<Self> {
        let plan = a.plan_spmv(SpmvOptions::default())?;
        let smoother = Smoother::new(&a, smoother, (&analysis.inverse_diagonal, analysis.radius))?;
        Ok(Self { a, plan, analysis, smoother })
    }

    /// Takes other values.
    pub(super) fn update(
        &mut self,
        a: &DeviceCsr<V>,
        analysis: Analysis<V>,
        smoother: AmgSmoother,
    ) -> Result<()> {
        self.a.set_values_from(&a.values())?;
        self.smoother.update(smoother, (&analysis.inverse_diagonal, analysis.radius))?;
        self.analysis = analysis;
        Ok(())
    }
}
