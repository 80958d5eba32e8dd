//! The beginning and the end of steps whose scalars stay on the device.

use std::ops::ControlFlow;

use evenpath::cg::{CgScalars, CgSteps};
use evenpath::{DeviceSlice, RealStorage, Scalar, Value};

use crate::Breakdown;
use crate::driver::Progress;
use crate::error::Result;
use crate::work::Work;

/// Limits that end the steps of a cycle.
pub(super) struct Limits {
    /// The norm of the residual at the start.
    norm: f64,
    /// The norm of the residual at which the system is solved.
    of_norm: f64,
    /// The same as the device compares it: squared, of the residual divided by its first norm.
    of_square: f64,
}

impl Limits {
    /// Begins steps from a residual that was divided by its norm: p becomes the first direction. Returns `None` if the preconditioner is
    /// not positive definite.
    pub(super) fn begin<V: Scalar>(
        work: &mut Work<V>,
        progress: &Progress,
        steps: &mut CgSteps<V::Real>,
        (r, p): (&DeviceSlice<V>, &mut DeviceSlice<V>),
    ) -> Result<Option<Self>> {
        let norm = progress.residual();
        work.precondition(r, p)?;
        let (rz, rr) = (work.dot(r, p)?, work.dot(r, r)?);
        if rz <= 0.0 {
            return Ok(None);
        }
        let limit = (progress.limit() / norm).powi(2);
        let [rz, rr, limit, scale] = [rz, rr, limit, norm].map(V::Real::from_f64);
        steps.begin(rz, rr, limit, scale)?;
        Ok(Some(Self { norm, of_norm: progress.limit(), of_square: limit.to_f64() }))
    }

    /// Does steps until one ends the cycle, and returns the breakdown if there was one. `advance(count)` does `count` steps, at most `len`, and
    /// returns the scalars of each and those after the last; it may return more, which are ignored.
    pub(super) fn follow<V: Value>(
        &self,
        len: usize,
        progress: &mut Progress,
        mut advance: impl FnMut(usize) -> Result<Vec<CgScalars<V>>>,
    ) -> Result<Option<Breakdown>> {
        loop {
            let count = len.min(progress.steps_left());
            let mut scalars = advance(count)?;
            scalars.truncate(count + 1);
            if let ControlFlow::Break(end) = self.look(&scalars, progress) {
                return Ok(end);
            }
        }
    }

    /// Records steps, until one that ends the cycle. `scalars` has those of each step, and those after the last.
    fn look<V: Value>(
        &self,
        scalars: &[CgScalars<V>],
        progress: &mut Progress,
    ) -> ControlFlow<Option<Breakdown>> {
        for step in scalars.windows(2) {
            let (pap, alpha) = (step[0].pap.to_f64(), step[0].alpha.to_f64());
            if pap <= 0.0 {
                return ControlFlow::Break((step[0].rr != V::ZERO).then_some(Breakdown::IndefiniteMatrix));
            }
            if pap.is_nan() {
                progress.push(f64::NAN);
                return ControlFlow::Break(None);
            }
            if alpha == 0.0 || progress.push(self.residual(step[1].rr.to_f64())) {
                return ControlFlow::Break(None);
            }
            if step[1].rz <= V::ZERO {
                return ControlFlow::Break(Some(Breakdown::IndefinitePreconditioner));
            }
        }
        ControlFlow::Continue(())
    }

    /// The norm of the residual, within the limit exactly if the device found its square within.
    fn residual(&self, rr: f64) -> f64 {
        let norm = self.norm * rr.sqrt();
        if rr <= self.of_square {
            norm.min(self.of_norm)
        } else if norm <= self.of_norm {
            self.of_norm.next_up()
        } else {
            norm
        }
    }
}
