//! Powers of numbers, the same to the last bit on the host and on a GPU.
//!
//! The method, the polynomials and the constants are those of fdlibm (Sun Microsystems, 2004), with an error below 0.7 units in the
//! last place: log₂ x is computed in two parts of together more than 70 bits, and multiplied by y in two parts. So a power that is
//! representable, such as that of two small integers, is exact.

// Constants have the digits of fdlibm.
#![allow(clippy::excessive_precision, clippy::unreadable_literal)]
// Comparisons are with exact numbers.
#![allow(clippy::float_cmp)]

use evenpath_simt::device;

/// A sum of two numbers, of which the first has the leading bits.
#[derive(Clone, Copy)]
struct Parts {
    high: f64,
    low: f64,
}

/// Returns `x` to the power `y`, as `pow` of C and IEEE 754 define it.
#[device]
pub(crate) fn power(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let absolute = f64::from_bits(x.to_bits() << 1 >> 1);
    if y.is_infinite() {
        return power_to_infinity(absolute, y > 0.0);
    }
    if y == 1.0 {
        return x;
    }
    if y == 2.0 {
        return x * x;
    }
    if y == -1.0 {
        return 1.0 / x;
    }
    let is_negative = x.to_bits() >> 63 != 0;
    let (is_integer, is_odd) = parity(y);
    let value = if absolute == 0.0 || absolute == f64::INFINITY {
        if y > 0.0 {
            absolute
        } else {
            1.0 / absolute
        }
    } else if is_negative && !is_integer {
        return f64::NAN;
    } else {
        exp2_of(product(log2_of(absolute), y))
    };
    if is_negative && is_odd {
        -value
    } else {
        value
    }
}

#[device]
fn power_to_infinity(absolute: f64, is_positive: bool) -> f64 {
    if absolute == 1.0 {
        1.0
    } else if (absolute > 1.0) == is_positive {
        f64::INFINITY
    } else {
        0.0
    }
}

/// Returns whether a finite number is an integer, and whether it is odd.
#[device]
fn parity(y: f64) -> (bool, bool) {
    let absolute = f64::from_bits(y.to_bits() << 1 >> 1);
    // From 2⁵³ on all numbers are even integers.
    if absolute >= 9007199254740992.0 {
        return (true, false);
    }
    let integer = absolute as u64;
    let is_integer = integer as f64 == absolute;
    (is_integer, is_integer && integer & 1 != 0)
}

/// Returns the upper half of the bits: 21 of the mantissa.
#[device]
fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
}

/// Returns log₂ of a positive finite number x = 2ⁿ a, with a near 1 or near 3/2: of n, of that, and of their quotient, by a polynomial in
/// s = (a − 1) / (a + 1) or (a − 3/2) / (a + 3/2).
#[device]
fn log2_of(x: f64) -> Parts {
    const L1: f64 = 5.99999999999994648725e-01;
    const L2: f64 = 4.28571428578550184252e-01;
    const L3: f64 = 3.33333329818377432918e-01;
    const L4: f64 = 2.72728123808534006489e-01;
    const L5: f64 = 2.30660745775561754067e-01;
    const L6: f64 = 2.06975017800338417784e-01;
    /// 2 / (3 ln 2), and in two parts.
    const CP: f64 = 9.61796693925975554329e-01;
    const CP_PARTS: (f64, f64) = (9.61796700954437255859e-01, -7.02846165095275826516e-09);
    let (n, a, center) = reduce(x);
    // log₂ of the center, in two parts.
    let (center_high, center_low) =
        if center == 1.0 { (0.0, 0.0) } else { (5.84962487220764160156e-01, 1.35003920212974897128e-08) };
    let u = a - center;
    let v = 1.0 / (a + center);
    let s = u * v;
    let s_high = upper(s);
    // a + center in two parts.
    let sum_high = upper(a + center);
    let sum_low = a - (sum_high - center);
    let s_low = v * ((u - s_high * sum_high) - s_high * sum_low);
    let square = s * s;
    let r =
        square * square * (L1 + square * (L2 + square * (L3 + square * (L4 + square * (L5 + square * L6)))));
    let r = r + s_low * (s_high + s);
    let square = s_high * s_high;
    let t_high = upper(3.0 + square + r);
    let t_low = r - ((t_high - 3.0) - square);
    let u = s_high * t_high;
    let v = s_low * t_high + t_low * s;
    let p_high = upper(u + v);
    let p_low = v - (p_high - u);
    let z_high = CP_PARTS.0 * p_high;
    let z_low = CP_PARTS.1 * p_high + p_low * CP + center_low;
    let high = upper(((z_high + z_low) + center_high) + n);
    Parts { high, low: z_low - (((high - n) - center_high) - z_high) }
}

/// Returns n, a and the center 1 or 3/2 of a positive finite number 2ⁿ a, with a from √3/2 to √3.
#[device]
fn reduce(x: f64) -> (f64, f64, f64) {
    const TWO_53: f64 = 9007199254740992.0;
    let is_subnormal = x < f64::MIN_POSITIVE;
    let bits = if is_subnormal { x * TWO_53 } else { x }.to_bits();
    let mut n = (bits >> 52) as i32 - 1023 - if is_subnormal { 53 } else { 0 };
    // The upper 20 bits of the mantissa, and those of √(3/2) and √3.
    let fraction = (bits >> 32) as u32 & 0xf_ffff;
    let mut exponent = 1023;
    let mut center = 1.0;
    if fraction > 0x3988e {
        if fraction < 0xbb67a {
            center = 1.5;
        } else {
            n += 1;
            exponent -= 1;
        }
    }
    let a = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | exponent << 52);
    (f64::from(n), a, center)
}

/// Returns the product of log₂ x and y.
#[device]
fn product(log: Parts, y: f64) -> Parts {
    let y_high = upper(y);
    Parts { high: y_high * log.high, low: (y - y_high) * log.high + y * log.low }
}

/// Returns 2 to a power: e to the power of r ln 2, for what remains of the power after the nearest integer.
#[device]
fn exp2_of(power: Parts) -> f64 {
    const P1: f64 = 1.66666666666666019037e-01;
    const P2: f64 = -2.77777777770155933842e-03;
    const P3: f64 = 6.61375632143793436117e-05;
    const P4: f64 = -1.65339022054652515390e-06;
    const P5: f64 = 4.13813679705723846039e-08;
    /// ln 2, and in two parts.
    const LN_2: f64 = core::f64::consts::LN_2;
    const LN_2_PARTS: (f64, f64) = (6.93147182464599609375e-01, -1.90465429995776804525e-09);
    /// The least part below 1024 that rounds to infinity.
    const OVERFLOW: f64 = 8.0085662595372944372e-17;
    let Parts { high, low } = power;
    let sum = low + high;
    if sum > 1024.0 || sum == 1024.0 && low + OVERFLOW > sum - high {
        return f64::INFINITY;
    }
    if sum < -1075.0 || sum == -1075.0 && low <= sum - high {
        return 0.0;
    }
    let n = (sum + if sum < 0.0 { -0.5 } else { 0.5 }) as i32;
    let high = high - f64::from(n);
    let t = upper(low + high);
    let u = t * LN_2_PARTS.0;
    let v = (low - (t - high)) * LN_2 + t * LN_2_PARTS.1;
    let z = u + v;
    let w = v - (z - u);
    let square = z * z;
    let c = z - square * (P1 + square * (P2 + square * (P3 + square * (P4 + square * P5))));
    let r = (z * c) / (c - 2.0) - (w + z * w);
    let value = 1.0 - (r - z);
    // In two steps, since 2ⁿ alone may be out of range; only the second rounds.
    value * power_of_two(n / 2) * power_of_two(n - n / 2)
}

/// 2 to an exponent from −1022 to 1023.
#[device]
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
