//! The solver.

use evenpath::{DeviceSlice, Scalar};

use super::by_block::BlockSteps;
use super::by_graph::GraphSteps;
use super::by_host::HostSteps;
use crate::SolverOptions;
use crate::driver::Cycle;
use crate::error::Result;
use crate::krylov::solver::solver;
use crate::work::Work;

/// Preconditioned conjugate gradients, for symmetric positive definite A and M, or Hermitian ones of complex numbers.
///
/// Where the operator and the preconditioner [can be captured](crate::LinearOperator::can_capture), the steps between two looks
/// at the residual are one graph. With a real [diagonal](crate::Preconditioner::diagonal) M a step is the product and three launches.
///
/// A step of a small system takes less time than its launches. On GPUs such a system is solved by one block, which does all steps between
/// two looks in one launch, if the operator [has a matrix](crate::LinearOperator::csr) and M is a real diagonal or the identity;
/// [`SolverOptions::with_one_block`] decides otherwise. The sums of one block have another order than those of many, and x may have other
/// bits; each way has the same in every run.
///
/// With [`SolverOptions::with_flexible`] the preconditioner may change from step to step. The new direction is then orthogonal to the
/// last alone, by the formula of Polak and Ribière; a step takes one more vector and inner product, and waits for the device.
///
/// Sources: Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49, 1952; Notay, SIAM J. Sci. Comput. 22, 2000.
pub struct Cg<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    cycle: Box<dyn Cycle<V> + 'a>,
}

solver!(Cg, "CG", cycle, |options: &SolverOptions| options.is_flexible);

/// Steps by one block where that suits, as graphs where that is possible, and else by the host.
fn cycle<'a, V: Scalar>(work: &Work<'a, V>, options: &SolverOptions) -> Result<Box<dyn Cycle<V> + 'a>> {
    if let Some(steps) = BlockSteps::if_chosen(work, options)? {
        return Ok(Box::new(steps));
    }
    let can_capture =
        work.operator.can_capture() && work.preconditioner.can_capture() && !options.is_profiled;
    Ok(if can_capture && !options.is_flexible {
        Box::new(GraphSteps::new(work, options.check_steps)?)
    } else {
        Box::new(HostSteps::new(work, options.is_flexible)?)
    })
}
