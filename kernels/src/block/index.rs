//! The integers that searches count with.

use core::ops::{Add, Shr, Sub};

/// The integers that searches count with: `u32` inside a tile, `u64` or `usize` in all of memory.
pub trait Index:
    Copy + PartialOrd + From<u8> + Add<Output = Self> + Sub<Output = Self> + Shr<u32, Output = Self>
{
}

impl<T> Index for T where
    T: Copy + PartialOrd + From<u8> + Add<Output = T> + Sub<Output = T> + Shr<u32, Output = T>
{
}
