//! The elements: integers, floats and complex numbers.

use evenpath_simt_macros::device;
use half::{bf16, f16};
use num_complex::Complex;

use super::scalar_type::ScalarType;
use super::traits::{AtomicElement, AtomicInteger, Element};

macro_rules! integer_elements {
    ($($type:ident as $unsigned:ident: $name:ident),*) => {$(
        impl Element for $type {
            const TYPE: ScalarType = ScalarType::$name;
            type Words = u64;
            const ZERO: Self = 0;
            #[device]
            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            #[device]
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
        }
    )*};
}
integer_elements!(u8 as u8: U8, u16 as u16: U16, u32 as u32: U32, u64 as u64: U64, i32 as u32: I32, i64 as u64: I64);

macro_rules! implement {
    ($trait:ident: $($type:ident)*) => {$(impl $trait for $type {})*};
}
implement!(AtomicElement: u32 u64 i32 i64 f32 f64);
implement!(AtomicInteger: u32 u64 i32 i64);

macro_rules! float_elements {
    ($($type:ident: $name:ident, $bits:ident, $zero:expr;)*) => {$(
        impl Element for $type {
            const TYPE: ScalarType = ScalarType::$name;
            type Words = u64;
            const ZERO: Self = $zero;
            #[device]
            fn to_bits(self) -> u64 {
                u64::from($type::to_bits(self))
            }
            #[device]
            fn from_bits(bits: u64) -> Self {
                $type::from_bits(bits as $bits)
            }
        }
    )*};
}
float_elements! {
    f16: F16, u16, f16::ZERO;
    bf16: BF16, u16, bf16::ZERO;
    f32: F32, u32, 0.0;
    f64: F64, u64, 0.0;
}

impl Element for Complex<f32> {
    const TYPE: ScalarType = ScalarType::C32;
    type Words = u64;
    const ZERO: Self = Self::new(0.0, 0.0);

    #[device]
    fn to_bits(self) -> u64 {
        u64::from(self.im.to_bits()) << 32 | u64::from(self.re.to_bits())
    }

    #[device]
    fn from_bits(bits: u64) -> Self {
        Self::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32))
    }
}

impl Element for Complex<f64> {
    const TYPE: ScalarType = ScalarType::C64;
    type Words = [u64; 2];
    const ZERO: Self = Self::new(0.0, 0.0);

    #[device]
    fn to_bits(self) -> [u64; 2] {
        [self.re.to_bits(), self.im.to_bits()]
    }

    #[device]
    fn from_bits([re, im]: [u64; 2]) -> Self {
        Self::new(f64::from_bits(re), f64::from_bits(im))
    }
}
