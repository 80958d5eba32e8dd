use evenpath::{Csr, Offset, Value};

/// A vector computed in f64, with a bound on the error of each element when computed in another order.
#[derive(Debug, Clone)]
pub struct Expected {
    values: Vec<f64>,
    bounds: Vec<f64>,
}

/// y = αAx + βy in f64, straight from the definition. The bound is (n + 3)·ε·(|α|·Σ|a||x| + |β||y|) for a row of n
/// nonzeros and the rounding unit ε of `V`, twice: for the result and for this one.
pub fn spmv<V: Value, O: Offset>(a: &Csr<V, O>, alpha: V, x: &[V], beta: V, y: &[V]) -> Expected {
    let mut values = vec![0.0; a.rows()];
    let mut magnitudes = vec![0.0; a.rows()];
    let mut counts = vec![0_u64; a.rows()];
    for (row, col, value) in a.iter() {
        let product = value.to_f64() * x[col].to_f64();
        values[row] += product;
        magnitudes[row] += product.abs();
        counts[row] += 1;
    }
    let (alpha, beta) = (alpha.to_f64(), beta.to_f64());
    let epsilon = if size_of::<V>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let mut bounds = vec![0.0; a.rows()];
    for row in 0..a.rows() {
        let old = if beta == 0.0 { 0.0 } else { beta * y[row].to_f64() };
        values[row] = alpha * values[row] + old;
        bounds[row] = 2.0 * (counts[row] + 3) as f64 * epsilon * (alpha.abs() * magnitudes[row] + old.abs());
    }
    Expected { values, bounds }
}

impl Expected {
    /// The first element of `actual` that is not within its bound, as text.
    ///
    /// # Errors
    ///
    /// If there is one, or the lengths differ.
    pub fn check<V: Value>(&self, actual: &[V]) -> Result<(), String> {
        if actual.len() != self.values.len() {
            return Err(format!("{} elements, not {}", actual.len(), self.values.len()));
        }
        for (i, ((&expected, &bound), actual)) in self.values.iter().zip(&self.bounds).zip(actual).enumerate()
        {
            // Not `>`, which NaN would pass.
            let close = (actual.to_f64() - expected).abs() <= bound;
            if !close {
                return Err(format!("element {i} is {actual}, not {expected} within {bound}"));
            }
        }
        Ok(())
    }
}
