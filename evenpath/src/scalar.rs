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
}

/// The value of a nonzero: `f32` or `f64`. Sealed.
pub trait Value:
    sealed::Sealed + evenpath_simt::Float + bytemuck::Pod + Default + Display + Neg<Output = Self> + Sum
{
    /// Rust's name of the type.
    const NAME: &'static str;
    /// 1.
    const ONE: Self;

    /// Widens to `f64`; exact.
    fn to_f64(self) -> f64;
    /// The nearest value of this type, infinite where `value` is out of range.
    fn from_f64(value: f64) -> Self;
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

value!(f32);
value!(f64);

/// A row offset, which counts nonzeros: `u32`, or `u64` for matrices of 2³² nonzeros and more. Sealed.
///
/// Column indices are always `u32`.
pub trait Offset:
    sealed::Sealed + evenpath_kernels::Offset + bytemuck::Pod + Default + Display + Ord
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
