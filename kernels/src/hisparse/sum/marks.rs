//! Counts the entries of pairs of sparse nodes that are not large: a warp marks those of A in a bitmap, and looks up those
//! of B.
use evenpath_simt::{device, thread, warp, Arena, Shared, Word};

use super::side::{NodeHandle, NodePair, SumTree};
use super::{large, small};
use crate::hisparse::layout;

/// The largest size of a block's bitmaps in bytes: with larger ones, too few blocks would be resident.
const MOST_BYTES: u32 = 32 << 10;

/// Coordinates that a lane has in flight.
const BATCH: usize = 8;

/// Bytes of shared memory of a block's warps; 0 if that would be too much.
pub(super) const fn bytes(d_log2: u32, block_size: u32) -> u32 {
    let bytes = block_size / thread::WARP_SIZE * 4 * large::words(d_log2);
    if bytes > MOST_BYTES {
        0
    } else {
        bytes
    }
}

/// Returns whether a warp counts this node.
#[device]
pub(super) fn takes(handle: NodeHandle, d_log2: u32, block_size: u32) -> bool {
    bytes(d_log2, block_size) > 0 && small::takes(handle, block_size)
}

/// The bitmap of a warp.
#[derive(Clone, Copy)]
pub(super) struct WarpBitmap {
    bits: Shared<u32>,
    d_log2: u32,
}

impl WarpBitmap {
    /// Returns this warp's part of an arena of [`bytes`].
    #[device(track_caller)]
    pub(super) fn take(mut arena: Arena, d_log2: u32, block_size: u32) -> Self {
        let bytes = bytes(d_log2, block_size);
        let all: Shared<u32> = arena.take((bytes / 4) as usize);
        let own = if bytes == 0 { 0 } else { thread::warp() * large::words(d_log2) };
        Self::new(all.skip(own as usize), d_log2)
    }

    /// Uses words of this warp for the bitmap.
    #[device]
    pub(super) fn new(bits: Shared<u32>, d_log2: u32) -> Self {
        Self { bits, d_log2 }
    }

    /// Returns the number of entries of the union.
    #[device(track_caller)]
    pub(super) fn count<T: Word>(self, a: SumTree<T>, b: SumTree<T>, pair: NodePair) -> u32 {
        if pair.a.len == 0 || pair.b.len == 0 {
            return pair.a.len + pair.b.len;
        }
        let mut word = 4 * thread::lane();
        while word < large::words(self.d_log2) {
            self.bits.store_16(word as usize, [0; 2]);
            word += 4 * thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
        a.each_entry::<BATCH>(pair.a, |_, coordinates| {
            let place = layout::place(coordinates, self.d_log2);
            self.bits.fetch_or((place / 32) as usize, 1 << (place % 32));
        });
        warp::sync(warp::FULL);
        let mut both = 0;
        b.each_entry::<BATCH>(pair.b, |_, coordinates| {
            let place = layout::place(coordinates, self.d_log2);
            both += self.bits.load((place / 32) as usize) >> (place % 32) & 1;
        });
        // The next pair's marks use the same memory.
        warp::sync(warp::FULL);
        pair.a.len + pair.b.len - warp::reduce_add(both)
    }
}
