//! The scalars that device memory holds.

use crate::machine;

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
    F32,
    F64,
}

impl ScalarType {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Rust's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
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

/// A scalar that device memory can hold and a kernel can be passed.
pub trait Element: Copy + PartialEq + core::fmt::Debug + Send + Sync + 'static + machine::Access {
    /// The type's name at run time.
    const TYPE: ScalarType;
    /// Bytes of one element; its alignment too.
    const SIZE: usize = Self::TYPE.size();
    /// The all-zero element.
    const ZERO: Self;
    /// The element's bits, in the low bytes of a word.
    fn to_bits(self) -> u64;
    /// The element with the given bits; the word's upper bytes are ignored.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! integer_elements {
    ($($type:ident as $unsigned:ident: $name:ident),*) => {$(
        impl Element for $type {
            const TYPE: ScalarType = ScalarType::$name;
            const ZERO: Self = 0;
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
}
integer_elements!(u8 as u8: U8, u16 as u16: U16, u32 as u32: U32, u64 as u64: U64, i32 as u32: I32, i64 as u64: I64);

/// Floating-point elements and the arithmetic that kernels need beyond `+` and `*`.
pub trait Float:
    crate::atomic::AtomicElement
    + PartialOrd
    + core::ops::Add<Output = Self>
    + core::ops::Sub<Output = Self>
    + core::ops::Mul<Output = Self>
    + core::ops::AddAssign
{
    /// `self * factor + addend`, rounded once. Nothing is contracted unless it is asked for.
    #[must_use]
    fn fma(self, factor: Self, addend: Self) -> Self;
}

macro_rules! float_elements {
    ($($type:ident: $name:ident, $bits:ident, $fma:ident);*) => {$(
        impl Element for $type {
            const TYPE: ScalarType = ScalarType::$name;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from($type::to_bits(self))
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                $type::from_bits(bits as $bits)
            }
        }
        impl Float for $type {
            #[inline(always)]
            fn fma(self, factor: Self, addend: Self) -> Self {
                machine::$fma(self, factor, addend)
            }
        }
    )*};
}
float_elements!(f32: F32, u32, fma_f32; f64: F64, u64, fma_f64);
