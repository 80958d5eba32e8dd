//! Conjugate gradients.

use evenpath::{DeviceSlice, DeviceVec, Value, vector};

use crate::driver::{Cycle, Progress, solve};
use crate::error::Result;
use crate::work::{Work, axpby};
use crate::{Breakdown, LinearOperator, Preconditioner, Report, SolverOptions};

/// Preconditioned conjugate gradients, for symmetric positive definite A and M.
///
/// Source: Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49, 1952.
pub struct Cg<'a, V: Value> {
    work: Work<'a, V>,
    options: SolverOptions,
    vectors: Vectors<V>,
}

struct Vectors<V: Value> {
    z: DeviceVec<V>,
    p: DeviceVec<V>,
    ap: DeviceVec<V>,
}

impl<'a, V: Value> Cg<'a, V> {
    /// Allocates the vectors of the method.
    ///
    /// # Errors
    ///
    /// If the operator is not square, an option is out of range, or there is too little memory.
    pub fn new(
        operator: &'a dyn LinearOperator<V>,
        preconditioner: &'a dyn Preconditioner<V>,
        options: SolverOptions,
    ) -> Result<Self> {
        options.check()?;
        let work = Work::new(operator, preconditioner)?;
        let vectors = Vectors { z: work.zeros()?, p: work.zeros()?, ap: work.zeros()? };
        Ok(Self { work, options, vectors })
    }

    /// Solves Ax = b from the guess `x`, as often as needed. `b` and `x` have as many elements as A has rows.
    ///
    /// # Errors
    ///
    /// If a vector has another length or is on another device, or the device failed. That x was not found is no
    /// error: see [`Report::outcome`].
    pub fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<Report> {
        solve(&mut self.vectors, &mut self.work, (b, x), &self.options)
    }
}

impl<V: Value> Cycle<V> for Vectors<V> {
    fn name(&self) -> &'static str {
        "CG"
    }

    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let Self { z, p, ap } = self;
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
            axpby(rz / pap, p, 1.0, x)?;
            axpby(-rz / pap, ap, 1.0, r)?;
            if progress.push(work.norm2(r)?) {
                return Ok(None);
            }
            work.precondition(r, z)?;
            let next = work.dot(r, z)?;
            vector::axpby(V::ONE, z, V::from_f64(next / rz), p)?;
            rz = next;
        }
    }
}
