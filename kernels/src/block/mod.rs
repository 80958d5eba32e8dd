//! What the threads of a block do together, through shared memory; what blocks tell each other; and
//! where a block's share of the whole begins.

use core::ops::{Add, Shr, Sub};

pub mod balanced_path;
pub mod count_scan;
pub mod filled_rows;
pub mod lookback;
pub mod merge_path;
pub mod merge_share;
pub mod numbered_bits;
pub mod operator;
pub mod output;
pub mod pair_search;
pub mod radix_rank;
pub mod radix_sort;
pub mod reduce;
pub mod search;
pub mod segmented_scan;
pub mod staged;
pub mod tagged_sums;
pub mod tile_prefix;
pub mod tile_scan;
pub mod two_sequences;
pub mod warp_search;

/// The integers that searches count with: `u32` inside a tile, `u64` or `usize` in all of memory.
pub trait Index:
    Copy + PartialOrd + From<u8> + Add<Output = Self> + Sub<Output = Self> + Shr<u32, Output = Self>
{
}

impl<T> Index for T where
    T: Copy + PartialOrd + From<u8> + Add<Output = T> + Sub<Output = T> + Shr<u32, Output = T>
{
}
