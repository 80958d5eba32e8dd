//! Decoupled look-back: a sum of counts over tiles inside one launch (Merrill, Garland, "Single-pass Parallel Prefix
//! Scan with Decoupled Look-back", 2016).
//!
//! Each tile publishes a partial result, its own count; looks back over the tiles before it until one has published its
//! whole prefix; and publishes its own whole prefix. Flag and count share a 64-bit word, so neither is ever seen without
//! the other, and no fence is needed: nothing else is passed on.
//!
//! Tiles must be drawn by [`Tickets`], not taken from the block's index: only then does every tile that another waits
//! for have a running block. A block may draw tiles ahead, and wait for the prefix of one before it has published later
//! ones, but not the reverse. Then no block waits forever: take the first tile that is drawn and not published. If its
//! block waits, it waits for the prefix of an earlier tile, and all tiles before that are published.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, thread, warp, GlobalMut, Shared};

/// The payload is the tile's own count.
const PARTIAL: u64 = 1 << 62;
/// The payload is the sum of the counts of all tiles up to and including this one.
const WHOLE: u64 = 2 << 62;
const FLAGS: u64 = 3 << 62;

/// Draws tiles in order, one for each block that asks. The word is zero before the launch.
#[derive(Debug, Clone, Copy)]
pub struct Tickets {
    next: GlobalMut<u64>,
}

impl Tickets {
    /// Tickets counted in the first word of a view.
    #[device]
    pub fn new(next: GlobalMut<u64>) -> Self {
        Self { next }
    }

    /// Returns the next tile: for one thread of a block.
    #[device(track_caller)]
    pub fn draw(self) -> u32 {
        self.next.fetch_add(0, 1, Ordering::Relaxed, Scope::Device) as u32
    }

    /// Draws the next tile for a block, through `word`. Every thread calls it; it has a barrier.
    #[device(track_caller)]
    pub fn draw_for_block(self, word: Shared<u32>) -> u32 {
        if thread::index() == 0 {
            word.store(0, self.draw());
        }
        thread::barrier();
        word.load(0)
    }
}

/// The state of each tile, one word each; all zero before the launch.
#[derive(Debug, Clone, Copy)]
pub struct Lookback {
    states: GlobalMut<u64>,
}

impl Lookback {
    /// States that begin at the view's first word.
    #[device]
    pub fn new(states: GlobalMut<u64>) -> Self {
        Self { states }
    }

    /// Publishes a tile's own count, so that others need not wait for its prefix: for one thread, before
    /// [`prefix`](Self::prefix).
    #[device(track_caller)]
    pub fn publish(self, tile: u32, count: u32) {
        let flag = if tile == 0 { WHOLE } else { PARTIAL };
        self.store(tile, flag | u64::from(count));
    }

    /// Returns the sum of the counts of all tiles before `tile`, in every lane; publishes it with the tile's own. For
    /// one whole warp.
    #[device(track_caller)]
    pub fn prefix(self, tile: u32, count: u32) -> u64 {
        let before = self.sum_before(tile);
        if tile > 0 && thread::lane() == 0 {
            self.store(tile, WHOLE | (before + u64::from(count)));
        }
        before
    }

    /// [`publish`](Self::publish) and [`prefix`](Self::prefix), one after the other: for one whole warp.
    #[device(track_caller)]
    pub fn publish_and_prefix(self, tile: u32, count: u32) -> u64 {
        if thread::lane() == 0 {
            self.publish(tile, count);
        }
        self.prefix(tile, count)
    }

    /// [`publish_and_prefix`](Self::publish_and_prefix) by the block's first warp, which stores the prefix in `word`. The other
    /// warps do nothing. Another barrier is needed before it is read.
    #[device(track_caller)]
    pub fn store_prefix(self, tile: u32, count: u32, word: Shared<u32>) {
        if thread::warp() == 0 {
            let before = self.publish_and_prefix(tile, count);
            if thread::lane() == 0 {
                word.store(0, before as u32);
            }
        }
    }

    #[device(track_caller)]
    fn sum_before(self, tile: u32) -> u64 {
        let lane = thread::lane();
        // The lane's share of the counts between the tiles polled and `tile`, which are in flight.
        let mut partials = 0;
        let mut end = tile;
        // Tiles end - 32 to end - 1, the last in lane 0.
        loop {
            let word = self.wait(end);
            let whole = warp::ballot(warp::FULL, word & FLAGS == WHOLE);
            let nearest = whole.trailing_zeros();
            if lane < nearest {
                partials += word as u32;
            }
            if whole != 0 {
                let prefix = warp::shuffle(warp::FULL, word & !FLAGS, nearest);
                return prefix + u64::from(warp::reduce_add(partials));
            }
            end -= thread::WARP_SIZE;
        }
    }

    /// Waits until each lane's tile has published a word, and returns it. Lanes before the first tile get a whole
    /// prefix of zero.
    #[device(track_caller)]
    fn wait(self, end: u32) -> u64 {
        let lane = thread::lane();
        loop {
            let word = if lane < end {
                let tile = (end - 1 - lane) as usize;
                self.states.atomic_load(tile, Ordering::Relaxed, Scope::Device)
            } else {
                WHOLE
            };
            if warp::all(warp::FULL, word & FLAGS != 0) {
                return word;
            }
            thread::spin_hint();
        }
    }

    #[device(track_caller)]
    fn store(self, tile: u32, word: u64) {
        self.states.atomic_store(tile as usize, word, Ordering::Relaxed, Scope::Device);
    }
}
