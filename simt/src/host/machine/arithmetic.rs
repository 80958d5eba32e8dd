//! Arithmetic that is one instruction on the GPU.

use super::memory::load_read_only;

pub(crate) fn widen_f16(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Every NaN becomes the NaN that the GPU's instruction returns.
pub(crate) fn narrow_f16(value: f32) -> u16 {
    if value.is_nan() {
        0x7fff
    } else {
        half::f16::from_f32(value).to_bits()
    }
}

pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

#[track_caller]
pub(crate) fn times_f32(value: f32, address: u64) -> f32 {
    if address == 0 {
        value
    } else {
        value * load_read_only::<f32>(address)
    }
}

#[track_caller]
pub(crate) fn times_f64(value: f64, address: u64) -> f64 {
    if address == 0 {
        value
    } else {
        value * load_read_only::<f64>(address)
    }
}

pub(crate) fn sqrt_f32(value: f32) -> f32 {
    value.sqrt()
}

pub(crate) fn sqrt_f64(value: f64) -> f64 {
    value.sqrt()
}

#[inline]
pub(crate) fn count_ones(word: u64) -> u32 {
    word.count_ones()
}

#[inline]
pub(crate) fn leading_zeros(word: u64) -> u32 {
    word.leading_zeros()
}

#[inline]
pub(crate) fn trailing_zeros(word: u64) -> u32 {
    word.trailing_zeros()
}
