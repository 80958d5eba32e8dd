//! Conjugate gradients whose scalars stay on the device: several steps are one graph.

use evenpath::cg::{CgDirection, CgScalars, CgSteps};
use evenpath::device::{DeviceView, Graph};
use evenpath::{DeviceSlice, DeviceVec, Scalar};

use super::limits::Limits;
use crate::driver::{Cycle, Progress};
use crate::error::{Error, Result};
use crate::work::Work;
use crate::{Breakdown, LinearOperator, Preconditioner};

/// The vectors of the method, which a graph owns. The updates have real factors, and are of the parts of complex vectors.
struct State<V: Scalar> {
    steps: CgSteps<V::Real>,
    x: DeviceVec<V>,
    /// The residual, divided by its norm at the start.
    r: DeviceVec<V>,
    p: DeviceVec<V>,
    ap: DeviceVec<V>,
    /// M⁻¹r, unless M is diagonal or the identity.
    z: Option<DeviceVec<V>>,
}

/// The operands of a step.
#[derive(Clone, Copy)]
struct System<'a, V: Scalar> {
    operator: &'a dyn LinearOperator<V>,
    preconditioner: &'a dyn Preconditioner<V>,
}

impl<'a, V: Scalar> System<'a, V> {
    /// The diagonal of M⁻¹ that the updates multiply by: that of a real one.
    fn inverse(self) -> Option<DeviceView<'a, V::Real>> {
        let inverse = self.preconditioner.diagonal().filter(|_| !V::IS_COMPLEX);
        inverse.map(DeviceSlice::as_parts)
    }

    /// Does a step, without the host.
    fn step(self, step: usize, state: &mut State<V>) -> Result<()> {
        let State { steps, x, r, p, ap, z } = state;
        self.operator.apply(p, ap)?;
        let inverse = self.inverse();
        steps.update_residual(
            step,
            (&p.as_parts(), &ap.as_parts()),
            inverse.as_deref(),
            &mut r.as_parts_mut(),
        )?;
        if let (None, Some(z)) = (&inverse, &mut *z) {
            self.preconditioner.apply(r, z)?;
        }
        let (r, z) = (r.as_parts(), z.as_ref().map(|z| z.as_parts()));
        let direction = match (&inverse, &z) {
            (Some(inverse), _) => CgDirection::Scaled { r: &r, inverse },
            (None, Some(z)) => CgDirection::Vector { r: &r, z },
            (None, None) => CgDirection::Residual(&r),
        };
        Ok(steps.update_direction(step, direction, &mut p.as_parts_mut(), &mut x.as_parts_mut())?)
    }

    /// Does steps from the first that has scalars, after the last that had.
    fn steps(self, count: usize, state: &mut State<V>) -> Result<()> {
        state.steps.start_over()?;
        (0..count).try_for_each(|step| self.step(step, state))
    }
}

pub(super) struct GraphSteps<'a, V: Scalar> {
    system: System<'a, V>,
    graph: Graph<'a, State<V>, Error>,
    /// Number of steps of the graph.
    len: usize,
}

impl<'a, V: Scalar> GraphSteps<'a, V> {
    pub(super) fn new(work: &Work<'a, V>, len: usize) -> Result<Self> {
        let system = System { operator: work.operator, preconditioner: work.preconditioner };
        let steps = CgSteps::new(work.device(), len)?;
        let is_known = system.inverse().is_some() || system.preconditioner.is_identity();
        let z = (!is_known).then(|| work.zeros()).transpose()?;
        let mut state =
            State { steps, x: work.zeros()?, r: work.zeros()?, p: work.zeros()?, ap: work.zeros()?, z };
        // Outside a graph once, since plans may allocate in their first run.
        system.step(0, &mut state)?;
        let graph = work.device().capture(state, move |state| system.steps(len, state))?;
        Ok(Self { system, graph, len })
    }

    /// Does `count` steps, at most those of the graph. Returns the scalars of as many as the graph has.
    fn advance(&mut self, count: usize) -> Result<Vec<CgScalars<V::Real>>> {
        if count == self.len {
            self.graph.launch()?;
        } else {
            self.system.steps(count, self.graph.state_mut())?;
        }
        Ok(self.graph.state().steps.scalars()?)
    }
}

impl<V: Scalar> Cycle<V> for GraphSteps<'_, V> {
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let state = self.graph.state_mut();
        state.x.copy_from(x)?;
        state.r.copy_from(r)?;
        let Some(limits) = Limits::begin(work, progress, &mut state.steps, (&state.r, &mut state.p))? else {
            return Ok(Some(Breakdown::IndefinitePreconditioner));
        };
        let end = limits.follow(self.len, progress, |count| self.advance(count))?;
        x.copy_from(&self.graph.state().x)?;
        Ok(end)
    }
}
