//! Scan over the threads of a block, and over the tiles before the block's.

use evenpath_simt::{device, thread, warp, Arena, Shared};

use super::operator::{Number, Operator, Summary};
use super::tile_prefix::TilePrefix;

/// Shared memory of a scan over `BLOCK` threads, which have a tile's elements in their order.
#[derive(Debug, Clone, Copy)]
pub struct TileScan<V, const BLOCK: usize> {
    /// One sum per warp; after them, the sum before the tile.
    values: Shared<V>,
    heads: Shared<u32>,
    /// The place of each warp's first head.
    first_heads: Shared<u32>,
}

/// A thread's surroundings in the tile.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<V, P> {
    /// The sum of the tile's elements before this thread's.
    pub before: Summary<V, P>,
    /// The sum of the tile.
    pub total: Summary<V, P>,
    /// The place of the tile's first head; [`NOWHERE`] where there is none.
    pub first_head: u32,
}

/// The place of the first head where there is none.
pub const NOWHERE: u32 = u32::MAX;

/// Bytes of shared memory of a [`TileScan`].
pub const fn scan_bytes(value_bytes: usize, block: usize) -> usize {
    let warps = block / thread::WARP_SIZE as usize;
    (warps + 1) * (value_bytes + 4) + warps * 4
}

impl<V: Number, const BLOCK: usize> TileScan<V, BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Takes [`scan_bytes`] from an arena that is aligned for the values.
    #[device(track_caller)]
    pub fn take(arena: &mut Arena) -> Self {
        Self {
            values: arena.take(Self::WARPS + 1),
            heads: arena.take(Self::WARPS + 1),
            first_heads: arena.take(Self::WARPS),
        }
    }

    /// Scans the sums of the threads' elements, with the place of each thread's first head or [`NOWHERE`].
    ///
    /// Every thread calls it. It has one barrier, before which the scan's memory is written.
    #[device(track_caller)]
    pub fn scan_threads<P: Operator<V>>(self, own: Summary<V, P>, first_head: u32) -> Surroundings<V, P> {
        let inclusive = warp_inclusive(own);
        let own_warp = thread::warp() as usize;
        if thread::lane() == thread::WARP_SIZE - 1 {
            self.values.store(own_warp, inclusive.value);
            if P::SEGMENTED {
                self.heads.store(own_warp, inclusive.heads);
            }
        }
        if P::SEGMENTED {
            let with_heads = warp::ballot(warp::FULL, own.heads > 0);
            let first_lane = with_heads.trailing_zeros() % thread::WARP_SIZE;
            let first = warp::shuffle(warp::FULL, first_head, first_lane);
            if thread::lane() == 0 {
                self.first_heads.store(own_warp, if with_heads == 0 { NOWHERE } else { first });
            }
        }
        thread::barrier();
        let mut total: Summary<V, P> = Summary::IDENTITY;
        let mut before_warp: Summary<V, P> = Summary::IDENTITY;
        let mut first_head = NOWHERE;
        let mut index = 0;
        while index < Self::WARPS {
            if index == own_warp {
                before_warp = total;
            }
            let heads = if P::SEGMENTED { self.heads.load(index) } else { 0 };
            total = total.then(Summary::new(self.values.load(index), heads));
            if P::SEGMENTED {
                first_head = first_head.min(self.first_heads.load(index));
            }
            index += 1;
        }
        let shifted = inclusive.shuffle_up(1);
        let before = if thread::lane() == 0 { before_warp } else { before_warp.then(shifted) };
        Surroundings { before, total, first_head }
    }

    /// Returns the sum before the tile, whose own sum is `total`. Every thread calls it; it has one barrier, after
    /// which all threads can read what was written to shared memory before it.
    #[device(track_caller)]
    pub fn look_back<P: Operator<V>>(
        self,
        prefix: TilePrefix,
        tile: u32,
        total: Summary<V, P>,
    ) -> Summary<V, P> {
        if thread::warp() == 0 {
            let before = prefix.exclusive(tile, total);
            if thread::lane() == 0 {
                self.values.store(Self::WARPS, before.value);
                self.heads.store(Self::WARPS, before.heads);
            }
        }
        thread::barrier();
        Summary::new(self.values.load(Self::WARPS), self.heads.load(Self::WARPS))
    }
}

/// Returns the inclusive scan of a warp, one summary per lane.
#[device(track_caller)]
fn warp_inclusive<V: Number, P: Operator<V>>(own: Summary<V, P>) -> Summary<V, P> {
    let mut sum = own;
    let mut distance = 1;
    while distance < thread::WARP_SIZE {
        let other = sum.shuffle_up(distance);
        if thread::lane() >= distance {
            sum = other.then(sum);
        }
        distance *= 2;
    }
    sum
}
