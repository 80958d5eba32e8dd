//! From the types of a matrix and its vectors to what a plan runs.

use evenpath_simt::WidenTo;

use super::build;
use super::method::SpmvMethod;
use super::methods;
use super::options::SpmvOptions;
use super::schedule::Choice;
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::scalar::{ForKind, ForVectors};
use crate::{Compute, Multiplies, Offset, Scalar, Storage, Value};

/// The schedule for vectors of `T`: of the method that is asked for, or of the best one.
pub(super) fn build<S: Multiplies<T>, O: Offset, T: Storage>(
    matrix: &DeviceCsr<S, O>,
    options: SpmvOptions,
) -> Result<Choice<S, O, T>, OpError> {
    S::by_vectors(Build { matrix, options })
}

/// Operands of [`build`].
struct Build<'a, S: Storage, O: Offset> {
    matrix: &'a DeviceCsr<S, O>,
    options: SpmvOptions,
}

impl<S: Storage, O: Offset> ForVectors<S> for Build<'_, S, O> {
    type Output<T: Storage> = Result<Choice<S, O, T>, OpError>;

    fn same(self) -> Self::Output<S> {
        S::by_kind(self)
    }

    fn half(self) -> Self::Output<f32>
    where
        S: Storage<Computed = f32>,
    {
        build_half(self.matrix, self.options)
    }

    fn double(self) -> Self::Output<f64>
    where
        S: WidenTo<f64>,
    {
        build_wide(self.matrix, self.options)
    }
}

impl<S: Storage, O: Offset> ForKind<S> for Build<'_, S, O> {
    type Output = Result<Choice<S, O>, OpError>;

    fn value(self) -> Result<Choice<S, O>, OpError>
    where
        S: Value,
    {
        build::build(self.matrix, self.options)
    }

    fn complex(self) -> Result<Choice<S, O>, OpError>
    where
        S: Scalar,
    {
        build::build(self.matrix, self.options)
    }

    fn half(self) -> Result<Choice<S, O>, OpError> {
        build_half(self.matrix, self.options)
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

/// The schedule for vectors of a wider type than the values, which have merge path alone, and on the CPU whole rows too.
fn build_wide<S: Storage + WidenTo<V>, O: Offset, V: Scalar>(
    matrix: &DeviceCsr<S, O>,
    SpmvOptions { method, .. }: SpmvOptions,
) -> Result<Choice<S, O, V>, OpError> {
    build::check_device(matrix.device(), method)?;
    if !matches!(method, SpmvMethod::Auto | SpmvMethod::MergePath | SpmvMethod::RowParallel) {
        let usable = if matrix.device().kind() == DeviceKind::Cpu {
            "`merge-path` and `row-parallel` do"
        } else {
            "`merge-path` does"
        };
        return Err(OpError::MethodOfVectors {
            method: method.name(),
            values: S::NAME,
            vectors: V::NAME,
            usable: usable.into(),
        });
    }
    if matrix.device().kind() == DeviceKind::Cpu {
        return Ok(methods::wide_on_cpu(matrix, method));
    }
    let reason = match method {
        SpmvMethod::Auto => "the method for vectors of a wider type than the values",
        _ => "asked for",
    };
    Ok(Choice::new(SpmvMethod::MergePath, reason.into(), methods::wide_merge_path(matrix)?))
}
