//! Matrices of each kind that methods are for, and an operator without a matrix.

use evenpath::{Csr, Device, DeviceSlice, Scalar, Value};
use evenpath_solvers::{LinearOperator, Result};

/// A matrix with the given elements; zeros are not stored.
pub(crate) fn dense_matrix<V: Value>(rows: &[&[f64]]) -> Csr<V> {
    let cols = rows.first().map_or(0, |row| row.len());
    let entries = rows.iter().enumerate().flat_map(|(row, elements)| {
        let entry =
            move |(col, &value): (usize, &f64)| (value != 0.0).then_some((row, col, V::from_f64(value)));
        elements.iter().enumerate().filter_map(entry)
    });
    Csr::from_triplets(rows.len(), cols, entries).unwrap()
}

/// Symmetric positive definite: tridiagonal, and entries far from the diagonal.
pub(crate) fn spd<V: Value>(n: usize) -> Csr<V> {
    banded(n, |row| 4.0 + (row % 3) as f64, (-1.0, -1.0))
}

/// Not symmetric: the same with convection.
pub(crate) fn convection<V: Value>(n: usize) -> Csr<V> {
    banded(n, |row| 3.0 + (row % 3) as f64, (-1.6, -0.4))
}

/// Symmetric and indefinite: every other element of the diagonal is negative.
pub(crate) fn indefinite<V: Value>(n: usize) -> Csr<V> {
    banded(n, |row| if row % 2 == 0 { 4.0 } else { -5.0 }, (-1.0, -1.0))
}

fn banded<V: Value>(n: usize, diagonal: impl Fn(usize) -> f64, (below, above): (f64, f64)) -> Csr<V> {
    let mut entries = Vec::new();
    for row in 0..n {
        entries.push((row, row, diagonal(row)));
        for distance in [1, 7] {
            if row + distance < n {
                entries.push((row, row + distance, above));
                entries.push((row + distance, row, below));
            }
        }
    }
    let entries = entries.into_iter().map(|(row, col, value)| (row, col, V::from_f64(value)));
    Csr::from_triplets(n, n, entries).unwrap()
}

/// Symmetric, singular: differences along a line without its ends. Constants are its null space.
pub(crate) fn neumann<V: Value>(n: usize) -> Csr<V> {
    let mut entries = Vec::new();
    for row in 0..n.saturating_sub(1) {
        entries.extend([
            (row, row, 1.0),
            (row + 1, row + 1, 1.0),
            (row, row + 1, -1.0),
            (row + 1, row, -1.0),
        ]);
    }
    let entries = entries.into_iter().map(|(row, col, value)| (row, col, V::from_f64(value)));
    let mut a = Csr::from_triplets(n, n, entries).unwrap();
    a.canonicalize();
    a
}

/// A permutation without symmetry, whose powers reach the solution only in the last step.
pub(crate) fn cycle<V: Value>(n: usize) -> Csr<V> {
    Csr::from_triplets(n, n, (0..n).map(|row| (row, (row + 1) % n, V::ONE))).unwrap()
}

/// A vector of mean 0.
pub(crate) fn zero_mean<V: Value>(n: usize) -> Vec<V> {
    let vector: Vec<f64> = super::vector(n);
    let mean = vector.iter().sum::<f64>() / n as f64;
    vector.into_iter().map(|element| V::from_f64(element - mean)).collect()
}

/// The matrix times a number.
pub(crate) fn scaled<V: Value>(a: &Csr<V>, by: f64) -> Csr<V> {
    a.clone().convert_values(|value| V::from_f64(value.to_f64() * by))
}

/// An operator of a program's own: the matrix with 2 on its diagonal, without a matrix.
pub(crate) struct UserOperator {
    pub(crate) device: Device,
    pub(crate) len: usize,
}

impl<V: Scalar> LinearOperator<V> for UserOperator {
    fn device(&self) -> &Device {
        &self.device
    }

    fn nrows(&self) -> usize {
        self.len
    }

    fn ncols(&self) -> usize {
        self.len
    }

    fn apply(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        Ok(evenpath::vector::axpby(V::ONE + V::ONE, x, V::ZERO, y)?)
    }

    fn apply_transposed(&self, x: &DeviceSlice<V>, y: &mut DeviceSlice<V>) -> Result<()> {
        self.apply(x, y)
    }
}
