//! Semirings: sums and products other than those of numbers.

#[cfg(target_arch = "nvptx64")]
mod access;
mod semirings;

pub use semirings::{In, MaxPlus, MaxTimes, MinFirst, MinPlus, OrAnd, PlusPair, PlusTimes, Semiring};
