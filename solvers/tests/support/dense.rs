//! A dense reference: Gaussian elimination in f64, of real or complex numbers.

use evenpath::{Csr, RealStorage, Scalar, Value};

/// The rows of a matrix, in f64.
pub(crate) fn dense<V: Value>(a: &Csr<V>) -> Vec<Vec<f64>> {
    rows_of(a, V::to_f64)
}

/// The rows of a matrix, of what `exact` returns for its values.
pub(super) fn rows_of<V: Scalar, T: Scalar>(a: &Csr<V>, exact: impl Fn(V) -> T) -> Vec<Vec<T>> {
    let mut rows = vec![vec![T::ZERO; a.ncols()]; a.nrows()];
    for (row, col, value) in a.iter() {
        rows[row][col] += exact(value);
    }
    rows
}

/// The absolute value.
fn size<T: Scalar>(number: T) -> f64 {
    let (re, im) = number.parts();
    re.to_f64().hypot(im.to_f64())
}

/// Solves Ax = b for a regular A, with row pivoting.
pub(crate) fn solve_dense<T: Scalar>(mut a: Vec<Vec<T>>, b: &[T]) -> Vec<T> {
    let n = b.len();
    for (row, &b) in a.iter_mut().zip(b) {
        row.push(b);
    }
    for at in 0..n {
        let pivot = (at..n).max_by(|&i, &j| size(a[i][at]).total_cmp(&size(a[j][at]))).unwrap();
        a.swap(at, pivot);
        let (above, below) = a.split_at_mut(at + 1);
        let pivot_row = &above[at];
        for row in below {
            let factor = row[at] / pivot_row[at];
            for (element, &pivot) in row.iter_mut().zip(pivot_row).skip(at) {
                *element = *element - factor * pivot;
            }
        }
    }
    let mut x = vec![T::ZERO; n];
    for at in (0..n).rev() {
        let sum: T = (at + 1..n).map(|col| a[at][col] * x[col]).sum();
        x[at] = (a[at][n] - sum) / a[at][at];
    }
    x
}
