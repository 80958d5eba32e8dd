//! Sizes of blocks that the compiler knows, and the lanes of a warp for a block.
//!
//! A lane loads `width` values at once, of one row of a block. A block takes `lanes` lanes, which load it in
//! `sums` loads each, and a warp has `slots` times as many, so that it loads as many blocks at once.

use evenpath_simt::{thread, Element};

/// Rows and columns of a block.
pub trait BlockSize: 'static {
    /// The size; 0 if only the launch knows it.
    const SIZE: usize;
}

/// A size that the compiler knows.
#[derive(Debug)]
pub struct Fixed<const SIZE: usize>;

impl<const SIZE: usize> BlockSize for Fixed<SIZE> {
    const SIZE: usize = SIZE;
}

/// Any size up to [`MAX_BLOCK_SIZE`].
#[derive(Debug)]
pub struct AnySize;

impl BlockSize for AnySize {
    const SIZE: usize = 0;
}

/// The maximum size of blocks: a row of a block is at most a warp.
pub const MAX_BLOCK_SIZE: usize = thread::WARP_SIZE as usize;

/// Sizes of which the kernels have instances; others are [`AnySize`].
pub const FIXED_SIZES: [usize; 7] = [2, 3, 4, 5, 6, 8, 16];

/// 2 x 2.
pub type Blocks2 = Fixed<2>;
/// 3 x 3.
pub type Blocks3 = Fixed<3>;
/// 4 x 4.
pub type Blocks4 = Fixed<4>;
/// 5 x 5.
pub type Blocks5 = Fixed<5>;
/// 6 x 6.
pub type Blocks6 = Fixed<6>;
/// 8 x 8.
pub type Blocks8 = Fixed<8>;
/// 16 x 16.
pub type Blocks16 = Fixed<16>;

/// Returns the name of the kernels' variant for blocks of `size` rows and columns.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn variant(size: usize) -> &'static str {
    match size {
        2 => "Blocks2",
        3 => "Blocks3",
        4 => "Blocks4",
        5 => "Blocks5",
        6 => "Blocks6",
        8 => "Blocks8",
        16 => "Blocks16",
        _ => "AnySize",
    }
}

/// Number of blocks of `size` rows and columns that a warp loads at once.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn slots_of<V: Element>(size: usize) -> u32 {
    match size {
        2 => slots::<V, Blocks2>(),
        3 => slots::<V, Blocks3>(),
        4 => slots::<V, Blocks4>(),
        5 => slots::<V, Blocks5>(),
        6 => slots::<V, Blocks6>(),
        8 => slots::<V, Blocks8>(),
        16 => slots::<V, Blocks16>(),
        _ => 1,
    }
}

/// The most values that a lane loads at once.
pub(super) const MOST_WIDTH: usize = 4;

/// The most loads of a lane for a block.
pub(super) const MOST_SUMS: usize = 4;

/// Values that a lane loads at once: 16 bytes, or 2 values, or one, as rows of blocks allow.
pub(super) const fn width<V: Element, B: BlockSize>() -> usize {
    if (B::SIZE * V::SIZE).is_multiple_of(16) {
        16 / V::SIZE
    } else if B::SIZE.is_multiple_of(2) {
        2
    } else {
        1
    }
}

/// Lanes for a row of a block.
pub(super) const fn row_lanes<V: Element, B: BlockSize>() -> u32 {
    let lanes = (B::SIZE / width::<V, B>()) as u32;
    if lanes == 0 {
        1
    } else {
        lanes
    }
}

/// Lanes for a block.
pub(super) const fn lanes<V: Element, B: BlockSize>() -> u32 {
    let all = row_lanes::<V, B>() * B::SIZE as u32;
    if all == 0 {
        1
    } else if all < thread::WARP_SIZE {
        all
    } else {
        thread::WARP_SIZE
    }
}

/// Loads of a lane for a block, each of another row.
pub(super) const fn sums<V: Element, B: BlockSize>() -> usize {
    ((row_lanes::<V, B>() * B::SIZE as u32) / lanes::<V, B>()) as usize
}

/// Blocks that a warp loads at once.
pub(super) const fn slots<V: Element, B: BlockSize>() -> u32 {
    thread::WARP_SIZE / lanes::<V, B>()
}

/// Returns whether what a warp loads at once is a whole number of sectors of 32 bytes. Else the rest of a sector should stay in L1 for
/// the next load.
pub(super) const fn loads_whole_sectors<V: Element, B: BlockSize>() -> bool {
    ((lanes::<V, B>() * slots::<V, B>()) as usize * width::<V, B>() * V::SIZE).is_multiple_of(32)
}
