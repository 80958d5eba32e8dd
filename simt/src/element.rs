//! The scalars that device memory holds.

use evenpath_simt_macros::device;

use crate::machine;
use half::{bf16, f16};

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

/// A scalar that device memory can hold and a kernel can be passed.
pub trait Element: Copy + PartialEq + core::fmt::Debug + Send + Sync + 'static + machine::Access {
    /// The type's name at run time.
    const TYPE: ScalarType;
    /// The words that hold its bits.
    type Words: Words;
    /// Bytes of one element; its alignment too.
    const SIZE: usize = Self::TYPE.size();
    /// Bytes of each of its words that hold bits.
    const WORD_SIZE: usize = if Self::SIZE < 8 { Self::SIZE } else { 8 };
    /// The element whose bits are all zero; of a semiring, the identity of its sum.
    const ZERO: Self;
    /// Returns the element's bits, in the low bytes of a word, or in two words.
    fn to_bits(self) -> Self::Words;
    /// Returns the element with the given bits; the upper bytes of the word of a smaller element are ignored.
    fn from_bits(bits: Self::Words) -> Self;
}

/// Words of 8 bytes that hold the bits of an element: `u64`, or `[u64; 2]` for an element of 16 bytes.
pub trait Words: Copy + core::fmt::Debug {
    /// How many they are.
    const COUNT: usize;
    /// Something of each word: as many `T` as there are words.
    type Each<T: Copy>: Copy;
    /// Makes them of what `word` returns for the index of each.
    fn from_fn(word: impl FnMut(usize) -> u64) -> Self;
    /// Returns the word with an index below [`COUNT`](Self::COUNT).
    fn word(self, index: usize) -> u64;
    /// Returns what `of_word` returns for the index of each word.
    fn each<T: Copy>(of_word: impl FnMut(usize) -> T) -> Self::Each<T>;
    /// Returns that of one word.
    fn of<T: Copy>(each: Self::Each<T>, index: usize) -> T;
}

impl Words for u64 {
    const COUNT: usize = 1;
    type Each<T: Copy> = T;
    #[device(track_caller)]
    fn from_fn(mut word: impl FnMut(usize) -> u64) -> Self {
        word(0)
    }
    #[device]
    fn word(self, _: usize) -> u64 {
        self
    }
    #[device(track_caller)]
    fn each<T: Copy>(mut of_word: impl FnMut(usize) -> T) -> T {
        of_word(0)
    }
    #[device]
    fn of<T: Copy>(each: T, _: usize) -> T {
        each
    }
}

impl Words for [u64; 2] {
    const COUNT: usize = 2;
    type Each<T: Copy> = [T; 2];
    #[device(track_caller)]
    fn from_fn(mut word: impl FnMut(usize) -> u64) -> Self {
        [word(0), word(1)]
    }
    #[device]
    fn word(self, index: usize) -> u64 {
        self[index]
    }
    #[device(track_caller)]
    fn each<T: Copy>(mut of_word: impl FnMut(usize) -> T) -> [T; 2] {
        [of_word(0), of_word(1)]
    }
    #[device]
    fn of<T: Copy>(each: [T; 2], index: usize) -> T {
        each[index]
    }
}

/// Elements of at most 8 bytes, whose bits one word holds.
pub trait Word: Element<Words = u64> {}
impl<T: Element<Words = u64>> Word for T {}

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

/// Elements with atomic operations: 32- and 64-bit integers; floats add and exchange.
pub trait AtomicElement: Element<Words = u64> + machine::Atomic {}
/// Elements with an atomic minimum, maximum, compare-exchange and disjunction: 32- and 64-bit integers.
pub trait AtomicInteger: AtomicElement + Ord {}

macro_rules! implement {
    ($trait:ident: $($type:ident)*) => {$(impl $trait for $type {})*};
}
implement!(AtomicElement: u32 u64 i32 i64 f32 f64);
implement!(AtomicInteger: u32 u64 i32 i64);

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

macro_rules! float_elements {
    ($($type:ident: $name:ident, $bits:ident, $fma:ident, $times:ident, $sqrt:ident);*) => {$(
        impl Element for $type {
            const TYPE: ScalarType = ScalarType::$name;
            type Words = u64;
            const ZERO: Self = 0.0;
            #[device]
            fn to_bits(self) -> u64 {
                u64::from($type::to_bits(self))
            }
            #[device]
            fn from_bits(bits: u64) -> Self {
                $type::from_bits(bits as $bits)
            }
        }
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
float_elements!(f32: F32, u32, fma_f32, times_f32, sqrt_f32; f64: F64, u64, fma_f64, times_f64, sqrt_f64);

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
    ($($type:ident),*) => {$(
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
stored_as_computed!(f32, f64);

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

macro_rules! half_elements {
    ($($type:ident: $name:ident, $widen:expr, $narrow:expr;)*) => {$(
        impl Element for $type {
            const TYPE: ScalarType = ScalarType::$name;
            type Words = u64;
            const ZERO: Self = $type::ZERO;
            #[device]
            fn to_bits(self) -> u64 {
                u64::from($type::to_bits(self))
            }
            #[device]
            fn from_bits(bits: u64) -> Self {
                $type::from_bits(bits as u16)
            }
        }
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
half_elements! {
    f16: F16, |half: f16| machine::widen_f16(half.to_bits()), |value| f16::from_bits(machine::narrow_f16(value));
    bf16: BF16, |half: bf16| f32::from_bits(u32::from(half.to_bits()) << 16), narrow_bf16;
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
