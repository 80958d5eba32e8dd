//! Complex matrices of each kind, and dense ones.

use evenpath::{Complex, Csr, RealStorage, Scalar};

use super::dense::rows_of;

pub(crate) type C64 = Complex<f64>;

pub(crate) const I: C64 = C64::new(0.0, 1.0);

/// The number in double precision.
pub(crate) fn exact<V: Scalar>(value: V) -> C64 {
    let (re, im) = value.parts();
    C64::new(re.to_f64(), im.to_f64())
}

fn rounded<V: Scalar>(number: C64) -> V {
    V::from_parts(V::Real::from_f64(number.re), V::Real::from_f64(number.im))
}

/// A matrix of a function of its elements; zeros are not stored.
pub(crate) fn matrix<V: Scalar>(
    (rows, cols): (usize, usize),
    element: impl Fn(usize, usize) -> C64,
) -> Csr<V> {
    let places = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
    let entries = places.map(|(row, col)| (row, col, element(row, col)));
    let entries = entries.filter(|(_, _, value)| *value != C64::ZERO);
    Csr::from_triplets(rows, cols, entries.map(|(row, col, value)| (row, col, rounded(value)))).unwrap()
}

/// A band with entries above the diagonal at distances 1 and 7, and these conjugated and times `below` below it.
fn banded<V: Scalar>(n: usize, diagonal: impl Fn(usize) -> C64, below: C64) -> Csr<V> {
    matrix((n, n), |row, col| {
        let entry = match row.abs_diff(col) {
            0 => return diagonal(row),
            1 => C64::new(-1.0, 0.5),
            7 => C64::new(0.3, -0.8),
            _ => C64::ZERO,
        };
        if row < col { entry } else { entry.conj() * below }
    })
}

/// Hermitian positive definite.
pub(crate) fn definite<V: Scalar>(n: usize) -> Csr<V> {
    banded(n, |row| C64::new(4.0 + (row % 3) as f64, 0.0), C64::new(1.0, 0.0))
}

/// Hermitian and indefinite: every other element of the diagonal is negative.
pub(crate) fn indefinite<V: Scalar>(n: usize) -> Csr<V> {
    banded(n, |row| C64::new(if row % 2 == 0 { 4.0 } else { -5.0 }, 0.0), C64::new(1.0, 0.0))
}

/// Neither Hermitian nor symmetric.
pub(crate) fn general<V: Scalar>(n: usize) -> Csr<V> {
    banded(n, |row| C64::new(3.0 + (row % 3) as f64, 2.0 - (row % 2) as f64), C64::new(0.5, 0.25))
}

/// Waves on a square grid of `side` by `side`, with absorption: a shifted Laplacian, symmetric but not Hermitian.
pub(crate) fn helmholtz<V: Scalar>(side: usize) -> Csr<V> {
    matrix((side * side, side * side), |row, col| {
        let distance = (row / side).abs_diff(col / side) + (row % side).abs_diff(col % side);
        match distance {
            0 => C64::new(4.0 - 0.8, 0.6),
            1 => C64::new(-1.0, 0.0),
            _ => C64::ZERO,
        }
    })
}

/// The phase of unknown `at` of [`singular`].
pub(crate) fn phase(at: usize) -> C64 {
    let angle = 0.7 * at as f64;
    C64::new(angle.cos(), angle.sin())
}

/// Hermitian and singular: differences along a line, between unknowns with phases. The phases are its null space.
pub(crate) fn singular<V: Scalar>(n: usize) -> Csr<V> {
    matrix((n, n), |row, col| match row.abs_diff(col) {
        0 if n == 1 => C64::ZERO,
        0 => C64::new(if row == 0 || row + 1 == n { 1.0 } else { 2.0 }, 0.0),
        1 => -phase(row) * phase(col).conj(),
        _ => C64::ZERO,
    })
}

/// A vector without symmetry, of numbers with parts between −1 and 1.
pub(crate) fn vector<V: Scalar>(len: usize) -> Vec<V> {
    let part = |at: usize| ((at * 37 + 11) % 101) as f64 / 50.0 - 1.0;
    (0..len).map(|at| rounded(C64::new(part(2 * at), part(2 * at + 1)))).collect()
}

/// The rows of a matrix.
pub(crate) fn dense<V: Scalar>(a: &Csr<V>) -> Vec<Vec<C64>> {
    rows_of(a, exact)
}

/// The product of a dense matrix and a vector.
pub(crate) fn times(a: &[Vec<C64>], x: &[C64]) -> Vec<C64> {
    a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// ‖x‖₂.
pub(crate) fn norm(x: &[C64]) -> f64 {
    x.iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
}

/// Checks that elements are near, relative to the largest.
pub(crate) fn assert_near<V: Scalar>(context: &str, found: &[V], expected: &[C64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{context}");
    let largest = expected.iter().fold(0.0_f64, |largest, element| largest.max(element.norm()));
    for (&found, expected) in found.iter().zip(expected) {
        let found = exact(found);
        // No comparison holds for NaN.
        let is_near = (found - expected).norm() <= tolerance * largest;
        assert!(is_near, "{context}: {found}, expected {expected}");
    }
}
