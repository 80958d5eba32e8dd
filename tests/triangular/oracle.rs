//! The residual of a solution, by definition.

use evenpath::triangular::{Diagonal, Triangle, TriangularOptions};
use evenpath::{Csr, Offset, Value};

/// Checks op(T)·x = αb row by row in f64. Substitution gives the exact solution for a triangle with entries that differ by γ of
/// theirs, where γ is the number of terms and a few more times the unit roundoff (Higham, *Accuracy and Stability*, theorem 8.5),
/// so that the residual is at most γ (|op(T)||x| + |αb|); twice that, for the errors of the residual itself.
pub(super) fn check<V: Value, O: Offset>(
    a: &Csr<V, O>,
    options: TriangularOptions,
    alpha: V,
    b: &[V],
    x: &[V],
) -> Result<(), String> {
    let alpha = alpha.to_f64();
    let mut residual: Vec<f64> = b.iter().map(|b| alpha * b.to_f64()).collect();
    let mut magnitudes: Vec<f64> = residual.iter().map(|number| number.abs()).collect();
    let mut terms = vec![5.0; b.len()];
    let mut subtract = |row: usize, product: f64| {
        residual[row] -= product;
        magnitudes[row] += product.abs();
        terms[row] += 1.0;
    };
    for (row, column, value) in a.iter() {
        let is_inside = match options.triangle {
            Triangle::Lower => row > column,
            Triangle::Upper => row < column,
        };
        if is_inside || (row == column && options.diagonal == Diagonal::NonUnit) {
            let (row, column) = if options.transposed { (column, row) } else { (row, column) };
            subtract(row, value.to_f64() * x[column].to_f64());
        }
    }
    if options.diagonal == Diagonal::Unit {
        (0..b.len()).for_each(|row| subtract(row, x[row].to_f64()));
    }
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    for row in 0..b.len() {
        let bound = 2.0 * terms[row] * epsilon * magnitudes[row];
        if residual[row].is_nan() || residual[row].abs() > bound {
            return Err(format!("row {row}: the residual is {:e}, beyond {bound:e}", residual[row]));
        }
    }
    Ok(())
}

/// All options beside the method.
pub(super) fn all_options() -> Vec<TriangularOptions> {
    let mut all = Vec::new();
    for triangle in Triangle::ALL {
        for diagonal in Diagonal::ALL {
            for transposed in [false, true] {
                let options = TriangularOptions::default().with_triangle(triangle).with_diagonal(diagonal);
                all.push(options.with_transposed(transposed));
            }
        }
    }
    all
}
