//! Keys that merges, sets and sorts compare, and the values that go with them.

use evenpath_simt::{device, Element, Packet, Word, Words};

/// A key: 32 or 64 bits, in the order of unsigned integers.
pub trait Key: Word + Ord {}

impl Key for u32 {}
impl Key for u64 {}

/// A value that travels with a key: 32 or 64 bits of any type.
pub trait ValueBits: Word {
    /// Returns the sum of two, taken for what `how` says; the first unless it says sum.
    #[must_use]
    fn combine(self, other: Self, how: Combine) -> Self;
}

/// Treatment of the values of two equal keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// The first input's is kept.
    First,
    /// Their sum, as unsigned or two's complement integers that wrap around.
    AddIntegers,
    /// Their sum, as floating-point numbers: the first input's plus the second's.
    AddFloats,
}

impl Combine {
    /// Returns the code that kernels take as a parameter.
    pub const fn code(self) -> u32 {
        match self {
            Self::First => 0,
            Self::AddIntegers => 1,
            Self::AddFloats => 2,
        }
    }

    /// Returns the variant of a code.
    #[device]
    pub const fn from_code(code: u32) -> Self {
        match code {
            0 => Self::First,
            1 => Self::AddIntegers,
            _ => Self::AddFloats,
        }
    }
}

macro_rules! bits {
    ($($type:ident as $float:ident),*) => {$(
        impl ValueBits for $type {
            #[device]
            fn combine(self, other: Self, how: Combine) -> Self {
                match how {
                    Combine::First => self,
                    Combine::AddIntegers => self.wrapping_add(other),
                    Combine::AddFloats => ($float::from_bits(self) + $float::from_bits(other)).to_bits(),
                }
            }
        }
    )*};
}
bits!(u32 as f32, u64 as f64);

/// Returns the packet of the elements that `element` gives for 0, 1, …
#[device]
pub fn packet_of<T: Element>(element: impl Fn(usize) -> T) -> Packet {
    let mut packet = [0; 2];
    for index in 0..16 / T::SIZE {
        let bits = element(index).to_bits();
        T::Words::each(|word| {
            packet[index * T::SIZE / 8 + word] |= bits.word(word) << (index * T::SIZE % 8 * 8);
        });
    }
    packet
}

/// Returns an element of a packet.
#[device]
pub fn element_of<T: Element>(packet: Packet, index: usize) -> T {
    let (first, shift) = (index * T::SIZE / 8, index * T::SIZE % 8 * 8);
    T::from_bits(T::Words::from_fn(|word| packet[first + word] >> shift))
}
