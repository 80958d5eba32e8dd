//! Parameters of PTX entries.

use evenpath_simt_macros::device;

use crate::element::{Element, Words};
use crate::global::{Alignment, Global, GlobalMut};

/// A type that a PTX entry takes as a parameter, by itself or as a field of a struct.
///
/// Scalars and views are passed as they are. A struct is passed with each of its fields in words of its own, because
/// the compiler loads a struct in words of 8 bytes: two fields in one word would stay in registers for as long as
/// either is used.
pub trait EntryParameter: Copy {
    /// Type of the entry's parameter.
    type Passed: Copy;
    /// Type of a field of a struct parameter: a multiple of 8 bytes.
    type Field: Copy;

    /// Returns the value that was passed by itself.
    fn receive(passed: Self::Passed) -> Self;

    /// Returns the value that was passed as a field of a struct.
    fn receive_field(field: Self::Field) -> Self;
}

impl<T: Element> EntryParameter for T {
    type Passed = Self;
    type Field = T::Words;

    #[device]
    fn receive(passed: Self) -> Self {
        passed
    }

    #[device]
    fn receive_field(field: T::Words) -> Self {
        if T::SIZE <= 4 {
            T::from_bits(T::Words::from_fn(|index| u64::from(low_half(field.word(index)))))
        } else {
            T::from_bits(field)
        }
    }
}

impl<T: Element, A: Alignment> EntryParameter for Global<T, A> {
    type Passed = Self;
    type Field = Self;

    #[device]
    fn receive(passed: Self) -> Self {
        passed
    }

    #[device]
    fn receive_field(field: Self) -> Self {
        field
    }
}

impl<T: Element, A: Alignment> EntryParameter for GlobalMut<T, A> {
    type Passed = Self;
    type Field = Self;

    #[device]
    fn receive(passed: Self) -> Self {
        passed
    }

    #[device]
    fn receive_field(field: Self) -> Self {
        field
    }
}

/// Returns the lower 32 bits. The GPU has one instruction that is opaque to LLVM, which otherwise computes with 64 bits
/// and keeps them in two registers, while the assembler reads 32 bits from the constant bank each time.
#[device]
fn low_half(word: u64) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        crate::machine::low_half(word)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        word as u32
    }
}
