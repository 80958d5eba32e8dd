//! Matrices, and a check of solutions that uses nothing of the library but the matrix.

pub(crate) mod problems;

use evenpath::{Csr, Value};

/// Five-point stencil on a square grid of `side` by `side`.
pub(crate) fn grid<V: Value>(side: usize) -> Csr<V> {
    let mut entries = Vec::new();
    for (row, (i, j)) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))).enumerate() {
        entries.push((row, row, V::from_f64(4.0)));
        for (is_inside, neighbor) in [
            (i > 0, row.wrapping_sub(side)),
            (j > 0, row.wrapping_sub(1)),
            (j + 1 < side, row + 1),
            (i + 1 < side, row + side),
        ] {
            if is_inside {
                entries.push((row, neighbor, V::from_f64(-1.0)));
            }
        }
    }
    Csr::from_triplets(side * side, side * side, entries).unwrap()
}

/// A vector without symmetry, of numbers between −1 and 1.
pub(crate) fn vector<V: Value>(len: usize) -> Vec<V> {
    (0..len).map(|at| V::from_f64(((at * 37 + 11) % 101) as f64 / 50.0 - 1.0)).collect()
}

/// ‖b − Ax‖₂ / ‖b‖₂, computed in f64.
pub(crate) fn relative_residual<V: Value>(a: &Csr<V>, x: &[V], b: &[V]) -> f64 {
    let (mut residual, mut norm) = (0.0, 0.0);
    for (row, &b) in a.iter_rows().zip(b) {
        let ax: f64 = row.iter().map(|(col, value)| value.to_f64() * x[col as usize].to_f64()).sum();
        residual += (b.to_f64() - ax).powi(2);
        norm += b.to_f64().powi(2);
    }
    (residual / norm).sqrt()
}

/// Checks that x solves Ax = b to a relative residual of `tolerance`.
pub(crate) fn check_solution<V: Value>(a: &Csr<V>, x: &[V], b: &[V], tolerance: f64) {
    let residual = relative_residual(a, x, b);
    assert!(residual <= tolerance, "residual {residual:.2e}, limit {tolerance:.2e}");
}
