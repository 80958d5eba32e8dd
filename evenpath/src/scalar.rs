//! The scalars that matrices are made of: values and row offsets.

use std::fmt::Display;
use std::iter::Sum;
use std::ops::Neg;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}

    /// Text form of a value; for this crate's readers and writers.
    pub trait Decimal: Sized {
        /// The number that `text` starts with, and its length. Rounds to nearest; beyond the range it is
        /// infinite. `inf`, `infinity` and `nan` in any case are numbers too.
        fn parse_prefix(text: &[u8]) -> Option<(Self, usize)>;
        /// Appends the shortest text that [`parse_prefix`](Self::parse_prefix) reads as the same value.
        fn push_shortest(self, text: &mut Vec<u8>);
    }
}

pub(crate) use sealed::Decimal;

/// The value of a nonzero: `f32` or `f64`. Sealed.
pub trait Value:
    sealed::Sealed
    + Decimal
    + evenpath_simt::Float
    + evenpath_kernels::spmv::AtomicFloat
    + crate::op::scan::Element
    + crate::op::SortValue
    + bytemuck::Pod
    + Default
    + Display
    + Neg<Output = Self>
    + Sum
{
    /// Rust's name of the type.
    const NAME: &'static str;
    /// 1.
    const ONE: Self;

    /// Widens to `f64`; exact.
    fn to_f64(self) -> f64;
    /// The nearest value of this type, infinite where `value` is out of range.
    fn from_f64(value: f64) -> Self;
    /// The nearest value of this type.
    fn from_u64(value: u64) -> Self;
    /// `self * a + b`, rounded once. Slow on a CPU without such an instruction.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The magnitude.
    #[must_use]
    fn abs(self) -> Self;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! value {
    ($type:ident) => {
        impl Value for $type {
            const NAME: &'static str = stringify!($type);
            const ONE: Self = 1.0;

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn from_u64(value: u64) -> Self {
                value as Self
            }

            fn mul_add(self, a: Self, b: Self) -> Self {
                self.mul_add(a, b)
            }

            fn abs(self) -> Self {
                self.abs()
            }

            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    };
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

/// A row offset, which counts nonzeros: `u32`, or `u64` for matrices of 2³² nonzeros and more. Sealed.
///
/// Column indices are always `u32`.
pub trait Offset:
    sealed::Sealed + evenpath_kernels::Offset + evenpath_kernels::Key + bytemuck::Pod + Default + Display
{
    /// Rust's name of the type.
    const NAME: &'static str;
    /// The offset as a number; exact.
    fn to_u64(self) -> u64;
    /// The offset for an index, if this type can hold it.
    fn try_from_usize(index: usize) -> Option<Self>;
}

macro_rules! offset {
    ($type:ident) => {
        impl Offset for $type {
            const NAME: &'static str = stringify!($type);
            fn to_u64(self) -> u64 {
                u64::from(self)
            }

            fn try_from_usize(index: usize) -> Option<Self> {
                index.try_into().ok()
            }
        }
    };
}

offset!(u32);
offset!(u64);
