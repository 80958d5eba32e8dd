//! Products of factors that may be out of the range of their type.

use libm::{frexp, ldexp};

use crate::Value;

/// A product of numbers: `value`·2^`exponent`. The exponent is 0 unless the product is out of the range of
/// normal numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale<V> {
    value: V,
    exponent: i32,
}

impl<V: Value> Scale<V> {
    pub(crate) const ONE: Self = Self { value: V::ONE, exponent: 0 };

    /// Creates the scale from a number.
    pub(crate) fn new(value: V) -> Self {
        Self { value, exponent: 0 }
    }

    /// Multiplies by a number.
    pub(crate) fn times(self, by: V) -> Self {
        let value = self.value * by;
        let (magnitude, is_number) = (value.abs().to_f64(), |value: V| value.is_finite() && value != V::ZERO);
        let is_in_range = value.is_finite() && magnitude >= ldexp(0.5, exponent_range::<V>().0);
        if is_in_range || !is_number(self.value) || !is_number(by) {
            return Self { value, ..self };
        }
        let ((own, own_exponent), (by, by_exponent)) = (frexp(self.value.to_f64()), frexp(by.to_f64()));
        let exponent = self.exponent.saturating_add(own_exponent + by_exponent);
        Self { value: V::from_f64(own) * V::from_f64(by), exponent }
    }

    /// Splits into a number and a power of two: the product is the number times the square of the power.
    pub(crate) fn number_and_power(self) -> (V, V) {
        if self.exponent == 0 || self.value == V::ZERO || !self.value.is_finite() {
            return (self.value, V::ONE);
        }
        let (mantissa, own_exponent) = frexp(self.value.to_f64());
        let (least, most) = exponent_range::<V>();
        let exponent = self.exponent.saturating_add(own_exponent);
        let rest = exponent - exponent.clamp(least, most);
        // Rounded away from zero, so that the number stays in range.
        let half = rest / 2 + rest % 2;
        let number = ldexp(mantissa, (exponent - 2 * half).clamp(least, most));
        (V::from_f64(number), V::from_f64(ldexp(1.0, half.clamp(least, most - 1))))
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

/// Minimum and maximum exponent of normal numbers, with mantissas from 0.5 to 1.
const fn exponent_range<V>() -> (i32, i32) {
    if size_of::<V>() == size_of::<f32>() {
        (f32::MIN_EXP, f32::MAX_EXP)
    } else {
        (f64::MIN_EXP, f64::MAX_EXP)
    }
}
