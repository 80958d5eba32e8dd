//! Arithmetic on elements.

use evenpath_simt_macros::device;
use half::{bf16, f16};
use num_complex::Complex;

use crate::element::{AtomicElement, Element};
use crate::machine;

/// Elements with a sum, whose identity is [`ZERO`](Element::ZERO), and a product: what the kernels of products of matrices need.
pub trait Arithmetic:
    Element + core::ops::Add<Output = Self> + core::ops::Mul<Output = Self> + core::ops::AddAssign
{
    /// The element whose sum with any is that one, to the bit: −0 for floats, since the sum of −0 and 0 is 0.
    const NEUTRAL: Self = Self::ZERO;

    /// `self * factor + addend`, rounded once. Nothing is contracted unless it is asked for.
    #[must_use]
    fn fma(self, factor: Self, addend: Self) -> Self;

    /// Returns the complex conjugate: the element itself, unless it is complex.
    #[must_use]
    #[device]
    fn conjugate(self) -> Self {
        self
    }

    /// Returns `self` times the element at an address, or `self` if the address is zero. The GPU has one opaque block
    /// of instructions without a branch, so that the result takes a register only where it is used.
    #[must_use]
    fn times_element_at(self, address: u64) -> Self;
}

/// Floating-point elements, and the arithmetic that kernels need beyond [`Arithmetic`].
pub trait Float:
    Arithmetic + AtomicElement + PartialOrd + core::ops::Sub<Output = Self> + core::ops::Div<Output = Self>
{
    /// Returns the square root, rounded once.
    #[must_use]
    fn sqrt(self) -> Self;
}

macro_rules! float_arithmetic {
    ($($type:ident: $fma:ident, $times:ident, $sqrt:ident);*) => {$(
        impl Arithmetic for $type {
            const NEUTRAL: Self = -0.0;

            #[device]
            fn fma(self, factor: Self, addend: Self) -> Self {
                machine::$fma(self, factor, addend)
            }

            #[device(track_caller)]
            fn times_element_at(self, address: u64) -> Self {
                machine::$times(self, address)
            }
        }
        impl Float for $type {
            #[device]
            fn sqrt(self) -> Self {
                machine::$sqrt(self)
            }
        }
    )*};
}
float_arithmetic!(f32: fma_f32, times_f32, sqrt_f32; f64: fma_f64, times_f64, sqrt_f64);

/// An element as memory holds it, and the type of computations with it: `f32` and `f64` are both, and `f32` is that of
/// the 16-bit `f16` and `bf16`.
pub trait Stored: Element {
    /// Type of computations with it.
    type Compute: Arithmetic + Stored<Compute = Self::Compute>;

    /// Returns the same number; exact.
    fn widen(self) -> Self::Compute;
    /// Returns the nearest number of this type, of two the even one; infinite beyond its range.
    #[must_use]
    fn narrow(value: Self::Compute) -> Self;
}

macro_rules! stored_as_computed {
    ($($type:ty),*) => {$(
        impl Stored for $type {
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
    )*};
}
stored_as_computed!(f32, f64, Complex<f32>, Complex<f64>);

/// An element as memory holds it that computations in `V` take: a value of a matrix whose products are computed and summed in `V`.
pub trait WidenTo<V>: Element {
    /// Returns the same number; exact.
    fn widen_to(self) -> V;
}

impl<S: Stored> WidenTo<S::Compute> for S {
    #[device]
    fn widen_to(self) -> S::Compute {
        self.widen()
    }
}

impl WidenTo<f64> for f32 {
    #[device]
    fn widen_to(self) -> f64 {
        f64::from(self)
    }
}

macro_rules! stored_as_halves {
    ($($type:ident: $widen:expr, $narrow:expr;)*) => {$(
        impl Stored for $type {
            type Compute = f32;
            #[device]
            fn widen(self) -> f32 {
                $widen(self)
            }
            #[device]
            fn narrow(value: f32) -> Self {
                $narrow(value)
            }
        }
    )*};
}
stored_as_halves! {
    f16: |half: f16| machine::widen_f16(half.to_bits()), |value| f16::from_bits(machine::narrow_f16(value));
    bf16: |half: bf16| f32::from_bits(u32::from(half.to_bits()) << 16), narrow_bf16;
}

/// Rounds by integer operations, because GPUs before `sm_80` have no such instruction.
#[device]
fn narrow_bf16(value: f32) -> bf16 {
    let bits = value.to_bits();
    // Adds half of the last place that stays, or a little less if that place is even; the carry may run into the
    // exponent, and up to infinity.
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // Rounding could make infinity, or zero, of what is no number.
    let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
    bf16::from_bits(if is_nan { bits >> 16 | 0x40 } else { rounded } as u16)
}
