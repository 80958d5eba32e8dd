//! Scalars of the methods, on the host: complex for all matrices. For real matrices the imaginary parts are zero, and the real parts
//! have the bits of real arithmetic.

use evenpath::{Complex, RealStorage, Scalar};

/// Converts a value of a vector.
pub(crate) fn wide<V: Scalar>(value: V) -> Complex<f64> {
    let (re, im) = value.parts();
    Complex::new(re.to_f64(), im.to_f64())
}

/// Rounds to a value of a vector. A real one has the real part.
pub(crate) fn rounded<V: Scalar>(number: Complex<f64>) -> V {
    V::from_parts(V::Real::from_f64(number.re), V::Real::from_f64(number.im))
}

/// The absolute value.
pub(crate) fn magnitude(number: Complex<f64>) -> f64 {
    number.re.hypot(number.im)
}

/// `dividend` / `divisor`, by Smith's method (*Algorithm 116*, Communications of the ACM 5, 1962) unless the divisor is real: squares of
/// parts may be out of range.
pub(crate) fn quotient(dividend: Complex<f64>, divisor: Complex<f64>) -> Complex<f64> {
    if divisor.im == 0.0 {
        return dividend / divisor.re;
    }
    if divisor.re.abs() >= divisor.im.abs() {
        let ratio = divisor.im / divisor.re;
        let scale = divisor.re + divisor.im * ratio;
        Complex::new(dividend.re + dividend.im * ratio, dividend.im - dividend.re * ratio) / scale
    } else {
        let ratio = divisor.re / divisor.im;
        let scale = divisor.re * ratio + divisor.im;
        Complex::new(dividend.re * ratio + dividend.im, dividend.im * ratio - dividend.re) / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_in_range() {
        let numbers = [(3.0, 4.0), (-4.0, 3.0), (1e-200, -2e-200), (5e200, 1e200), (0.0, 2.0), (7.0, 0.0)];
        for divisor in numbers.map(|(re, im)| Complex::new(re, im)) {
            for factor in [Complex::new(2.0, 0.5), Complex::new(-0.25, 3.0), Complex::new(0.0, 1.0)] {
                let found = quotient(factor * divisor, divisor);
                assert!(
                    magnitude(found - factor) <= 1e-15 * magnitude(factor),
                    "{factor} · {divisor}: {found}"
                );
            }
        }
    }
}
