//! y = Ax: the work, the product in f64, and error bounds of results.

use evenpath::{Csr, Offset, Value};
use rayon::prelude::*;

use crate::measure::Work;

/// Two operations per nonzero; the bytes of the matrix, x and y. The effective bytes are counted as by merge-spmv: a
/// value, a column index and an element of x per nonzero, an offset and an element of y per row.
pub fn work<V: Value, O: Offset>(matrix: &Csr<V, O>) -> Work {
    let (rows, cols, nnz) = (matrix.rows() as u64, matrix.cols() as u64, matrix.nnz() as u64);
    let (value, offset, column) = (size_of::<V>() as u64, size_of::<O>() as u64, size_of::<u32>() as u64);
    Work {
        operations: 2 * nnz,
        bytes: nnz * (value + column) + (rows + 1) * offset + (rows + cols) * value,
        effective_bytes: nnz * (2 * value + column) + rows * (offset + value),
        counted_by: "merge-spmv",
    }
}

/// Checks that `y` is Ax, with a [`Reference`] for this check only.
///
/// # Errors
///
/// As for [`Reference::check`], or if x does not have one element per column.
pub fn check<V: Value, O: Offset>(matrix: &Csr<V, O>, x: &[V], y: &[V]) -> Result<(), String> {
    Reference::new(matrix, x)?.check(y)
}

/// The product in f64, computed once to check many results.
pub struct Reference {
    rows: Vec<Row>,
}

/// The product of one row and x.
#[derive(Clone, Copy, Default)]
struct Row {
    /// Σax.
    sum: f64,
    /// Σ|a||x|.
    magnitude: f64,
    nonzeros: u64,
}

impl Reference {
    /// Computes the product, row by row.
    ///
    /// # Errors
    ///
    /// If x does not have one element per column.
    pub fn new<V: Value, O: Offset>(matrix: &Csr<V, O>, x: &[V]) -> Result<Self, String> {
        if x.len() != matrix.cols() {
            return Err(format!("{} elements of x, not {}", x.len(), matrix.cols()));
        }
        let (offsets, columns, values) = (matrix.row_offsets(), matrix.column_indices(), matrix.values());
        let multiply = |pair: &[O]| {
            let range = pair[0].to_usize()..pair[1].to_usize();
            let mut row = Row { nonzeros: range.len() as u64, ..Row::default() };
            for (&column, value) in columns[range.clone()].iter().zip(&values[range]) {
                let product = value.to_f64() * x[column as usize].to_f64();
                row.sum += product;
                row.magnitude += product.abs();
            }
            row
        };
        Ok(Self { rows: offsets.par_windows(2).map(multiply).collect() })
    }

    /// Checks that `y` is the product. In a row of n nonzeros, the error bound is (n + 1)·ε·Σ|a||x|, for rounding in
    /// any order in both results, plus n times the loss by underflow of a product. If Σ|a||x| overflows the type,
    /// the element may too.
    ///
    /// # Errors
    ///
    /// Names the first element beyond the bound, or the length if it is wrong.
    pub fn check<V: Value>(&self, y: &[V]) -> Result<(), String> {
        if y.len() != self.rows.len() {
            return Err(format!("{} elements of y, not {}", y.len(), self.rows.len()));
        }
        let wrong = self.rows.iter().zip(y).position(|(row, y)| !row.agrees(*y));
        wrong.map_or(Ok(()), |row| {
            let (expected, bound) = (self.rows[row].sum, self.rows[row].bound::<V>());
            Err(format!("y[{row}] is {}, not {expected} within {bound:.1e}", y[row]))
        })
    }

    /// The largest |y - Ax|; infinite if an element is infinite or NaN where the product is not, or y has another length.
    pub fn largest_difference<V: Value>(&self, y: &[V]) -> f64 {
        if y.len() != self.rows.len() {
            return f64::INFINITY;
        }
        let differences = self.rows.iter().zip(y).map(|(row, y)| {
            let difference = (y.to_f64() - row.sum).abs();
            if difference.is_nan() && row.sum.is_finite() { f64::INFINITY } else { difference }
        });
        differences.fold(0.0, f64::max)
    }
}

/// ε, the smallest normal number, the largest number.
fn limits<V: Value>() -> (f64, f64, f64) {
    match size_of::<V>() {
        4 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
        _ => (f64::EPSILON, f64::MIN_POSITIVE, f64::MAX),
    }
}

impl Row {
    fn bound<V: Value>(&self) -> f64 {
        let (epsilon, min_positive, _) = limits::<V>();
        (self.nonzeros + 1) as f64 * epsilon * self.magnitude + self.nonzeros as f64 * epsilon * min_positive
    }

    /// An element is infinite or NaN only if the sum is, or if the sum overflows the type.
    fn agrees<V: Value>(&self, actual: V) -> bool {
        let (_, _, max) = limits::<V>();
        let actual = actual.to_f64();
        if self.sum.is_finite() {
            let overflow = !actual.is_finite() && self.magnitude > max;
            overflow || (actual - self.sum).abs() <= self.bound::<V>()
        } else {
            actual.to_bits() == self.sum.to_bits() || (actual.is_nan() && self.sum.is_nan())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Csr<f64> {
        Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap()
    }

    #[test]
    fn check_tells_rounding_from_error() {
        let (a, x) = (matrix(), [1.0, 0.25]);
        assert_eq!(check(&a, &x, &[2.25, 0.0, -1.0]), Ok(()));
        assert_eq!(check(&a, &x, &[2.25 * (1.0 + f64::EPSILON), 0.0, -1.0]), Ok(()));
        for wrong in [
            [2.25 + 1e-14, 0.0, -1.0],
            [2.25, 1e-300, -1.0],
            [2.25, 0.0, f64::NAN],
            [f64::INFINITY, 0.0, -1.0],
        ] {
            assert!(check(&a, &x, &wrong).is_err(), "{wrong:?}");
        }
        assert!(check(&a, &x, &[2.25, 0.0]).is_err());
    }

    #[test]
    fn check_follows_infinity_and_nan() {
        let (a, infinity) = (matrix(), f64::INFINITY);
        assert_eq!(check(&a, &[infinity, 1.0], &[infinity, 0.0, -4.0]), Ok(()));
        assert!(check(&a, &[infinity, 1.0], &[-infinity, 0.0, -4.0]).is_err());
        assert!(check(&a, &[infinity, 1.0], &[1.0, 0.0, -4.0]).is_err());
        assert_eq!(check(&a, &[f64::NAN, 1.0], &[f64::NAN, 0.0, -4.0]), Ok(()));
        assert!(check(&a, &[f64::NAN, 1.0], &[0.0, 0.0, -4.0]).is_err());
    }

    #[test]
    fn check_knows_the_range_of_the_type() {
        let a = Csr::<f32>::from_triplets(1, 2, [(0, 0, 3e38), (0, 1, 3e38)]).unwrap();
        assert_eq!(check(&a, &[1.0, 1.0], &[f32::INFINITY]), Ok(()));
        assert!(check(&a, &[0.5, 0.5], &[f32::INFINITY]).is_err());
    }

    #[test]
    fn work_counts_every_array() {
        let matrix: Csr<f64> = Csr::from_triplets(3, 2, [(0, 0, 2.0), (0, 1, 1.0), (2, 1, -4.0)]).unwrap();
        let work = work(&matrix);
        assert_eq!(work.operations, 6);
        assert_eq!(work.bytes, 3 * 12 + 4 * 4 + (3 + 2) * 8);
        assert_eq!(work.effective_bytes, 3 * 20 + 3 * 12);
    }
}
