//! Conjugate gradients whose scalars the host computes: for operators that wait, and to measure their parts.

use evenpath::{DeviceSlice, DeviceVec, Scalar};

use crate::Breakdown;
use crate::driver::{Cycle, Progress};
use crate::error::Result;
use crate::vectors::axpby;
use crate::work::Work;

pub(super) struct HostSteps<V: Scalar> {
    z: DeviceVec<V>,
    p: DeviceVec<V>,
    ap: DeviceVec<V>,
    /// The residual before the step, of the flexible method.
    last_r: Option<DeviceVec<V>>,
}

impl<V: Scalar> HostSteps<V> {
    pub(super) fn new(work: &Work<V>, is_flexible: bool) -> Result<Self> {
        let last_r = is_flexible.then(|| work.zeros()).transpose()?;
        Ok(Self { z: work.zeros()?, p: work.zeros()?, ap: work.zeros()?, last_r })
    }
}

impl<V: Scalar> Cycle<V> for HostSteps<V> {
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let Self { z, p, ap, last_r } = self;
        let scale = progress.residual();
        work.precondition(r, z)?;
        let mut rz = work.dot(r, z)?;
        p.copy_from(z)?;
        loop {
            if rz <= 0.0 {
                return Ok(Some(Breakdown::IndefinitePreconditioner));
            }
            work.apply(p, ap)?;
            let pap = work.dot(p, ap)?;
            if pap <= 0.0 {
                return Ok(Some(Breakdown::IndefiniteMatrix));
            }
            axpby(scale * rz / pap, p, 1.0, x)?;
            if let Some(last_r) = last_r {
                last_r.copy_from(r)?;
            }
            axpby(-rz / pap, ap, 1.0, r)?;
            if progress.push(scale * work.norm2(r)?) {
                return Ok(None);
            }
            work.precondition(r, z)?;
            let next = work.dot(r, z)?;
            // Polak and Ribière: the part of the last residual is zero for a preconditioner that stays.
            let of_last = last_r.as_ref().map_or(Ok(0.0), |last_r| work.dot(last_r, z))?;
            axpby(1.0, z, (next - of_last) / rz, p)?;
            rz = next;
        }
    }
}
