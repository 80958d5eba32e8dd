//! Elementary functions of numbers, the same to the last bit on the host and on a GPU.
//!
//! The polynomials and reductions are those of fdlibm (Sun Microsystems, 1993) for `f64`, with errors below one unit in the last
//! place. Those of `f32` are computed in `f64` and rounded once more.

// Constants have the digits of fdlibm.
#![allow(clippy::excessive_precision, clippy::unreadable_literal)]

use evenpath_simt::{device, Float};

use crate::power::{power, power_of_two};

/// Numbers with elementary functions.
pub trait Elementary: Float {
    /// 1.
    const UNIT: Self;
    /// Infinity.
    const INFINITE: Self;
    /// The least positive normal number and the greatest finite number.
    const NORMAL: (Self, Self);
    /// A quiet NaN.
    const NOT_A_NUMBER: Self;

    /// Rounds a count to the nearest number.
    fn from_count(count: u64) -> Self;
    /// Returns the number without its sign; of NaN, [`NOT_A_NUMBER`](Self::NOT_A_NUMBER).
    #[must_use]
    fn magnitude(self) -> Self;
    /// Returns the number with the other sign.
    #[must_use]
    fn negated(self) -> Self;
    /// Returns e to the power of the number; within one unit in the last place.
    #[must_use]
    fn natural_exp(self) -> Self;
    /// Returns the natural logarithm: −∞ of zero, NaN of negative numbers; within one unit in the last place.
    #[must_use]
    fn natural_log(self) -> Self;
    /// Returns the number to a power, as `pow` of C; within one unit in the last place.
    #[must_use]
    fn power(self, exponent: Self) -> Self;
}

macro_rules! elementary {
    ($($type:ident, $narrow:expr;)*) => {$(
        impl Elementary for $type {
            const UNIT: Self = 1.0;
            const INFINITE: Self = $type::INFINITY;
            const NORMAL: (Self, Self) = ($type::MIN_POSITIVE, $type::MAX);
            const NOT_A_NUMBER: Self = $type::NAN;

            #[device]
            fn from_count(count: u64) -> Self {
                count as $type
            }

            #[device]
            fn magnitude(self) -> Self {
                // A GPU's absolute value of NaN may have its sign set.
                if self.is_nan() {
                    Self::NOT_A_NUMBER
                } else {
                    $type::from_bits(self.to_bits() << 1 >> 1)
                }
            }

            #[device]
            fn negated(self) -> Self {
                -self
            }

            #[device]
            fn natural_exp(self) -> Self {
                $narrow(exp(f64::from(self)))
            }

            #[device]
            fn natural_log(self) -> Self {
                $narrow(log(f64::from(self)))
            }

            #[device]
            fn power(self, exponent: Self) -> Self {
                $narrow(power(f64::from(self), f64::from(exponent)))
            }
        }
    )*};
}
elementary! {
    f32, |value: f64| value as f32;
    f64, |value: f64| value;
}

/// ln 2, its first 33 bits and the rest.
const LN_2: (f64, f64) = (6.93147180369123816490e-01, 1.90821492927058770002e-10);

/// x = k ln 2 + r, and e^r = 1 + 2r / (c(r) − r) by a polynomial c.
#[device]
fn exp(x: f64) -> f64 {
    const P1: f64 = 1.66666666666666019037e-01;
    const P2: f64 = -2.77777777770155933842e-03;
    const P3: f64 = 6.61375632143793436117e-05;
    const P4: f64 = -1.65339022054652515390e-06;
    const P5: f64 = 4.13813679705723846039e-08;
    if x.is_nan() {
        return x;
    }
    if x > 709.782712893383973096 {
        return f64::INFINITY;
    }
    if x < -745.13321910194110842 {
        return 0.0;
    }
    let half = if x < 0.0 { -0.5 } else { 0.5 };
    let k = (core::f64::consts::LOG2_E * x + half) as i32;
    let (high, low) = (x - f64::from(k) * LN_2.0, f64::from(k) * LN_2.1);
    let r = high - low;
    let square = r * r;
    let c = r - square * (P1 + square * (P2 + square * (P3 + square * (P4 + square * P5))));
    let value = 1.0 + (r * c / (2.0 - c) - low + high);
    // In two steps, since 2^k alone may be out of range; only the second rounds.
    value * power_of_two(k / 2) * power_of_two(k - k / 2)
}

/// x = 2^k (1 + f) with 1 + f from √½ to √2, and ln(1 + f) by a polynomial in f / (2 + f).
#[device]
fn log(x: f64) -> f64 {
    const L1: f64 = 6.666666666666735130e-01;
    const L2: f64 = 3.999999999940941908e-01;
    const L3: f64 = 2.857142874366239149e-01;
    const L4: f64 = 2.222219843214978396e-01;
    const L5: f64 = 1.818357216161805012e-01;
    const L6: f64 = 1.531383769920937332e-01;
    const L7: f64 = 1.479819860511658591e-01;
    /// The upper words of 1 and of √½.
    const ONE: u32 = 0x3ff0_0000;
    const ROOT: u32 = 0x3fe6_a09e;
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    let is_subnormal = x < f64::MIN_POSITIVE;
    let bits = if is_subnormal { x * power_of_two(54) } else { x }.to_bits();
    let upper = (bits >> 32) as u32 + (ONE - ROOT);
    let k = (upper >> 20) as i32 - 1023 - if is_subnormal { 54 } else { 0 };
    let upper = (upper & 0xf_ffff) + ROOT;
    let f = f64::from_bits((u64::from(upper) << 32) | (bits & 0xffff_ffff)) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (L2 + w * (L4 + w * L6));
    let odd = z * (L1 + w * (L3 + w * (L5 + w * L7)));
    let k = f64::from(k);
    s * (half_square + (odd + even)) + k * LN_2.1 - half_square + f + k * LN_2.0
}
