//! From the types of a matrix and its vectors to what a plan runs.

use super::build;
use super::method::SpmvMethod;
use super::methods;
use super::options::SpmvOptions;
use super::schedule::Choice;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::scalar::ForKind;
use crate::{Compute, Offset, Storage, Value};

/// The schedule for vectors of the matrix's type: of the method that is asked for, or of the best one.
pub(super) fn build<S: Storage, O: Offset>(
    matrix: &DeviceCsr<S, O>,
    options: SpmvOptions,
) -> Result<Choice<S, O>, OpError> {
    S::by_kind(Build { matrix, options })
}

/// The schedule for vectors of the type of arithmetic: of the method that is asked for, or of the best one.
pub(super) fn build_mixed<S: Storage, O: Offset>(
    matrix: &DeviceCsr<S, O>,
    options: SpmvOptions,
) -> Result<Choice<S, O, Compute<S>>, OpError> {
    S::by_kind(Mixed(Build { matrix, options }))
}

/// Operands of [`build`].
struct Build<'a, S: Storage, O: Offset> {
    matrix: &'a DeviceCsr<S, O>,
    options: SpmvOptions,
}

impl<S: Storage, O: Offset> ForKind<S> for Build<'_, S, O> {
    type Output = Result<Choice<S, O>, OpError>;

    fn value(self) -> Self::Output
    where
        S: Value,
    {
        build::build(self.matrix, self.options)
    }

    fn half(self) -> Self::Output {
        build_half(self.matrix, self.options)
    }
}

/// Operands of [`build_mixed`].
struct Mixed<'a, S: Storage, O: Offset>(Build<'a, S, O>);

impl<S: Storage, O: Offset> ForKind<S> for Mixed<'_, S, O> {
    type Output = Result<Choice<S, O, Compute<S>>, OpError>;

    fn value(self) -> Self::Output
    where
        S: Value,
    {
        self.0.value()
    }

    fn half(self) -> Self::Output {
        build_half(self.0.matrix, self.0.options)
    }
}

/// The schedule for a matrix of 16-bit values, for which there is one method.
fn build_half<S: Storage, O: Offset, T: Storage<Computed = Compute<S>>>(
    matrix: &DeviceCsr<S, O>,
    SpmvOptions { method, .. }: SpmvOptions,
) -> Result<Choice<S, O, T>, OpError> {
    let reason = match method {
        SpmvMethod::OneColumn { .. } => "asked for",
        SpmvMethod::Auto => "the method for 16-bit values",
        _ => {
            let usable = SpmvMethod::OneColumn { multiprocessors: None }.name();
            return Err(OpError::MethodOfType { method: method.name(), value: S::NAME, usable });
        }
    };
    Ok(Choice::new(method, reason.into(), methods::one_column(matrix, method)?))
}
