//! Vector instructions that compute sums.

/// The instructions that compute sums. They determine the rounding, and are the same in every run on a
/// machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpmvInstructions {
    /// Instructions that every machine has.
    Portable,
    /// AVX2 and FMA; elements of x are loaded one by one.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F and VL for f64, AVX2 for f32; elements of x are gathered by signed 32-bit indices.
    #[cfg(target_arch = "x86_64")]
    Gathers,
}

impl SpmvInstructions {
    /// Lists the instructions of this machine that suit a vector of this length, the fastest last.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(super) fn of_machine(x_len: usize) -> Vec<Self> {
        let mut usable = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            usable.extend(has_avx2().then_some(Self::Avx2));
            usable.extend(has_gathers(x_len).then_some(Self::Gathers));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = x_len;
        usable
    }

    /// Returns the fastest of them.
    pub(super) fn fastest(x_len: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if has_gathers(x_len) && is_intel() {
                return Self::Gathers;
            }
            if has_avx2() {
                return Self::Avx2;
            }
        }
        let _ = x_len;
        Self::Portable
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_gathers(x_len: usize) -> bool {
    let has_avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
    has_avx512 && has_avx2() && i32::try_from(x_len).is_ok()
}

/// Returns whether the processor is Intel's. On AMD's, gathers and masked loads take several times as long as
/// single loads.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    use std::arch::x86_64::__cpuid;
    use std::sync::OnceLock;

    static IS_INTEL: OnceLock<bool> = OnceLock::new();
    *IS_INTEL.get_or_init(|| {
        let vendor = __cpuid(0);
        [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_instructions_are_among_those_of_the_machine() {
        for x_len in [0, 1000, 1 << 31] {
            assert!(SpmvInstructions::of_machine(x_len).contains(&SpmvInstructions::fastest(x_len)));
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn vectors_beyond_signed_indices_are_not_gathered() {
        assert!(!SpmvInstructions::of_machine(1 << 31).contains(&SpmvInstructions::Gathers));
    }
}
