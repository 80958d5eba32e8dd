use evenpath::{Complex, Csr, Offset, RealStorage, Scalar};

use crate::with_row_lengths;

/// A complex type of tests.
pub trait ComplexValue: Scalar {
    /// Unit roundoff of its parts.
    const EPSILON: f64;
}

impl ComplexValue for Complex<f32> {
    const EPSILON: f64 = f32::EPSILON as f64;
}

impl ComplexValue for Complex<f64> {
    const EPSILON: f64 = f64::EPSILON;
}

/// The number in double precision.
pub fn exact<V: Scalar>(value: V) -> Complex<f64> {
    let (re, im) = value.parts();
    Complex::new(re.to_f64(), im.to_f64())
}

/// The number with the given parts, rounded.
pub fn complex<V: Scalar>(re: f64, im: f64) -> V {
    V::from_parts(V::Real::from_f64(re), V::Real::from_f64(im))
}

/// Numbers with parts between −1 and 1, which depend on their index and on `seed`.
pub fn complex_vector<V: Scalar>(len: usize, seed: usize) -> Vec<V> {
    let part = |index: usize| ((index * 7919 + seed * 104_729 + 13) % 2003) as f64 / 1001.0 - 1.0;
    (0..len).map(|index| complex(part(2 * index), part(2 * index + 1))).collect()
}

/// A matrix with rows of the given lengths and complex values.
///
/// # Panics
///
/// If there are more columns, or more entries, than a matrix may have.
pub fn complex_rows<V: Scalar, O: Offset>(cols: usize, lengths: &[usize]) -> Csr<V, O> {
    let (offsets, columns, values) = with_row_lengths::<f64, O>(cols, lengths).into_parts();
    let values = complex_vector(values.len(), 5);
    Csr::try_new(lengths.len(), cols, offsets, columns, values).expect("a valid pattern")
}

/// Numbers in double precision, with a bound on the error of each when computed in another type and order.
#[derive(Debug, Clone)]
pub struct ExpectedComplex {
    values: Vec<Complex<f64>>,
    bounds: Vec<f64>,
}

impl ExpectedComplex {
    /// The expected number of each element, the number of its terms and the sum of their magnitudes, for results in `V`.
    pub fn new<V: ComplexValue>(elements: impl IntoIterator<Item = (Complex<f64>, usize, f64)>) -> Self {
        // A product of complex numbers has two products and a sum in each part.
        let with_bound = |(value, terms, magnitude): (Complex<f64>, usize, f64)| {
            (value, 4.0 * (terms + 4) as f64 * V::EPSILON * magnitude)
        };
        let (values, bounds) = elements.into_iter().map(with_bound).unzip();
        Self { values, bounds }
    }

    /// Describes the first element of `actual` that is not within its bound.
    ///
    /// # Errors
    ///
    /// If there is one, or the lengths differ.
    pub fn check<V: Scalar>(&self, actual: &[V]) -> Result<(), String> {
        if actual.len() != self.values.len() {
            return Err(format!("{} elements, not {}", actual.len(), self.values.len()));
        }
        for (index, (&expected, &bound)) in self.values.iter().zip(&self.bounds).enumerate() {
            // No comparison holds for NaN.
            let is_near = (exact(actual[index]) - expected).norm() <= bound;
            if !is_near {
                return Err(format!("element {index} is {}, not {expected} within {bound}", actual[index]));
            }
        }
        Ok(())
    }
}

/// Computes y = αAx + βy by definition, in double precision.
///
/// # Panics
///
/// If a vector is too short.
pub fn complex_spmv<V: ComplexValue, O: Offset>(
    a: &Csr<V, O>,
    (alpha, x): (V, &[V]),
    (beta, y): (V, &[V]),
) -> ExpectedComplex {
    let (alpha, beta) = (exact(alpha), exact(beta));
    let row = |row: usize| {
        let old = if beta == Complex::ZERO { Complex::ZERO } else { beta * exact(y[row]) };
        let entries = a.row(row).expect("a row");
        let products = entries.iter().map(|(column, value)| alpha * exact(value) * exact(x[column as usize]));
        let (sum, magnitude) = products
            .fold((old, old.norm()), |(sum, magnitude), product| (sum + product, magnitude + product.norm()));
        (sum, entries.len(), magnitude)
    };
    ExpectedComplex::new::<V>((0..a.nrows()).map(row))
}
