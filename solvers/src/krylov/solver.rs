//! The interface that most methods have in common.

/// Declares the constructor and `solve` of a method with the fields `work`, `options` and `cycle`. The last one is made by a function
/// of the others. The last argument is a function of the options: whether the preconditioner may change from step to step.
macro_rules! solver {
    ($solver:ident, $name:literal, $cycle:expr) => {
        $crate::krylov::solver::solver!($solver, $name, $cycle, |_: &$crate::SolverOptions| false);
    };
    ($solver:ident, $name:literal, $cycle:expr, $is_flexible:expr) => {
        impl<'a, V: Scalar> $solver<'a, V> {
            /// Allocates the vectors of the method.
            ///
            /// # Errors
            ///
            /// If the operator is not square, an option is out of range, the preconditioner is not linear and this method needs one
            /// that is, or there is too little memory.
            pub fn new(
                operator: &'a dyn $crate::LinearOperator<V>,
                preconditioner: &'a dyn $crate::Preconditioner<V>,
                options: $crate::SolverOptions,
            ) -> Result<Self> {
                options.check()?;
                if !$is_flexible(&options) {
                    $crate::preconditioner::check_linear(preconditioner, $name)?;
                }
                let work = Work::new(operator, preconditioner)?;
                let cycle = $cycle(&work, &options)?;
                Ok(Self { work, options, cycle })
            }

            /// Solves Ax = b from the guess `x`, as often as needed. `b` and `x` have as many elements as A has rows.
            ///
            /// # Errors
            ///
            /// If a vector has another length or is on another device, or the device failed. That x was not found is no
            /// error: see [`Report::outcome`](crate::Report::outcome).
            pub fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<$crate::Report> {
                $crate::driver::solve($name, &mut self.cycle, &mut self.work, (b, x), &self.options)
            }
        }
    };
}
pub(crate) use solver;
