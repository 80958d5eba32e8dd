//! Transfer between a level and the next.

use evenpath::spgemm::{SpgemmOptions, SpgemmPlan};
use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{DeviceCsr, DeviceVec, Value, vector::Map};

use super::prolongation::{Prolongation, Spectrum};
use crate::error::Result;

/// Prolongation P, restriction R = Pᵀ, and the coarse matrix RAP.
pub(super) struct Transfer<V: Value> {
    prolongation: Prolongation<V>,
    r: DeviceCsr<V>,
    pub(super) prolong: SpmvPlan<V>,
    pub(super) restrict: SpmvPlan<V>,
    ap_plan: SpgemmPlan<V>,
    ap: DeviceCsr<V>,
    coarse_plan: SpgemmPlan<V>,
}

impl<V: Value> Transfer<V> {
    /// Returns the coarse matrix too.
    pub(super) fn new(a: &DeviceCsr<V>, prolongation: Prolongation<V>) -> Result<(Self, DeviceCsr<V>)> {
        let p = prolongation.matrix();
        let r = p.transpose()?;
        let ap_plan = a.plan_spgemm(p, SpgemmOptions::default())?;
        let ap = ap_plan.run()?;
        let coarse_plan = r.plan_spgemm(&ap, SpgemmOptions::default())?;
        let coarse = coarse_plan.run()?;
        let (prolong, restrict) =
            (p.plan_spmv(SpmvOptions::default())?, r.plan_spmv(SpmvOptions::default())?);
        Ok((Self { prolongation, r, prolong, restrict, ap_plan, ap, coarse_plan }, coarse))
    }

    /// P.
    pub(super) fn prolongation(&self) -> &DeviceCsr<V> {
        self.prolongation.matrix()
    }

    /// Computes P, R and the coarse matrix again, from the values that A has now. Returns the coarse matrix.
    pub(super) fn update(&self, spectrum: &Spectrum<V>) -> Result<DeviceCsr<V>> {
        self.prolongation.update(spectrum)?;
        self.r.set_values_from(&self.prolongation.matrix().transpose()?.values())?;
        self.ap.set_values_from(&self.ap_plan.run()?.values())?;
        Ok(self.coarse_plan.run()?)
    }

    /// The diagonal of RDP for the diagonal D of the finer matrix: what that of the coarse one would be without cancellation.
    pub(super) fn coarse_bound(&self, a: &DeviceCsr<V>) -> Result<DeviceVec<V>> {
        let squares = self.r.copy()?;
        squares.map_values(Map::Square)?;
        let mut bound = a.device().uninitialized(self.r.nrows())?;
        squares.spmv(V::ONE, &a.diagonal()?, V::ZERO, &mut bound)?;
        Ok(bound)
    }
}
