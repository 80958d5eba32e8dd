//! Conversions of 16-bit floats by the instructions of x86-64.

use std::arch::x86_64::{
    _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm_cvtph_ps, _mm_cvtps_ph, _mm_cvtsi32_si128,
    _mm_cvtsi128_si32, _mm_cvtss_f32, _mm_loadu_si128, _mm_set_ss, _mm_storeu_si128, _mm256_blendv_ps,
    _mm256_cmp_ps, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
};

use crate::f16;

/// Elements that are converted at once.
const HALVES: usize = 8;

/// Converts 8 at once.
#[inline]
#[target_feature(enable = "avx,f16c")]
pub(super) fn widen_halves(halves: &[f16], wide: &mut [f32]) {
    let (mut at, len) = (0, halves.len().min(wide.len()));
    while at + HALVES <= len {
        // SAFETY: both have these elements.
        unsafe {
            let eight = _mm_loadu_si128(halves.as_ptr().add(at).cast());
            _mm256_storeu_ps(wide.as_mut_ptr().add(at), _mm256_cvtph_ps(eight));
        }
        at += HALVES;
    }
    while at < len {
        wide[at] = widen_f16(halves[at]);
        at += 1;
    }
}

/// Rounds 8 at once.
#[inline]
#[target_feature(enable = "avx,f16c")]
pub(super) fn narrow_halves(wide: &[f32], halves: &mut [f16]) {
    // Rounded, its bits are 0x7fff.
    let nan = _mm256_set1_ps(f32::from_bits(0x7fff_e000));
    let (mut at, len) = (0, halves.len().min(wide.len()));
    while at + HALVES <= len {
        // SAFETY: both have these elements.
        unsafe {
            let eight = _mm256_loadu_ps(wide.as_ptr().add(at));
            let eight = _mm256_blendv_ps(eight, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(eight, eight));
            let rounded = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(eight);
            _mm_storeu_si128(halves.as_mut_ptr().add(at).cast(), rounded);
        }
        at += HALVES;
    }
    while at < len {
        halves[at] = narrow_f16(wide[at]);
        at += 1;
    }
}

/// Converts by one instruction.
#[inline]
#[target_feature(enable = "f16c")]
pub(super) fn widen_f16(value: f16) -> f32 {
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(value.to_bits()))))
}

/// Rounds to nearest, of two to the even one, like [`Stored::narrow`](evenpath_simt::Stored::narrow), with the same NaN.
#[inline]
#[target_feature(enable = "f16c")]
pub(super) fn narrow_f16(value: f32) -> f16 {
    let rounded = _mm_cvtsi128_si32(_mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm_set_ss(value))) as u16;
    f16::from_bits(if value.is_nan() { 0x7fff } else { rounded })
}

#[cfg(test)]
mod tests {
    use evenpath_simt::Stored;

    use super::*;

    #[test]
    fn halves_are_converted_as_by_portable_code() {
        if !is_x86_feature_detected!("f16c") {
            return;
        }
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            // SAFETY: the machine has the instructions.
            let (wide, expected) = (unsafe { widen_f16(half) }, half.widen());
            assert!(wide.to_bits() == expected.to_bits() || half.is_nan() && wide.is_nan(), "{bits:#x}");
            // Below, between, and at each half, and between it and the next.
            let steps = [0_u32, 1, 0xfff, 0x1000, 0x1001, 0x1fff];
            for value in steps.map(|step| f32::from_bits(expected.to_bits().wrapping_add(step))) {
                // SAFETY: the machine has the instructions.
                let narrow = unsafe { narrow_f16(value) };
                assert_eq!(narrow.to_bits(), <f16 as Stored>::narrow(value).to_bits(), "{value:e}");
            }
        }
        // Several at once, and the last one by one.
        let halves: Vec<f16> = (0..=u16::MAX).chain(0..5).map(f16::from_bits).collect();
        let mut wide = vec![0.0; halves.len()];
        // SAFETY: the machine has the instructions.
        unsafe { widen_halves(&halves, &mut wide) };
        let is_same =
            |wide: f32, half: f16| wide.to_bits() == half.widen().to_bits() || wide.is_nan() && half.is_nan();
        assert!(wide.iter().zip(&halves).all(|(&wide, &half)| is_same(wide, half)));
        let values: Vec<f32> = wide.iter().map(|wide| wide * 1.000_3).collect();
        let mut narrow = vec![f16::ZERO; values.len()];
        // SAFETY: the machine has the instructions.
        unsafe { narrow_halves(&values, &mut narrow) };
        for (narrow, &value) in narrow.iter().zip(&values) {
            assert_eq!(narrow.to_bits(), <f16 as Stored>::narrow(value).to_bits(), "{value:e}");
        }
    }
}
