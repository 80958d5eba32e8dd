//! From a method, asked for or chosen, to what a plan runs.

use super::choose::{Candidate, candidates};
use super::features::{Copies, Features};
use super::gathers::Gathers;
use super::lengths::Lengths;
use super::method::SpmvMethod;
use super::methods;
use super::options::SpmvOptions;
use super::schedule::{Boxed, Choice};
use super::strategy::Request;
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::scalar::ForKind;
use crate::{Compute, Offset, Storage, Value};

/// The schedule of the method that is asked for, or of the best one.
pub(super) fn build<S: Storage, O: Offset>(
    matrix: &DeviceCsr<S, O>,
    options: SpmvOptions,
) -> Result<Choice<S, O>, OpError> {
    S::by_kind(Build { matrix, options })
}

/// The schedule for vectors of the type of arithmetic: of the method that is asked for, or the best one.
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
        let copies = if self.options.may_copy { Copies::Values } else { Copies::Nothing };
        build_with(self.matrix, self.options, copies)
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
    let only = SpmvMethod::OneColumn { multiprocessors: None };
    let reason = match method {
        SpmvMethod::OneColumn { .. } => "asked for",
        SpmvMethod::Auto => "the method for 16-bit values",
        _ => {
            return Err(OpError::MethodOfType { method: method.name(), value: S::NAME, usable: only.name() });
        }
    };
    let schedule = methods::one_column(matrix, method)?;
    Ok(Choice::new(if method == SpmvMethod::Auto { only } else { method }, reason.into(), schedule))
}

/// Builds with the copies that an automatic choice may keep.
pub(super) fn build_with<V: Value, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
    copies: Copies,
) -> Result<Choice<V, O>, OpError> {
    let (method, kind) = (options.method, matrix.device().kind());
    if !method.runs_on(kind) {
        let usable = SpmvMethod::names(|method| method.runs_on(kind));
        let device = matrix.device().to_string();
        return Err(OpError::UnsupportedMethod { method: method.name(), device, usable });
    }
    if let Some(strategy) = methods::find(method) {
        let schedule = strategy.build(matrix, Request { method, copies })?;
        return Ok(Choice::new(method, "asked for".into(), schedule));
    }
    if kind == DeviceKind::Cpu {
        return Ok(methods::automatic_on_cpu(matrix, copies));
    }
    automatic(matrix, copies)
}

/// Measures the matrix, and builds the best method that it can be built for.
fn automatic<V: Value, O: Offset>(matrix: &DeviceCsr<V, O>, copies: Copies) -> Result<Choice<V, O>, OpError> {
    let mut features = Features::new(matrix, Lengths::count(matrix)?, Gathers::of(matrix)?, copies);
    let mut prepared: Vec<(SpmvMethod, Boxed<V, O>)> = Vec::new();
    for strategy in methods::all() {
        if let Some(schedule) = strategy.examine(matrix, &mut features)? {
            prepared.push((strategy.method(), schedule));
        }
    }
    let candidates = candidates(&features, &methods::all::<V, O>());
    // Free the prepared methods that are not chosen before more are built.
    prepared.retain(|(method, _)| candidates.iter().any(|one| one.method == *method));
    for Candidate { method, reason } in candidates {
        let is_prepared = prepared.iter().position(|(one, _)| *one == method);
        let schedule = match (is_prepared, methods::find(method)) {
            (Some(index), _) => Some(prepared.swap_remove(index).1),
            (None, Some(strategy)) => strategy.build_chosen(matrix, &features)?,
            (None, None) => None,
        };
        if let Some(schedule) = schedule {
            return Ok(Choice::new(method, reason.explain(&features), schedule));
        }
    }
    unreachable!("the last candidate can always be built")
}
