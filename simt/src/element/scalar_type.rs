//! Names of the scalars at run time.

/// The name of a scalar type at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ScalarType {
    U8,
    U16,
    U32,
    U64,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    C32,
    C64,
    /// An element [of a semiring](crate::semiring::In).
    In {
        semiring: &'static str,
        value: &'static ScalarType,
    },
}

impl ScalarType {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
            Self::In { value, .. } => value.size(),
        }
    }

    /// Alignment of one element that is passed to a kernel: of each part of a complex number.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) const fn align(self) -> usize {
        match self {
            Self::C32 | Self::C64 => self.size() / 2,
            _ => self.size(),
        }
    }

    /// Rust's name of the type; of an element of a semiring, that of its number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C32 => "Complex<f32>",
            Self::C64 => "Complex<f64>",
            Self::In { value, .. } => value.name(),
        }
    }
}

impl core::fmt::Display for ScalarType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// 16 bytes of neighbouring elements, the first in the lowest bits: what one access moves at most.
pub type Packet = [u64; 2];
