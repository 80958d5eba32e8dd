//! Decoupled look-back: a scan over tiles inside one launch (Merrill, Garland, "Single-pass Parallel
//! Prefix Scan with Decoupled Look-back", 2016).
//!
//! Each tile publishes a partial result, its own; looks back over the tiles before it until one has
//! published its whole prefix; and publishes its own whole prefix. Flag and payload share a 64-bit word,
//! so neither is ever seen without the other, and no fence is needed: nothing else is passed on.
//!
//! Payloads are up to 62 bits: counts, and 32-bit values. Where results meet depends on time, so the
//! operation must be associative to the bit: integers, minimum, maximum. Floating-point sums have
//! [`tile_prefix`](super::tile_prefix), with an order of additions that is always the same, and two words a
//! tile.
//!
//! Tiles must be drawn by [`Tickets`], not taken from the block's index: only then has every tile that
//! another waits for a running block.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{thread, warp, GlobalMut};

/// The payload is the tile's own result.
const PARTIAL: u64 = 1 << 62;
/// The payload is the result of all tiles up to and with this one.
const WHOLE: u64 = 2 << 62;
const FLAGS: u64 = 3 << 62;

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

/// The state of each tile, one word each; all zero before the launch.
#[derive(Debug, Clone, Copy)]
pub struct Lookback {
    states: GlobalMut<u64>,
}

impl Lookback {
    /// States that begin at the view's first word.
    #[inline(always)]
    pub fn new(states: GlobalMut<u64>) -> Self {
        Self { states }
    }

    /// Publishes a tile's own result, so that others need not wait for its prefix: for one thread, before
    /// [`prefix`](Self::prefix).
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn publish(self, tile: u32, own: u64) {
        let flag = if tile == 0 { WHOLE } else { PARTIAL };
        self.states.atomic_store(tile as usize, flag | own, Ordering::Relaxed, Scope::Device);
    }

    /// The results of all tiles before `tile`, combined in order, in every lane; publishes them with
    /// the tile's own. For one whole warp. `combine` takes the earlier tiles' result first.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn prefix(self, tile: u32, own: u64, identity: u64, combine: impl Fn(u64, u64) -> u64) -> u64 {
        let mut before = identity;
        let mut end = tile;
        // Tiles end - 32 to end - 1, the last in lane 0; those before the first count as whole.
        while end > 0 {
            let word = self.wait(end, identity);
            let whole = warp::ballot(warp::FULL, word & FLAGS == WHOLE);
            let nearest = whole.trailing_zeros();
            let payload = if thread::lane() <= nearest { word & !FLAGS } else { identity };
            before = combine(reduce(payload, &combine), before);
            if whole != 0 {
                break;
            }
            end -= thread::WARP_SIZE;
        }
        if tile > 0 && thread::lane() == 0 {
            let word = WHOLE | combine(before, own);
            self.states.atomic_store(tile as usize, word, Ordering::Relaxed, Scope::Device);
        }
        before
    }

    /// Waits until each lane's tile has published something; its word.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn wait(self, end: u32, identity: u64) -> u64 {
        let lane = thread::lane();
        loop {
            let word = if lane < end {
                let tile = (end - 1 - lane) as usize;
                self.states.atomic_load(tile, Ordering::Relaxed, Scope::Device)
            } else {
                WHOLE | identity
            };
            if warp::all(warp::FULL, word & FLAGS != 0) {
                return word;
            }
            thread::spin_hint();
        }
    }
}

/// All lanes' values combined, the highest lane's first, in every lane.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn reduce(value: u64, combine: impl Fn(u64, u64) -> u64) -> u64 {
    let mut combined = value;
    let mut distance = 1;
    while distance < thread::WARP_SIZE {
        let higher = warp::shuffle_down(warp::FULL, combined, distance);
        if thread::lane() + distance < thread::WARP_SIZE {
            combined = combine(higher, combined);
        }
        distance *= 2;
    }
    warp::shuffle(warp::FULL, combined, 0)
}
