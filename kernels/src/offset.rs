//! Row offsets, in both widths.

use evenpath_simt::{device, Word};

/// The type of row offsets: u32, or u64 for matrices with 2³² nonzeros and more.
pub trait Offset: Word {
    /// Converts to an index. Saturates if `usize` is narrower, so that validation finds an offset that is out of range.
    fn to_usize(self) -> usize;
}

impl Offset for u32 {
    #[device]
    fn to_usize(self) -> usize {
        self as usize
    }
}

impl Offset for u64 {
    #[device]
    fn to_usize(self) -> usize {
        if size_of::<usize>() < 8 && self > usize::MAX as u64 {
            return usize::MAX;
        }
        self as usize
    }
}
