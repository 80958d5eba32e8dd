//! The traits of an element.

use super::access::{Access, Atomic};
use super::scalar_type::ScalarType;
use super::words::Words;

/// A scalar that device memory can hold and a kernel can be passed.
pub trait Element: Copy + PartialEq + core::fmt::Debug + Send + Sync + 'static + Access {
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

/// Elements of at most 8 bytes, whose bits one word holds.
pub trait Word: Element<Words = u64> {}
impl<T: Element<Words = u64>> Word for T {}

/// Elements with atomic operations: 32- and 64-bit integers; floats add and exchange.
pub trait AtomicElement: Element<Words = u64> + Atomic {}
/// Elements with an atomic minimum, maximum, compare-exchange and disjunction: 32- and 64-bit integers.
pub trait AtomicInteger: AtomicElement + Ord {}
