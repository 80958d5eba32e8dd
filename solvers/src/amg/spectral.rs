//! Estimates of spectral radii.

use evenpath::{DeviceSlice, DeviceVec, Factor, Value, vector};

use super::matrix::{LevelMatrix, Product};
use crate::error::{Error, Result};
use crate::scalars::epsilon;
use crate::vectors::copied;

/// Number of Lanczos steps.
const STEPS: usize = 15;

/// Estimates the largest eigenvalue of a symmetric matrix by Lanczos steps from `start`, which has at least one element per row.
/// The estimate is a little low, and the same on all ranks. Waits for the device once, at the end; over ranks in every step.
///
/// # Errors
///
/// If the matrix has values that are not finite.
pub(super) fn largest_eigenvalue<V: Value, M: LevelMatrix<V>>(a: &M, start: &DeviceSlice<V>) -> Result<f64> {
    let (device, rows) = (a.local().device(), a.local().nrows());
    let steps = STEPS.min(a.nrows());
    let product = a.spmv()?;
    let mut numbers: DeviceVec<V> = device.zeros(2 * steps)?;
    let (mut alphas, mut betas) = numbers.split_at_mut(steps)?;
    let one = device.upload(&[V::ONE])?;
    let mut scale = device.zeros(1)?;
    let mut w = copied(&start.slice(..rows)?)?;
    let (mut v, mut before): (DeviceVec<V>, DeviceVec<V>) = (device.zeros(rows)?, device.zeros(rows)?);
    for step in 0..steps {
        // w is the next vector, not yet of norm 1.
        let mut beta = betas.slice_mut(step..=step)?;
        vector::norm2_into(&w, &mut beta)?;
        a.norm_over_ranks(&mut beta)?;
        vector::divide_elements(&one, &beta, &mut scale)?;
        std::mem::swap(&mut v, &mut before);
        vector::axpby(&scale, &w, V::ZERO, &mut v)?;
        product.run(V::ONE, &v, V::ZERO, &mut w)?;
        let mut alpha = alphas.slice_mut(step..=step)?;
        vector::dot_into(&v, &w, &mut alpha)?;
        a.add_over_ranks(&mut alpha)?;
        vector::axpby(-Factor::from(&alpha), &v, V::ONE, &mut w)?;
        if step > 0 {
            vector::axpby(-Factor::from(&beta), &before, V::ONE, &mut w)?;
        }
    }
    let numbers: Vec<f64> = numbers.download()?.into_iter().map(V::to_f64).collect();
    let (alphas, betas) = numbers.split_at(steps);
    largest_of_tridiagonal(alphas, betas, epsilon::<V>())
}

/// The largest eigenvalue of the tridiagonal matrix with the diagonal `alphas`, and `betas` beside it from the second on.
fn largest_of_tridiagonal(alphas: &[f64], betas: &[f64], epsilon: f64) -> Result<f64> {
    let Some(first) = alphas.first() else { return Ok(0.0) };
    if !first.is_finite() {
        return Err(Error::NotFinite { operand: "the matrix" });
    }
    // Where the next vector is nothing but rounding, the steps have found an invariant subspace.
    let mut largest = first.abs();
    let mut steps = 1;
    while steps < alphas.len() && betas[steps] > 100.0 * epsilon * largest && alphas[steps].is_finite() {
        largest = largest.max(alphas[steps].abs());
        steps += 1;
    }
    let (alphas, betas) = (&alphas[..steps], &betas[..steps]);
    let beside = |row: usize| if row > 0 { betas[row] } else { 0.0 };
    let radius = |row: usize| beside(row) + if row + 1 < steps { betas[row + 1] } else { 0.0 };
    let ends = |sign: f64| (0..steps).map(move |row| alphas[row] + sign * radius(row));
    let (mut low, mut high) =
        (ends(-1.0).fold(f64::INFINITY, f64::min), ends(1.0).fold(f64::NEG_INFINITY, f64::max));
    // Bisection: the pivots of T − λI are all negative if every eigenvalue is less than λ.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let mut pivot = 1.0;
        let is_above = (0..steps).all(|row| {
            pivot = alphas[row] - middle - beside(row) * beside(row) / pivot;
            pivot < 0.0
        });
        if is_above { high = middle } else { low = middle }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::largest_of_tridiagonal;

    #[test]
    fn largest_eigenvalues_of_small_matrices() {
        let largest =
            |alphas: &[f64], betas: &[f64]| largest_of_tridiagonal(alphas, betas, f64::EPSILON).unwrap();
        assert!(largest(&[], &[]).abs() < 1e-300);
        assert!((largest(&[3.0], &[9.0]) - 3.0).abs() < 1e-12);
        assert!((largest(&[2.0, 2.0], &[9.0, 1.0]) - 3.0).abs() < 1e-12);
        // 2 − 2 cos(3π/4), of the second difference on three points
        assert!((largest(&[2.0; 3], &[0.0, 1.0, 1.0]) - (2.0 + 2.0_f64.sqrt())).abs() < 1e-12);
        assert!((largest(&[1.0, 5.0], &[0.0, 1e-17]) - 1.0).abs() < 1e-12);
        assert!(largest_of_tridiagonal(&[f64::NAN], &[1.0], f64::EPSILON).is_err());
    }
}
