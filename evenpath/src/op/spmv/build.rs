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
use crate::device::{Device, DeviceKind};
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// The schedule of the method that is asked for, or of the best one.
pub(super) fn build<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
) -> Result<Choice<V, O>, OpError> {
    let copies = if options.may_copy { Copies::Values } else { Copies::Nothing };
    build_with(matrix, options, copies)
}

/// Builds like [`build`], with the copies that an automatic choice may keep.
pub(super) fn build_with<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    options: SpmvOptions,
    copies: Copies,
) -> Result<Choice<V, O>, OpError> {
    let (method, kind) = (options.method, matrix.device().kind());
    check_device(matrix.device(), method)?;
    if let Some(strategy) = methods::find(method) {
        let schedule = strategy.build(matrix, Request { method, copies })?;
        return Ok(Choice::new(method, "asked for".into(), schedule));
    }
    if method != SpmvMethod::Auto {
        return Err(not_of_type::<V, O>(method, kind));
    }
    if kind == DeviceKind::Cpu {
        return Ok(methods::automatic_on_cpu(matrix, copies));
    }
    automatic(matrix, copies)
}

/// Checks that a device has a method.
pub(super) fn check_device(device: &Device, method: SpmvMethod) -> Result<(), OpError> {
    let kind = device.kind();
    if method.runs_on(kind) {
        return Ok(());
    }
    let usable = SpmvMethod::names(|method| method.runs_on(kind));
    Err(OpError::UnsupportedMethod { method: method.name(), device: device.to_string(), usable })
}

/// The error that values of a type do not have a method that devices of a kind have.
fn not_of_type<V: Scalar, O: Offset>(method: SpmvMethod, kind: DeviceKind) -> OpError {
    let has = |method: SpmvMethod| method.runs_on(kind) && methods::find::<V, O>(method).is_some();
    let usable = format!("{} do", SpmvMethod::names(has));
    OpError::MethodOfVectors { method: method.name(), values: V::NAME, vectors: V::NAME, usable }
}

/// Measures the matrix, and builds the best method that it can be built for.
fn automatic<V: Scalar, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    copies: Copies,
) -> Result<Choice<V, O>, OpError> {
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
