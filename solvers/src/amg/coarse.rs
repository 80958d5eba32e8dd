//! Solution on the coarsest level.

use evenpath::spmv::{SpmvOptions, SpmvPlan};
use evenpath::{Csr, DeviceCsr, DeviceSlice, Value};

use crate::error::{Error, Result};
use crate::scalars::epsilon;

/// Solution on the coarsest level, or on that from which another hierarchy continues.
pub(super) trait Solve<V: Value>: Send + Sync {
    /// x ≈ A⁻¹b, from zero.
    fn solve(&self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()>;
}

impl<V: Value> Solve<V> for Coarse<V> {
    fn solve(&self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<()> {
        Ok(self.plan.run(V::ONE, b, V::ZERO, x)?)
    }
}

/// The dense inverse of a coarsest matrix, computed on the host, and applied on the device as a product. For a singular matrix, it
/// inverts the largest part that is regular.
pub(super) struct Coarse<V: Value> {
    inverse: DeviceCsr<V>,
    plan: SpmvPlan<V>,
}

impl<V: Value> Coarse<V> {
    /// `inverse_diagonal` has zeros for the rows of A that are nothing but rounding.
    pub(super) fn new(a: &DeviceCsr<V>, inverse_diagonal: &DeviceSlice<V>) -> Result<Self> {
        let (rows, device) = (a.nrows(), a.device());
        let offsets: Vec<u32> = (0..=rows).map(|row| (row * rows) as u32).collect();
        let columns = (0..rows).flat_map(|_| 0..rows as u32).collect();
        let inverse = Csr::try_new(rows, rows, offsets, columns, inverse_values(a, inverse_diagonal)?)
            .map_err(evenpath::error::MatrixError::from)?;
        let inverse = device.upload(&inverse)?;
        Ok(Self { plan: inverse.plan_spmv(SpmvOptions::default())?, inverse })
    }

    pub(super) fn inverse(&self) -> &DeviceCsr<V> {
        &self.inverse
    }

    /// Inverts the values that the matrix has now.
    pub(super) fn update(&self, a: &DeviceCsr<V>, inverse_diagonal: &DeviceSlice<V>) -> Result<()> {
        Ok(self.inverse.set_values(&inverse_values(a, inverse_diagonal)?)?)
    }
}

/// The values of the inverse, row by row.
fn inverse_values<V: Value>(a: &DeviceCsr<V>, inverse_diagonal: &DeviceSlice<V>) -> Result<Vec<V>> {
    let rows = a.nrows();
    let mut dense = vec![0.0; rows * rows];
    for (row, column, value) in a.download()?.iter() {
        // The mean of both triangles, which differ by rounding.
        let half = 0.5 * value.to_f64();
        dense[row * rows + column] += half;
        dense[column * rows + row] += half;
    }
    if dense.iter().any(|value| !value.is_finite()) {
        return Err(Error::NotFinite { operand: "the coarsest matrix" });
    }
    let is_used: Vec<bool> = inverse_diagonal.download()?.iter().map(|&entry| entry != V::ZERO).collect();
    invert(&mut dense, &is_used, epsilon::<V>());
    Ok(dense.into_iter().map(V::from_f64).collect())
}

/// Inverts a symmetric positive semidefinite matrix in place, by Gauss-Jordan steps with the largest pivot of the diagonal. Rows and
/// columns whose pivots are nothing but rounding, or that are not used, are set to zero.
fn invert(a: &mut [f64], is_used: &[bool], epsilon: f64) {
    let n = is_used.len();
    let scales: Vec<f64> = (0..n).map(|row| if is_used[row] { a[row * n + row] } else { 0.0 }).collect();
    let mut is_left = vec![true; n];
    loop {
        // The largest of the pivots, relative to what it was at first.
        let relative =
            |row: usize, a: &[f64]| if scales[row] > 0.0 { a[row * n + row] / scales[row] } else { 0.0 };
        let pivot = (0..n)
            .filter(|&row| is_left[row])
            .max_by(|&one, &two| relative(one, a).total_cmp(&relative(two, a)));
        let Some(pivot) = pivot.filter(|&row| relative(row, a) > 8.0 * epsilon * n as f64) else { break };
        is_left[pivot] = false;
        sweep(a, n, pivot);
    }
    for row in 0..n {
        for column in 0..n {
            let is_inverted = !is_left[row] && !is_left[column];
            a[row * n + column] = if is_inverted { -a[row * n + column] } else { 0.0 };
        }
    }
}

/// The sweep operator (Goodnight, The American Statistician 33, 1979): after sweeps of a set of rows, the entries of these rows and
/// columns are those of the negative inverse.
fn sweep(a: &mut [f64], n: usize, pivot: usize) {
    let inverse = 1.0 / a[pivot * n + pivot];
    let line: Vec<f64> = a[pivot * n..(pivot + 1) * n].to_vec();
    for row in (0..n).filter(|&row| row != pivot) {
        let factor = line[row] * inverse;
        for (entry, &of_line) in a[row * n..(row + 1) * n].iter_mut().zip(&line) {
            *entry -= factor * of_line;
        }
        a[row * n + pivot] = factor;
        a[pivot * n + row] = factor;
    }
    a[pivot * n + pivot] = -inverse;
}

#[cfg(test)]
mod tests {
    use super::invert;

    fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
        let entry = |at: usize| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum();
        (0..n * n).map(entry).collect()
    }

    #[test]
    fn regular_matrices_are_inverted() {
        let a = [4.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 2.0];
        let mut inverse = a;
        invert(&mut inverse, &[true; 3], f64::EPSILON);
        for (at, value) in product(&a, &inverse, 3).into_iter().enumerate() {
            assert!((value - f64::from(u8::from(at % 4 == 0))).abs() < 1e-14);
        }
    }

    #[test]
    fn of_singular_matrices_the_regular_part_is_inverted() {
        // A triangle and a path without a boundary, the second scaled, and a zero row.
        let n = 6;
        for weight in (1..20).map(|at| f64::from(at) / 7.0) {
            let mut a = vec![0.0; n * n];
            for (u, v, weight) in [(0, 1, 0.1), (1, 2, weight), (0, 2, 0.7), (3, 4, 1e-6)] {
                for (row, column, sign) in [(u, u, 1.0), (v, v, 1.0), (u, v, -1.0), (v, u, -1.0)] {
                    a[row * n + column] += sign * weight;
                }
            }
            let mut inverse = a.clone();
            invert(&mut inverse, &[true; 6], f64::EPSILON);
            let again = product(&product(&a, &inverse, n), &a, n);
            for (found, expected) in again.iter().zip(&a) {
                assert!((found - expected).abs() < 1e-13 * expected.abs().max(1e-6), "{weight}");
            }
        }
    }
}
