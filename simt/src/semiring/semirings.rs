//! The semirings, and elements that compute in one.
//!
//! A kernel that is generic over [`Arithmetic`] computes in a semiring if its elements are [`In`] it.

use core::fmt::Debug;
use core::marker::PhantomData;
use core::ops::{Add, AddAssign, Mul};

use evenpath_simt_macros::device;

use crate::arithmetic::{Arithmetic, Stored};
use crate::element::{Element, ScalarType};

mod sealed {
    /// Sealed part of [`Semiring`](super::Semiring): kernels are compiled for a closed list.
    pub trait Sealed<V> {}
}

/// A sum with an identity, and a product, of elements of type `V`. The sum is associative and commutative, but for rounding.
/// Sealed.
pub trait Semiring<V>: Copy + PartialEq + Debug + Send + Sync + 'static + sealed::Sealed<V> {
    /// The element of kernels, which has the bits of a `V`.
    #[doc(hidden)]
    type Element: Arithmetic + Stored<Compute = Self::Element>;
    /// Name of the semiring, such as `min-plus`.
    const NAME: &'static str;
    /// The identity of the sum.
    const ZERO: V;
    /// Returns the sum.
    #[must_use]
    fn plus(a: V, b: V) -> V;
    /// Returns the product.
    #[must_use]
    fn times(a: V, b: V) -> V;
    /// Returns the product of two elements plus a third.
    #[must_use]
    #[device]
    fn multiply_add(a: V, b: V, addend: V) -> V {
        Self::plus(Self::times(a, b), addend)
    }
}

/// Sum and product of numbers. Integers wrap around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlusTimes;

/// The minimum as the sum, and the sum as the product: lengths of shortest paths.
///
/// The zero is infinity; of an integer type, its greatest element. Infinity plus anything is infinity. Sums of integers stop
/// at the least and at the greatest element. A number is less than NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinPlus;

/// The maximum as the sum, and the sum as the product: lengths of longest paths.
///
/// The zero is minus infinity; of an integer type, its least element. Minus infinity plus anything is minus infinity. Sums of
/// integers stop at the least and at the greatest element. A number is greater than NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxPlus;

/// The maximum as the sum, and the product: paths of the greatest probability. For numbers that are not negative; its zero is
/// 0. A number is greater than NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxTimes;

/// Disjunction as the sum, and conjunction as the product: which vertices an edge reaches. 0 is false, and any other element
/// true; results are 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrAnd;

/// Sum of ones: the product of any two elements is 1, which counts the pairs of entries that meet. Counts wrap around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlusPair;

/// The minimum as the sum, and the first factor as the product: the least of the matrix's entries that meet an entry of the
/// other operand. The zero is infinity; of an integer type, its greatest element. A number is less than NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinFirst;

macro_rules! semirings {
    ($($semiring:ident $name:literal, $type:ident as $element:ty: $zero:expr, |$a:ident, $b:ident| $plus:expr, $times:expr;)*) => {$(
        impl sealed::Sealed<$type> for $semiring {}
        impl Semiring<$type> for $semiring {
            type Element = $element;
            const NAME: &'static str = $name;
            const ZERO: $type = $zero;
            #[device]
            fn plus($a: $type, $b: $type) -> $type {
                $plus
            }
            #[device]
            #[allow(unused_variables)]
            fn times($a: $type, $b: $type) -> $type {
                $times
            }
        }
    )*};
}

/// Returns the lesser of two; a number rather than NaN.
#[device]
#[allow(clippy::eq_op)] // Only NaN differs from itself.
fn lesser<V: PartialOrd>(a: V, b: V) -> V {
    if b < a || a != a {
        b
    } else {
        a
    }
}

/// Returns the greater of two; a number rather than NaN.
#[device]
#[allow(clippy::eq_op)] // Only NaN differs from itself.
fn greater<V: PartialOrd>(a: V, b: V) -> V {
    if b > a || a != a {
        b
    } else {
        a
    }
}

macro_rules! semirings_of_floats {
    ($($type:ident)*) => {$(
        impl sealed::Sealed<$type> for PlusTimes {}
        impl Semiring<$type> for PlusTimes {
            type Element = $type;
            const NAME: &'static str = "plus-times";
            const ZERO: $type = 0.0;
            #[device]
            fn plus(a: $type, b: $type) -> $type {
                a + b
            }
            #[device]
            fn times(a: $type, b: $type) -> $type {
                a * b
            }
            #[device]
            fn multiply_add(a: $type, b: $type, addend: $type) -> $type {
                Arithmetic::fma(a, b, addend)
            }
        }
        semirings! {
            MinPlus "min-plus", $type as In<MinPlus, $type>: $type::INFINITY, |a, b| lesser(a, b), a + b;
            MaxPlus "max-plus", $type as In<MaxPlus, $type>: $type::NEG_INFINITY, |a, b| greater(a, b), a + b;
            MaxTimes "max-times", $type as In<MaxTimes, $type>: 0.0, |a, b| greater(a, b), a * b;
            MinFirst "min-first", $type as In<MinFirst, $type>: $type::INFINITY, |a, b| lesser(a, b), a;
        }
    )*};
}
semirings_of_floats!(f32 f64);

/// Those of integers; where signs do not matter, kernels compute with the unsigned type.
macro_rules! semirings_of_integers {
    ($($type:ident as $unsigned:ident),*) => {$(
        semirings! {
            PlusTimes "plus-times", $type as In<PlusTimes, $unsigned>: 0, |a, b| a.wrapping_add(b), a.wrapping_mul(b);
            PlusPair "plus-pair", $type as In<PlusPair, $unsigned>: 0, |a, b| a.wrapping_add(b), 1;
            MinPlus "min-plus", $type as In<MinPlus, $type>: $type::MAX, |a, b| lesser(a, b),
                if a == $type::MAX || b == $type::MAX { $type::MAX } else { a.saturating_add(b) };
        }
    )*};
}
semirings_of_integers!(u32 as u32, i32 as u32, u64 as u64, i64 as u64);

macro_rules! max_plus_of_integers {
    ($($type:ident)*) => {$(
        semirings! {
            MaxPlus "max-plus", $type as In<MaxPlus, $type>: $type::MIN, |a, b| greater(a, b),
                if a == $type::MIN || b == $type::MIN { $type::MIN } else { a.saturating_add(b) };
        }
    )*};
}
max_plus_of_integers!(i32 i64);

semirings! {
    OrAnd "or-and", u32 as In<OrAnd, u32>: 0, |a, b| u32::from(a != 0 || b != 0), u32::from(a != 0 && b != 0);
    OrAnd "or-and", i32 as In<OrAnd, u32>: 0, |a, b| i32::from(a != 0 || b != 0), i32::from(a != 0 && b != 0);
    MinFirst "min-first", u32 as In<MinFirst, u32>: u32::MAX, |a, b| lesser(a, b), a;
    MinFirst "min-first", u64 as In<MinFirst, u64>: u64::MAX, |a, b| lesser(a, b), a;
}

/// An element of a semiring: in memory a `V`, in kernels with the sum and the product of `S`. Its zero is that of the
/// semiring, whose bits need not be zero.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct In<S, V> {
    pub(crate) value: V,
    semiring: PhantomData<S>,
}

impl<S, V> In<S, V> {
    #[device]
    pub(crate) const fn new(value: V) -> Self {
        Self { value, semiring: PhantomData }
    }
}

impl<S: Semiring<V>, V: Element> Element for In<S, V> {
    const TYPE: ScalarType = ScalarType::In { semiring: S::NAME, value: &V::TYPE };
    type Words = V::Words;
    const ZERO: Self = Self { value: S::ZERO, semiring: PhantomData };
    #[device]
    fn to_bits(self) -> V::Words {
        self.value.to_bits()
    }
    #[device]
    fn from_bits(bits: V::Words) -> Self {
        Self::new(V::from_bits(bits))
    }
}

impl<S: Semiring<V>, V> Add for In<S, V> {
    type Output = Self;
    #[device]
    fn add(self, other: Self) -> Self {
        Self::new(S::plus(self.value, other.value))
    }
}

impl<S: Semiring<V>, V> Mul for In<S, V> {
    type Output = Self;
    #[device]
    fn mul(self, other: Self) -> Self {
        Self::new(S::times(self.value, other.value))
    }
}

impl<S: Semiring<V>, V: Copy> AddAssign for In<S, V> {
    #[device]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<S: Semiring<V>, V: Element> Arithmetic for In<S, V> {
    const NEUTRAL: Self = Self::ZERO;

    #[device]
    fn fma(self, factor: Self, addend: Self) -> Self {
        Self::new(S::multiply_add(self.value, factor.value, addend.value))
    }

    #[device(track_caller)]
    fn times_element_at(self, address: u64) -> Self {
        if address == 0 {
            self
        } else {
            self * crate::machine::load(address)
        }
    }
}

impl<S: Semiring<V>, V: Element> Stored for In<S, V> {
    type Compute = Self;
    #[device]
    fn widen(self) -> Self {
        self
    }
    #[device]
    fn narrow(value: Self) -> Self {
        value
    }
}
