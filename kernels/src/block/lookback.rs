//! Look-back of fixed depth: sums of counts over tiles inside one launch.
//!
//! After "Single-pass Parallel Prefix Scan with Decoupled Look-back" (Merrill, Garland, 2016), but no tile waits for
//! another's prefix: 32 tiles make a group, 32 groups a larger one, and so on, and each tile adds its count to a word
//! of every group that it is in. The prefix of a tile is the sum of the words, a warp's lanes of each size, of whatever
//! is complete before it. So it is known one access after the last of the tiles before has published, however long
//! blocks take to ask for theirs.
//!
//! A word holds its sum and how many tiles have added to it, so neither is ever seen without the other, and no fence is
//! needed: nothing else is passed on. The sums are of integers, so the order of additions changes nothing.
//!
//! Tiles must be drawn by [`Tickets`], not taken from the block's index, and a block must publish a tile before it
//! waits for the prefix of any: then of the tiles that are drawn and not published the first waits for nothing,
//! and everybody goes on in turn.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{thread, warp, GlobalMut};

/// Draws tiles in order, one for each block that asks. The word is zero before the launch.
#[derive(Debug, Clone, Copy)]
pub struct Tickets {
    next: GlobalMut<u64>,
}

impl Tickets {
    /// Tickets counted in the first word of a view.
    #[inline(always)]
    pub fn new(next: GlobalMut<u64>) -> Self {
        Self { next }
    }

    /// The next tile: for one thread of a block.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn draw(self) -> u32 {
        self.next.fetch_add(0, 1, Ordering::Relaxed, Scope::Device) as u32
    }
}

/// Sizes of groups: 1, 32, 1024 and 32768 tiles.
const LEVELS: usize = 4;
/// Groups in one of the next size: the lanes of a warp.
const FAN_BITS: u32 = thread::WARP_SIZE.ilog2();
/// One tile that has added its count; below it the sum.
const ARRIVAL: u64 = 1 << 40;

/// Words for the look-back of `tiles` tiles, all zero before the launch.
pub const fn lookback_words(tiles: u32) -> usize {
    let (mut words, mut level) = (0, 0);
    while level < LEVELS {
        words += groups(tiles, level) as usize;
        level += 1;
    }
    words
}

/// Groups of a level, the last perhaps not full.
const fn groups(tiles: u32, level: usize) -> u32 {
    tiles.div_ceil(1 << (FAN_BITS * level as u32))
}

/// The words of all groups.
#[derive(Debug, Clone, Copy)]
pub struct Lookback {
    words: GlobalMut<u64>,
    tiles: u32,
}

impl Lookback {
    /// The look-back in the view's first [`lookback_words`].
    #[inline(always)]
    pub fn new(words: GlobalMut<u64>, tiles: u32) -> Self {
        Self { words, tiles }
    }

    /// Publishes a tile's count, of at most 2²³: for one thread, before anybody in the block asks for a
    /// [`prefix`](Self::prefix).
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn publish(self, tile: u32, count: u32) {
        let mut first = 0;
        for level in 0..LEVELS {
            let word = first + (tile >> (FAN_BITS * level as u32));
            self.words.fetch_add(
                word as usize,
                ARRIVAL | u64::from(count),
                Ordering::Relaxed,
                Scope::Device,
            );
            first += groups(self.tiles, level);
        }
    }

    /// The counts of all tiles before `tile`, in every lane. For one whole warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn prefix(self, tile: u32) -> u64 {
        let lane = thread::lane();
        let mut polled = [0; LEVELS];
        let mut wanted = [false; LEVELS];
        let mut words = [0; LEVELS];
        let mut first = 0;
        for level in 0..LEVELS {
            let own = tile >> (FAN_BITS * level as u32);
            let group = if level + 1 < LEVELS { own & !(thread::WARP_SIZE - 1) } else { 0 };
            wanted[level] = group + lane < own;
            words[level] = first + group + lane;
            if wanted[level] {
                polled[level] = self.poll(words[level]);
            }
            first += groups(self.tiles, level);
        }
        let mut before = 0;
        for level in 0..LEVELS {
            if wanted[level] {
                before += self.wait(words[level], level, polled[level]);
            }
        }
        // More of the largest groups than lanes.
        let own = tile >> (FAN_BITS * (LEVELS as u32 - 1));
        let first = first - groups(self.tiles, LEVELS - 1);
        let mut group = thread::WARP_SIZE + lane;
        while group < own {
            before += self.wait(first + group, LEVELS - 1, self.poll(first + group));
            group += thread::WARP_SIZE;
        }
        warp::reduce_add(before)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn poll(self, word: u32) -> u64 {
        self.words.atomic_load(word as usize, Ordering::Relaxed, Scope::Device)
    }

    /// Waits until all tiles of a full group have added to its word; their sum.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn wait(self, word: u32, level: usize, mut polled: u64) -> u64 {
        while polled < ARRIVAL << (FAN_BITS * level as u32) {
            thread::spin_hint();
            polled = self.poll(word);
        }
        polled & (ARRIVAL - 1)
    }
}
