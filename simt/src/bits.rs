//! Counts of the set bits of a 64-bit word, and of the zeros above and below them.
//!
//! Kernels call these in place of the methods of `u64`: `rustc_codegen_nvvm` leaves their results undefined for every
//! integer that does not have 32 bits. The methods of `u32` are right under both compilers.

use evenpath_simt_macros::device;

use crate::machine;

/// Bits that are set.
///
/// ```
/// assert_eq!(evenpath_simt::bits::count_ones(0xf0 << 40), 4);
/// ```
#[device]
#[must_use]
pub fn count_ones(word: u64) -> u32 {
    machine::count_ones(word)
}

/// Bits above the highest that is set; 64 if none is.
///
/// ```
/// assert_eq!(evenpath_simt::bits::leading_zeros(1 << 40), 23);
/// assert_eq!(evenpath_simt::bits::leading_zeros(0), 64);
/// ```
#[device]
#[must_use]
pub fn leading_zeros(word: u64) -> u32 {
    machine::leading_zeros(word)
}

/// Bits below the lowest that is set; 64 if none is.
///
/// ```
/// assert_eq!(evenpath_simt::bits::trailing_zeros(0xf0 << 40), 44);
/// assert_eq!(evenpath_simt::bits::trailing_zeros(0), 64);
/// ```
#[device]
#[must_use]
pub fn trailing_zeros(word: u64) -> u32 {
    machine::trailing_zeros(word)
}
