//! The scalars that matrices are made of: values and row offsets.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// The value of a nonzero: `f32` or `f64`. Sealed.
pub trait Value:
    sealed::Sealed
    + bytemuck::Pod
    + Add<Output = Self>
    + AddAssign
    + Debug
    + Default
    + Display
    + Mul<Output = Self>
    + Neg<Output = Self>
    + PartialOrd
    + Send
    + Sub<Output = Self>
    + Sum
    + Sync
{
    /// Rust's name of the type.
    const NAME: &'static str;
    /// 0.
    const ZERO: Self;
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
            const ZERO: Self = 0.0;
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
pub trait Offset: sealed::Sealed + bytemuck::Pod + Debug + Default + Display + Ord + Send + Sync {
    /// Rust's name of the type.
    const NAME: &'static str;
    /// 0.
    const ZERO: Self;

    /// The offset as an index. Exact for every offset of a valid matrix, whose arrays are in memory.
    fn to_usize(self) -> usize;
    /// The offset as a number; exact.
    fn to_u64(self) -> u64;
    /// The offset for an index, if this type can hold it.
    fn try_from_usize(index: usize) -> Option<Self>;
}

macro_rules! offset {
    ($type:ident) => {
        impl Offset for $type {
            const NAME: &'static str = stringify!($type);
            const ZERO: Self = 0;

            fn to_usize(self) -> usize {
                // Saturates where `usize` is narrower, so that validation sees an offset out of range.
                usize::try_from(self).unwrap_or(usize::MAX)
            }

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
