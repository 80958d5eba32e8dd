//! A test system, which finds factorizations that solve nothing.

use evenpath::csr::Reduction;
use evenpath::spmv::SpmvPlan;
use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Offset, vector};

use super::columns::Columns;
use super::engine::Engine;
use super::value::DirectValue;
use crate::error::{Error, Result};
use crate::hash::hashed;
use crate::vectors::copied;

/// Largest relative residual, and relative change of the solution by a step of refinement, of a factorization that is accepted: one
/// correct digit.
const LARGEST: f64 = 0.1;

/// Accuracy of a factorization.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Accuracy {
    pub(super) residual: f64,
    pub(super) correction: f64,
}

/// Solves Ax = b for elements of b that are random numbers times the largest element of the row, so that equations in different units
/// count the same. A singular A needs an x so large that a step of refinement (Higham, Accuracy and Stability of Numerical Algorithms,
/// chapter 12) changes its leading digits.
pub(super) fn check<V: DirectValue, O: Offset>(
    engine: &Engine<V>,
    a: &DeviceCsr<V, O>,
    plan: &SpmvPlan<V, O>,
) -> Result<Accuracy> {
    let (device, rows) = (a.device(), a.nrows());
    let random = device.upload(&random::<V>(rows))?;
    let scales = a.reduce_rows(Reduction::AbsMax)?;
    let (mut b, mut x) = (device.zeros::<V>(rows)?, device.zeros::<V>(rows)?);
    vector::multiply_elements(&random, &scales, &mut b)?;
    solve(engine, &b, &mut x)?;
    let norm = vector::norm2(&x)?.to_f64();

    let mut residual = residual(plan, &b, &x)?;
    let mut correction = device.zeros::<V>(rows)?;
    solve(engine, &residual, &mut correction)?;
    vector::axpby(V::ONE, &correction, V::ONE, &mut x)?;
    let correction = vector::norm2(&correction)?.to_f64() / norm;

    residual.copy_from(&b)?;
    plan.run(-V::ONE, &x, V::ONE, &mut residual)?;
    vector::divide_elements_in_place(&scales, &mut residual)?;
    let residual = vector::norm2(&residual)?.to_f64() / vector::norm2(&random)?.to_f64();
    // Not a number is refused too.
    if residual <= LARGEST && correction <= LARGEST {
        Ok(Accuracy { residual, correction })
    } else {
        Err(Error::Singular { residual, correction })
    }
}

/// b − Ax.
pub(super) fn residual<V: DirectValue, O: Offset>(
    plan: &SpmvPlan<V, O>,
    b: &DeviceSlice<V>,
    x: &DeviceSlice<V>,
) -> Result<DeviceVec<V>> {
    let mut residual = copied(b)?;
    plan.run(-V::ONE, x, V::ONE, &mut residual)?;
    Ok(residual)
}

fn solve<V: DirectValue>(engine: &Engine<V>, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()> {
    let columns = Columns::one(b.len());
    engine.solve((b, columns), (x, columns))
}

/// Numbers between ½ and 1 with random signs, the same in every run.
fn random<V: DirectValue>(len: usize) -> Vec<V> {
    let away_from_zero = |number: f64| V::from_f64((0.5 + 0.5 * number.abs()).copysign(number));
    hashed::<f64>(0, len).into_iter().map(away_from_zero).collect()
}
