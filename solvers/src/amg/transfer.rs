//! Transfer between a level and the next.

use evenpath::{DeviceVec, Value, vector::Map};

use super::matrix::{LevelMatrix, Product};
use super::prolongation::{Prolongation, Spectrum};
use crate::error::Result;

/// Prolongation P, restriction R = Pᵀ, and the coarse matrix RAP.
pub(super) struct Transfer<V: Value, M: LevelMatrix<V>> {
    prolongation: Prolongation<V, M>,
    r: M,
    pub(super) prolong: M::SpmvPlan,
    pub(super) restrict: M::SpmvPlan,
    ap_plan: M::SpgemmPlan,
    ap: M,
    coarse_plan: M::SpgemmPlan,
}

impl<V: Value, M: LevelMatrix<V>> Transfer<V, M> {
    /// Returns the coarse matrix too.
    pub(super) fn new(a: &M, prolongation: Prolongation<V, M>) -> Result<(Self, M)> {
        let p = prolongation.matrix();
        let r = p.transpose()?;
        let ap_plan = a.plan_spgemm(p)?;
        let ap = M::run_spgemm(&ap_plan)?;
        let coarse_plan = r.plan_spgemm(&ap)?;
        let coarse = M::run_spgemm(&coarse_plan)?;
        let (prolong, restrict) = (p.plan_spmv()?, r.plan_spmv()?);
        Ok((Self { prolongation, r, prolong, restrict, ap_plan, ap, coarse_plan }, coarse))
    }

    /// P.
    pub(super) fn prolongation(&self) -> &M {
        self.prolongation.matrix()
    }

    /// Computes P, R and the coarse matrix again, from the values that A has now. Returns the coarse matrix.
    pub(super) fn update(&self, spectrum: &Spectrum<V>) -> Result<M> {
        self.prolongation.update(spectrum)?;
        self.r.set_values_from(&self.prolongation.matrix().transpose()?)?;
        self.ap.set_values_from(&M::run_spgemm(&self.ap_plan)?)?;
        M::run_spgemm(&self.coarse_plan)
    }

    /// The diagonal of RDP for the diagonal D of the finer matrix: what that of the coarse one would be without cancellation.
    pub(super) fn coarse_bound(&self, a: &M) -> Result<DeviceVec<V>> {
        let squares = self.r.copy()?;
        squares.parts().into_iter().try_for_each(|part| part.map_values(Map::Square))?;
        let mut bound = a.local().device().uninitialized(self.r.local().nrows())?;
        squares.spmv()?.run(V::ONE, &a.local().diagonal()?, V::ZERO, &mut bound)?;
        Ok(bound)
    }
}
