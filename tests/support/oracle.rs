use approx::abs_diff_ne;
use evenpath::{Compute, Csr, Offset, RealStorage, Value};

/// A vector computed in f64, with a bound on the error of each element when computed in a different order.
#[derive(Debug, Clone)]
pub struct Expected {
    values: Vec<f64>,
    bounds: Vec<f64>,
}

/// Computes y = αAx + βy in f64, by definition. The bound is (n + 3)·ε·(|α|·Σ|a||x| + |β||y|) for a row of n
/// nonzeros and the unit roundoff ε of `V`, times two, for the errors of both results.
pub fn spmv<S: RealStorage, V: Value, O: Offset>(
    a: &Csr<S, O>,
    alpha: V,
    x: &[V],
    beta: V,
    y: &[V],
) -> Expected {
    let mut values = vec![0.0; a.nrows()];
    let mut magnitudes = vec![0.0; a.nrows()];
    let mut counts = vec![0_u64; a.nrows()];
    for (row, col, value) in a.iter() {
        let product = value.to_f64() * x[col].to_f64();
        values[row] += product;
        magnitudes[row] += product.abs();
        counts[row] += 1;
    }
    let (alpha, beta) = (alpha.to_f64(), beta.to_f64());
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let mut bounds = vec![0.0; a.nrows()];
    for row in 0..a.nrows() {
        let old = if beta == 0.0 { 0.0 } else { beta * y[row].to_f64() };
        values[row] = alpha * values[row] + old;
        bounds[row] = 2.0 * (counts[row] + 3) as f64 * epsilon * (alpha.abs() * magnitudes[row] + old.abs());
    }
    Expected { values, bounds }
}

/// A column of `C = αAB + βC` in f64, from a column of B and one of C. The bound is that of [`spmv`] with the unit roundoff
/// ε of the computing type, plus the rounding to `T`, the type of the result.
pub fn spmm<S: RealStorage, T: RealStorage, O: Offset>(
    a: &Csr<S, O>,
    alpha: f64,
    b: &[T],
    beta: f64,
    c: &[T],
) -> Expected {
    let mut values = vec![0.0; a.nrows()];
    let mut magnitudes = vec![0.0; a.nrows()];
    let mut counts = vec![0_u64; a.nrows()];
    for (row, col, value) in a.iter() {
        let product = value.to_f64() * b[col].to_f64();
        values[row] += product;
        magnitudes[row] += product.abs();
        counts[row] += 1;
    }
    let epsilon = if size_of::<Compute<T>>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    // The spacing of T at a number, relative to it, and that of the smallest numbers.
    let (rounding, smallest) = match T::NAME {
        "f16" => (2.0_f64.powi(-11), 2.0_f64.powi(-25)),
        "bf16" => (2.0_f64.powi(-8), 0.0),
        _ => (0.0, 0.0),
    };
    let mut bounds = vec![0.0; a.nrows()];
    for row in 0..a.nrows() {
        let old = if beta == 0.0 { 0.0 } else { beta * c[row].to_f64() };
        values[row] = alpha * values[row] + old;
        let computing =
            2.0 * (counts[row] + 3) as f64 * epsilon * (alpha.abs() * magnitudes[row] + old.abs());
        bounds[row] = computing + rounding * (values[row].abs() + computing) + smallest;
    }
    Expected { values, bounds }
}

/// The values c = α (AB) + βc in f64, in the order of the entries of `c`, from the rows of A and the columns of B. The bound is
/// that of [`spmv`] with the unit roundoff ε of `V`.
pub fn sddmm<V: Value, O: Offset, T: RealStorage>(
    c: &Csr<V, O>,
    alpha: f64,
    row_of_a: impl Fn(usize) -> Vec<T>,
    column_of_b: impl Fn(usize) -> Vec<T>,
    beta: f64,
) -> Expected {
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let entry = |(row, col, value): (usize, usize, V)| {
        let (a, b) = (row_of_a(row), column_of_b(col));
        let products: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.to_f64() * b.to_f64()).collect();
        let old = if beta == 0.0 { 0.0 } else { beta * value.to_f64() };
        let magnitude: f64 = products.iter().map(|product| product.abs()).sum();
        let bound = 2.0 * (a.len() + 3) as f64 * epsilon * (alpha.abs() * magnitude + old.abs());
        (alpha * products.iter().sum::<f64>() + old, bound)
    };
    let (values, bounds) = c.iter().map(entry).unzip();
    Expected { values, bounds }
}

impl Expected {
    /// Describes the first element of `actual` that is not within its bound.
    ///
    /// # Errors
    ///
    /// If there is one, or the lengths differ.
    pub fn check<V: RealStorage>(&self, actual: &[V]) -> Result<(), String> {
        if actual.len() != self.values.len() {
            return Err(format!("{} elements, not {}", actual.len(), self.values.len()));
        }
        for (i, ((&expected, &bound), actual)) in self.values.iter().zip(&self.bounds).zip(actual).enumerate()
        {
            if abs_diff_ne!(actual.to_f64(), expected, epsilon = bound) {
                return Err(format!("element {i} is {actual}, not {expected} within {bound}"));
            }
        }
        Ok(())
    }
}
