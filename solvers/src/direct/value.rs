//! Types of values that can be factorized.

use evenpath::Value;

/// Requirements on values that cannot be named outside the crate.
pub(super) mod sealed {
    /// Value of faer.
    pub trait Factorized: faer::traits::ComplexField {}
}

/// A type of values that [`DirectSolver`](crate::DirectSolver) factorizes: `f32` or `f64`. Sealed.
pub trait DirectValue: Value + sealed::Factorized {}

impl sealed::Factorized for f32 {}
impl sealed::Factorized for f64 {}

impl DirectValue for f32 {}
impl DirectValue for f64 {}
