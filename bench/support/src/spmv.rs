//! y = Ax: the work, the product in f64, and error bounds of results.

use evenpath::{Csr, Offset, RealStorage, Scalar};
use rayon::prelude::*;

use crate::measure::Work;

/// Two operations per nonzero, eight of complex numbers; the bytes of the matrix, x and y. The effective bytes are counted as by merge-spmv: a
/// value, a column index and an element of x per nonzero, an offset and an element of y per row.
pub fn work<V: Scalar, O: Offset>(matrix: &Csr<V, O>) -> Work {
    let (rows, cols, nnz) = (matrix.nrows() as u64, matrix.ncols() as u64, matrix.nnz() as u64);
    let (value, offset, column) = (size_of::<V>() as u64, size_of::<O>() as u64, size_of::<u32>() as u64);
    Work {
        operations: if V::IS_COMPLEX { 8 * nnz } else { 2 * nnz },
        bytes: nnz * (value + column) + (rows + 1) * offset + (rows + cols) * value,
        effective_bytes: nnz * (2 * value + column) + rows * (offset + value),
        counted_by: "merge-spmv",
    }
}

/// Checks that `y` is Ax, with a [`Reference`] for this check only.
///
/// # Errors
///
/// Those of [`Reference::check`], or if x does not have one element per column.
pub fn check<V: Scalar, O: Offset>(matrix: &Csr<V, O>, x: &[V], y: &[V]) -> Result<(), String> {
    Reference::new(matrix, x)?.check(y)
}

/// The product in f64, computed once to check many results. A complex element is two sums of real products.
pub struct Reference {
    rows: Vec<Row>,
}

/// An element of the result, or the real or imaginary part of one, and what its error bound depends on.
#[derive(Clone, Copy, Default)]
struct Row {
    /// Σax, or αΣax + βy.
    sum: f64,
    /// Σ|a||x|, or |α|Σ|a||x| + |βy|.
    magnitude: f64,
    /// The largest magnitude of an intermediate result: if it overflows the type, the element may too.
    largest: f64,
    /// The largest number of roundings that affect one term.
    roundings: u64,
    /// The loss by underflow, in units of ε times the smallest normal number.
    underflow: f64,
}

impl Reference {
    /// Computes the product, row by row.
    ///
    /// # Errors
    ///
    /// If x does not have one element per column.
    pub fn new<V: Scalar, O: Offset>(matrix: &Csr<V, O>, x: &[V]) -> Result<Self, String> {
        if x.len() != matrix.ncols() {
            return Err(format!("{} elements of x, not {}", x.len(), matrix.ncols()));
        }
        let (offsets, columns, values) = (matrix.row_offsets(), matrix.column_indices(), matrix.values());
        let parts = if V::IS_COMPLEX { 2 } else { 1 };
        let multiply = |pair: &[O]| {
            let range = pair[0].to_usize()..pair[1].to_usize();
            let mut rows = [Row::of_length(parts * range.len()); 2];
            for (&column, &value) in columns[range.clone()].iter().zip(&values[range]) {
                let ((re, im), (x_re, x_im)) = (numbers(value), numbers(x[column as usize]));
                rows[0].add(re * x_re);
                if V::IS_COMPLEX {
                    rows[0].add(-im * x_im);
                    rows[1].add(re * x_im);
                    rows[1].add(im * x_re);
                }
            }
            rows.into_iter().take(parts)
        };
        Ok(Self { rows: offsets.par_windows(2).flat_map_iter(multiply).collect() })
    }

    /// αAx + βy instead of Ax, with real factors, for the `y` before the operation, which is not read if β is zero.
    ///
    /// # Errors
    ///
    /// If y does not have one element per row.
    pub fn updating<V: Scalar>(mut self, alpha: V::Real, beta: V::Real, y: &[V]) -> Result<Self, String> {
        self.check_length(y)?;
        for (row, y) in self.rows.iter_mut().zip(parts(y)) {
            let added = if beta.to_f64() == 0.0 { 0.0 } else { beta.to_f64() * y.to_f64() };
            row.update(alpha.to_f64(), added);
        }
        Ok(self)
    }

    /// The largest absolute difference between `y` and the result; infinite if one is finite and the other not.
    pub fn largest_difference<V: Scalar>(&self, y: &[V]) -> f64 {
        self.rows.iter().zip(parts(y)).map(|(row, y)| row.difference(y.to_f64())).fold(0.0, f64::max)
    }

    /// Checks that `y` is the result. In a row of n nonzeros, the error bound is (n + 1)·ε·Σ|a||x|, for rounding in
    /// any order in both results, plus n times the loss by underflow of a product. For αAx + βy it is
    /// (n + 3)·ε·(|α|Σ|a||x| + |βy|), plus the losses by underflow. If an intermediate result may overflow the type, the
    /// element may too. A part of a complex element is a sum of two products per nonzero.
    ///
    /// # Errors
    ///
    /// Names the first element beyond the bound, or the length if it is wrong.
    pub fn check<V: Scalar>(&self, y: &[V]) -> Result<(), String> {
        self.check_length(y)?;
        let wrong = self.rows.iter().zip(parts(y)).position(|(row, part)| !row.agrees(part));
        wrong.map_or(Ok(()), |at| {
            let (expected, bound) = (self.rows[at].sum, self.rows[at].bound::<V::Real>());
            let (element, part) = if V::IS_COMPLEX { (at / 2, [".re", ".im"][at % 2]) } else { (at, "") };
            let (re, im) = numbers(y[element]);
            let found = if part == ".im" { im } else { re };
            Err(format!("y[{element}]{part} is {found}, not {expected} within {bound:.1e}"))
        })
    }

    fn check_length<V: Scalar>(&self, y: &[V]) -> Result<(), String> {
        let rows = if V::IS_COMPLEX { self.rows.len() / 2 } else { self.rows.len() };
        if y.len() == rows { Ok(()) } else { Err(format!("{} elements of y, not {rows}", y.len())) }
    }
}

/// The real and the imaginary part in f64.
fn numbers<V: Scalar>(value: V) -> (f64, f64) {
    let (re, im) = value.parts();
    (re.to_f64(), im.to_f64())
}

/// The elements, or the parts of complex elements.
fn parts<V: Scalar>(y: &[V]) -> impl Iterator<Item = V::Real> {
    y.iter().flat_map(|value| {
        let (re, im) = value.parts();
        std::iter::once(re).chain(V::IS_COMPLEX.then_some(im))
    })
}

/// ε, the smallest normal number, the largest number.
fn limits<V: RealStorage>() -> (f64, f64, f64) {
    match size_of::<V>() {
        4 => (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
        _ => (f64::EPSILON, f64::MIN_POSITIVE, f64::MAX),
    }
}

impl Row {
    /// An empty sum, for a row of this many nonzeros.
    fn of_length(nonzeros: usize) -> Self {
        Self { roundings: nonzeros as u64, underflow: nonzeros as f64, ..Self::default() }
    }

    /// Adds a product.
    fn add(&mut self, product: f64) {
        self.sum += product;
        self.magnitude += product.abs();
        self.largest = self.magnitude;
    }

    /// Multiplies by `alpha` and adds a product: two more roundings, and two more products that may underflow.
    fn update(&mut self, alpha: f64, added: f64) {
        self.sum = alpha * self.sum + added;
        self.magnitude = alpha.abs() * self.magnitude + added.abs();
        self.largest = self.largest.max(self.magnitude);
        self.roundings += 2;
        self.underflow = alpha.abs() * self.underflow + 2.0;
    }

    fn bound<V: RealStorage>(&self) -> f64 {
        let (epsilon, min_positive, _) = limits::<V>();
        (self.roundings + 1) as f64 * epsilon * self.magnitude + self.underflow * epsilon * min_positive
    }

    /// The absolute difference; 0 if both are NaN or the same infinity, infinite if only one is finite.
    fn difference(&self, actual: f64) -> f64 {
        if actual.to_bits() == self.sum.to_bits() || (actual.is_nan() && self.sum.is_nan()) {
            return 0.0;
        }
        let difference = (actual - self.sum).abs();
        if difference.is_nan() { f64::INFINITY } else { difference }
    }

    /// An element is infinite or NaN only if the sum is, or if the sum overflows the type.
    fn agrees<V: RealStorage>(&self, actual: V) -> bool {
        let (_, _, max) = limits::<V>();
        let actual = actual.to_f64();
        if self.sum.is_finite() {
            let overflow = !actual.is_finite() && self.largest > max;
            overflow || (actual - self.sum).abs() <= self.bound::<V>()
        } else {
            self.difference(actual) == 0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Complex;

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
    fn factors_scale_the_result_and_its_bound() {
        let (a, x, y) = (matrix(), [1.0, 0.25], [1.0, 2.0, 4.0]);
        let updated = |alpha, beta| Reference::new(&a, &x).unwrap().updating(alpha, beta, &y).unwrap();
        // Ax is (2.25, 0, -1).
        let reference = updated(2.0, -0.5);
        let right = [4.0, -1.0, -4.0];
        assert_eq!(reference.check(&right), Ok(()));
        assert_eq!(reference.largest_difference(&right).to_bits(), 0);
        assert_eq!(reference.check(&[4.0, -1.0, -4.0 - 4.0 * f64::EPSILON]), Ok(()));
        for wrong in [[2.25, 0.0, -1.0], [4.5, 0.0, -2.0], [1.75, -1.0, -3.0], [4.0, -1.0, -4.0 + 1e-13]] {
            assert!(reference.check(&wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(reference.largest_difference(&[4.0, -1.0, -1.0]).to_bits(), 3.0_f64.to_bits());
        assert_eq!(reference.largest_difference(&[4.0, f64::NAN, -4.0]).to_bits(), f64::INFINITY.to_bits());
        // With beta = 0, y is not read.
        let overwriting = Reference::new(&a, &x).unwrap().updating(1.0, 0.0, &[f64::NAN; 3]).unwrap();
        assert_eq!(overwriting.check(&[2.25, 0.0, -1.0]), Ok(()));
        assert!(Reference::new(&a, &x).unwrap().updating(1.0, 1.0, &[0.0; 2]).is_err());
    }

    #[test]
    fn a_product_may_overflow_before_alpha_makes_it_small() {
        let a = Csr::<f32>::from_triplets(1, 2, [(0, 0, 3e38), (0, 1, 3e38)]).unwrap();
        let reference = Reference::new(&a, &[1.0, 1.0]).unwrap().updating(0.25, 0.0, &[0.0_f32]).unwrap();
        assert_eq!(reference.check(&[1.5e38_f32]), Ok(()));
        assert_eq!(reference.check(&[f32::INFINITY]), Ok(()));
        assert!(reference.check(&[1.6e38_f32]).is_err());
    }

    #[test]
    fn parts_of_complex_elements_are_checked() {
        let i = Complex::new(0.0, 1.0);
        let a = Csr::from_triplets(2, 2, [(0, 0, 1.0 + i), (0, 1, 2.0 * i)]).unwrap();
        let x = [2.0 - i, 0.5 + 0.0 * i];
        // (1 + i)(2 - i) = 3 + i, and 2i / 2 = i.
        let right = [3.0 + 2.0 * i, 0.0 * i];
        assert_eq!(check(&a, &x, &right), Ok(()));
        for (at, error) in [(0, 1e-14 + 0.0 * i), (0, 1e-14 * i), (1, 1e-300 * i), (1, f64::NAN + 0.0 * i)] {
            let mut wrong = right;
            wrong[at] += error;
            assert!(check(&a, &x, &wrong).is_err(), "{at} {error}");
        }
        let text = check(&a, &x, &[3.0 + i, 0.0 * i]).unwrap_err();
        assert!(text.starts_with("y[0].im is 1, not 2 within "), "{text}");
        assert!(check(&a, &x, &right[..1]).is_err());
        let reference = Reference::new(&a, &x).unwrap().updating(2.0, -1.0, &[i, i]).unwrap();
        assert_eq!(reference.check(&[6.0 + 3.0 * i, -i]), Ok(()));
        assert_eq!(work(&a).operations, 16);
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
