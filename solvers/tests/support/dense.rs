//! A dense reference: Gaussian elimination in f64.

use evenpath::{Csr, Value};

/// The rows of a matrix, in f64.
pub(crate) fn dense<V: Value>(a: &Csr<V>) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![0.0; a.ncols()]; a.nrows()];
    for (row, col, value) in a.iter() {
        rows[row][col] += value.to_f64();
    }
    rows
}

/// Solves Ax = b for a regular A, with row pivoting.
pub(crate) fn solve_dense(mut a: Vec<Vec<f64>>, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    for (row, &b) in a.iter_mut().zip(b) {
        row.push(b);
    }
    for at in 0..n {
        let pivot = (at..n).max_by(|&i, &j| a[i][at].abs().total_cmp(&a[j][at].abs())).unwrap();
        a.swap(at, pivot);
        let (above, below) = a.split_at_mut(at + 1);
        let pivot_row = &above[at];
        for row in below {
            let factor = row[at] / pivot_row[at];
            for (element, pivot) in row.iter_mut().zip(pivot_row).skip(at) {
                *element -= factor * pivot;
            }
        }
    }
    let mut x = vec![0.0; n];
    for at in (0..n).rev() {
        let sum: f64 = (at + 1..n).map(|col| a[at][col] * x[col]).sum();
        x[at] = (a[at][n] - sum) / a[at][at];
    }
    x
}
