//! The vector instructions that the processor has.

/// The instructions that compute sums. They determine the rounding, and are the same in every run on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpmmInstructions {
    /// Instructions that every machine has.
    Portable,
    /// AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `Avx2` and AVX-512 F.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl SpmmInstructions {
    /// Lists the instructions of this machine, the fastest last.
    pub(super) fn of_machine() -> Vec<Self> {
        let mut usable = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
        {
            usable.push(Self::Avx2);
            usable.extend(is_x86_feature_detected!("avx512f").then_some(Self::Avx512));
        }
        usable
    }

    /// Returns the fastest of them.
    pub(super) fn fastest() -> Self {
        Self::of_machine().pop().unwrap_or(Self::Portable)
    }
}
