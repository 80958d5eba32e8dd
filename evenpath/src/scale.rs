//! Products of factors that may be out of the range of their type.

use libm::{frexp, ldexp};

use crate::{RealStorage, Scalar};

/// A product of numbers: `value`·2^`exponent`. The exponent is 0 unless the product is out of the range of
/// normal numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale<V> {
    value: V,
    exponent: i32,
}

impl<V: Scalar> Scale<V> {
    pub(crate) const ONE: Self = Self { value: V::ONE, exponent: 0 };

    /// Creates the scale from a number.
    pub(crate) fn new(value: V) -> Self {
        Self { value, exponent: 0 }
    }

    /// Multiplies by a number.
    pub(crate) fn times(self, by: V) -> Self {
        let value = self.value * by;
        let is_number = |value: V| value.is_finite() && value != V::ZERO;
        let is_in_range = value.is_finite() && magnitude(value) >= ldexp(0.5, exponent_range::<V>().0);
        if is_in_range || !is_number(self.value) || !is_number(by) {
            return Self { value, ..self };
        }
        let (own_exponent, by_exponent) = (exponent_of(self.value), exponent_of(by));
        let exponent = self.exponent.saturating_add(own_exponent + by_exponent);
        Self { value: times_power(self.value, -own_exponent) * times_power(by, -by_exponent), exponent }
    }

    /// Splits into a number and a power of two: the product is the number times the square of the power.
    pub(crate) fn number_and_power(self) -> (V, V) {
        if self.exponent == 0 || self.value == V::ZERO || !self.value.is_finite() {
            return (self.value, V::ONE);
        }
        let own_exponent = exponent_of(self.value);
        let (least, most) = exponent_range::<V>();
        let exponent = self.exponent.saturating_add(own_exponent);
        let rest = exponent - exponent.clamp(least, most);
        // Rounded away from zero, so that the number stays in range.
        let half = rest / 2 + rest % 2;
        let number = times_power(self.value, (exponent - 2 * half).clamp(least, most) - own_exponent);
        (number, times_power(V::ONE, half.clamp(least, most - 1)))
    }

    /// The product, or `None` if it is out of range.
    pub(crate) fn number(self) -> Option<V> {
        let (number, power) = self.number_and_power();
        (power == V::ONE).then_some(number)
    }

    /// The product, rounded to 0 or infinity if it is out of range.
    pub(crate) fn rounded(self) -> V {
        let (number, power) = self.number_and_power();
        number * power * power
    }

    pub(crate) fn is_zero(self) -> bool {
        self.value == V::ZERO
    }

    /// Returns whether kernels can take the product as a nonzero number.
    pub(crate) fn is_nonzero_number(self) -> bool {
        self.number().is_some() && !self.is_zero()
    }

    /// Multiplies a value by the product. Any value times 0 is 0, even NaN.
    pub(crate) fn apply(self, value: V) -> V {
        if self.is_zero() {
            return V::ZERO;
        }
        let (number, power) = self.number_and_power();
        number * value * power * power
    }
}

/// Magnitude of the larger part.
fn magnitude<V: Scalar>(value: V) -> f64 {
    let (re, im) = value.parts();
    re.to_f64().abs().max(im.to_f64().abs())
}

/// Exponent of the larger part of a finite number other than zero, with a mantissa from 0.5 to 1.
fn exponent_of<V: Scalar>(value: V) -> i32 {
    frexp(magnitude(value)).1
}

/// Returns `value`·2^`exponent`, each part rounded once.
fn times_power<V: Scalar>(value: V, exponent: i32) -> V {
    let (re, im) = value.parts();
    let scaled = |part: V::Real| V::Real::from_f64(ldexp(part.to_f64(), exponent));
    V::from_parts(scaled(re), scaled(im))
}

/// Minimum and maximum exponent of normal numbers, with mantissas from 0.5 to 1.
const fn exponent_range<V: Scalar>() -> (i32, i32) {
    if size_of::<V::Real>() == size_of::<f32>() {
        (f32::MIN_EXP, f32::MAX_EXP)
    } else {
        (f64::MIN_EXP, f64::MAX_EXP)
    }
}
