//! The types of values: real, complex, and of 16 bits.

use evenpath_simt::Arithmetic;

use crate::scalar::{Decimal, ForKind, Kind};
use crate::{Complex, RealStorage, Scalar, Storage, Value, bf16, f16};

macro_rules! value {
    ($type:ident) => {
        impl Storage for $type {
            type Computed = Self;
        }

        impl RealStorage for $type {
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }

        impl Kind for $type {
            fn by_kind<F: ForKind<Self>>(operation: F) -> F::Output {
                operation.value()
            }
        }

        impl Scalar for $type {
            type Real = Self;
            const ONE: Self = 1.0;
            const IS_COMPLEX: bool = false;

            fn from_parts(re: Self, _: Self) -> Self {
                re
            }

            fn parts(self) -> (Self, Self) {
                (self, 0.0)
            }

            fn conj(self) -> Self {
                self
            }

            fn mul_add(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }

            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }

        impl Value for $type {
            fn from_u64(value: u64) -> Self {
                value as Self
            }

            fn abs(self) -> Self {
                self.abs()
            }
        }
    };
}

macro_rules! complex {
    ($part:ident) => {
        impl Storage for Complex<$part> {
            type Computed = Self;
        }

        impl Kind for Complex<$part> {
            fn by_kind<F: ForKind<Self>>(operation: F) -> F::Output {
                operation.complex()
            }
        }

        impl Scalar for Complex<$part> {
            type Real = $part;
            const ONE: Self = Self::new(1.0, 0.0);
            const IS_COMPLEX: bool = true;

            fn from_parts(re: $part, im: $part) -> Self {
                Self { re, im }
            }

            fn parts(self) -> ($part, $part) {
                (self.re, self.im)
            }

            fn conj(self) -> Self {
                Self { re: self.re, im: -self.im }
            }

            fn mul_add(self, a: Self, b: Self) -> Self {
                self.fma(a, b)
            }

            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
        }
    };
}

macro_rules! half {
    ($type:ident) => {
        impl Storage for $type {
            type Computed = f32;
        }

        impl RealStorage for $type {
            fn to_f64(self) -> f64 {
                $type::to_f64(self)
            }

            fn from_f64(value: f64) -> Self {
                $type::from_f32(round_to_odd(value))
            }
        }

        impl Kind for $type {
            fn by_kind<F: ForKind<Self>>(operation: F) -> F::Output {
                operation.half()
            }
        }
    };
}

half!(f16);
half!(bf16);

/// Rounds `value` to an `f32` that is odd in its last place unless it is exact. Rounding the result again, to
/// at most 22 bits, is the same as rounding `value` directly: ties are neither created nor lost (Boldo,
/// Melquiond, "When double rounding is odd", 2005).
#[allow(clippy::float_cmp)] // tests if it is exact
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if !nearest.is_finite() || f64::from(nearest) == value {
        return nearest;
    }
    let is_beyond = f64::from(nearest).abs() > value.abs();
    f32::from_bits((nearest.to_bits() - u32::from(is_beyond)) | 1)
}

macro_rules! decimal {
    ($type:ident) => {
        impl Decimal for $type {
            #[inline]
            fn parse_prefix(text: &[u8]) -> Option<(Self, usize)> {
                fast_float2::parse_partial(text).ok()
            }

            fn push_shortest(self, text: &mut Vec<u8>) {
                if self.is_nan() {
                    text.extend_from_slice(b"nan");
                } else if self.is_infinite() {
                    text.extend_from_slice(if self > 0.0 { b"inf" } else { b"-inf" });
                } else {
                    text.extend_from_slice(ryu::Buffer::new().format_finite(self).as_bytes());
                }
            }
        }
    };
}

decimal!(f32);
decimal!(f64);
value!(f32);
value!(f64);
complex!(f32);
complex!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks values around every tie between neighboring halves, with more digits than `f32` has.
    #[test]
    fn halves_are_the_nearest() {
        fn check<S: RealStorage + evenpath_simt::Word>(below: S, above: S) {
            let (low, high) = (below.to_f64(), above.to_f64());
            let tie = f64::midpoint(low, high);
            let little = (high - low) * 2.0_f64.powi(-40);
            assert_eq!(S::from_f64(low), below);
            assert_eq!(S::from_f64(tie - little), below, "{tie} less a little");
            assert_eq!(S::from_f64(tie + little), above, "{tie} and a little");
            let even = if below.to_bits().is_multiple_of(2) { below } else { above };
            assert_eq!(S::from_f64(tie), even, "{tie}");
            assert_eq!(S::from_f64(-tie).to_f64().to_bits(), (-even.to_f64()).to_bits());
        }
        for bits in (0..0x7bff).step_by(7) {
            check(f16::from_bits(bits), f16::from_bits(bits + 1));
        }
        for bits in (0..0x7f7f).step_by(11) {
            check(bf16::from_bits(bits), bf16::from_bits(bits + 1));
        }
        assert_eq!(f16::from_f64(65_519.999), f16::MAX);
        assert_eq!(<f16 as RealStorage>::from_f64(65_520.0), f16::INFINITY);
        assert_eq!(<bf16 as RealStorage>::from_f64(1e300), bf16::INFINITY);
        assert!(<f16 as RealStorage>::from_f64(f64::NAN).is_nan());
    }
}
