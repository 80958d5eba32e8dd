//! The solver.

use evenpath::{DeviceSlice, Value};

use super::by_graph::GraphSteps;
use super::by_host::HostSteps;
use crate::driver::{Cycle, solve};
use crate::error::Result;
use crate::work::Work;
use crate::{LinearOperator, Preconditioner, Report, SolverOptions};

/// Preconditioned conjugate gradients, for symmetric positive definite A and M.
///
/// Where the operator and the preconditioner [can be captured](LinearOperator::can_capture), the steps between two looks
/// at the residual are one graph. With a [diagonal](Preconditioner::diagonal) M a step is the product and three launches.
///
/// Source: Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49, 1952.
pub struct Cg<'a, V: Value> {
    work: Work<'a, V>,
    options: SolverOptions,
    steps: Box<dyn Cycle<V> + 'a>,
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
        let can_capture = operator.can_capture() && preconditioner.can_capture() && !options.is_profiled;
        let steps: Box<dyn Cycle<V> + 'a> = if can_capture {
            Box::new(GraphSteps::new(&work, options.check_steps)?)
        } else {
            Box::new(HostSteps::new(&work)?)
        };
        Ok(Self { work, options, steps })
    }

    /// Solves Ax = b from the guess `x`, as often as needed. `b` and `x` have as many elements as A has rows.
    ///
    /// # Errors
    ///
    /// If a vector has another length or is on another device, or the device failed. That x was not found is no
    /// error: see [`Report::outcome`].
    pub fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<Report> {
        solve(&mut *self.steps, &mut self.work, (b, x), &self.options)
    }
}
