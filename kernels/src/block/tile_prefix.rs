//! What the tiles before a tile sum up to, found while they run: decoupled look-back (Merrill and Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", 2016), with a fixed order of additions.
//!
//! The usual look-back adds up whatever its predecessors have published so far, so the order of floating-point additions
//! depends on timing. Here the order is a tree of fixed shape: 32 tiles make a group, 32 groups a division. A tile waits
//! for the sums of the tiles before it in its group, of the groups before its own in its division, and for the sum of
//! all divisions before; the last tile of a group publishes the group's sum, the last of a division that of all
//! divisions so far. Only the latter form a chain, with one link a thousand tiles.
//!
//! Tiles are numbered in the order in which blocks begin, so whatever a tile waits for is running or done.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{thread, GlobalMut, Shared};

use super::operator::{Number, Operator, Summary};

/// Tiles in a group, and groups in a division: the lanes of a warp.
const FAN: u32 = thread::WARP_SIZE;
/// Words of one published sum: whether it is there, with its heads; and its value.
const ENTRY_WORDS: usize = 2;
const PUBLISHED: u64 = 1 << 32;

/// Words of state for `tiles` tiles, all zero before the launch.
pub const fn state_words(tiles: usize) -> usize {
    let groups = tiles.div_ceil(FAN as usize);
    1 + ENTRY_WORDS * (tiles + groups + groups.div_ceil(FAN as usize))
}

/// The state of a look-back.
#[derive(Debug, Clone, Copy)]
pub struct TilePrefix {
    words: GlobalMut<u64>,
    tiles: u32,
}

impl TilePrefix {
    /// The state in [`state_words`] words.
    #[inline(always)]
    pub fn new(words: GlobalMut<u64>, tiles: u32) -> Self {
        Self { words, tiles }
    }

    /// Draws the block's tile; `shared` has one element. Every thread calls it; it has one barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn draw(self, shared: Shared<u32>) -> u32 {
        if thread::index() == 0 {
            shared.store(0, self.words.fetch_add(0, 1, Ordering::Relaxed, Scope::Device) as u32);
        }
        thread::barrier();
        shared.load(0)
    }

    /// The sum of all tiles before `tile`, whose own sum is `own`, in every lane. One whole warp of the block calls it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn exclusive<V: Number, P: Operator<V>>(self, tile: u32, own: Summary<V, P>) -> Summary<V, P> {
        let lane = thread::lane();
        let (group, division) = (tile / FAN, tile / (FAN * FAN));
        let (in_group, in_division) = (tile % FAN, group % FAN);
        let groups = self.tiles.div_ceil(FAN);
        if lane == 0 {
            self.publish(tile, own);
        }
        let tiles_before: Summary<V, P> = self.gather(group * FAN, in_group, lane);
        let ends_group = in_group == FAN - 1;
        if ends_group && lane == 0 {
            self.publish(self.tiles + group, tiles_before.then(own));
        }
        let groups_before: Summary<V, P> = self.gather(self.tiles + division * FAN, in_division, lane);
        let divisions_before: Summary<V, P> =
            if division > 0 { self.wait(self.tiles + groups + division - 1) } else { Summary::IDENTITY };
        let before = divisions_before.then(groups_before).then(tiles_before);
        if ends_group && in_division == FAN - 1 && lane == 0 {
            self.publish(self.tiles + groups + division, before.then(own));
        }
        before
    }

    /// The sum of `count` entries from `first` on, at most a warp's lanes, in a tree of fixed shape.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn gather<V: Number, P: Operator<V>>(self, first: u32, count: u32, lane: u32) -> Summary<V, P> {
        let mut sum: Summary<V, P> = if lane < count { self.wait(first + lane) } else { Summary::IDENTITY };
        let mut distance = 1;
        while distance < FAN {
            let above = sum.shuffle_down(distance);
            if lane + distance < FAN {
                sum = sum.then(above);
            }
            distance *= 2;
        }
        sum.broadcast(0)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn publish<V: Number, P: Operator<V>>(self, entry: u32, sum: Summary<V, P>) {
        let word = 1 + ENTRY_WORDS * entry as usize;
        self.words.atomic_store(word + 1, sum.value.to_bits(), Ordering::Relaxed, Scope::Device);
        self.words.atomic_store(word, PUBLISHED | u64::from(sum.heads), Ordering::Release, Scope::Device);
    }

    /// Waits until an entry is published.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn wait<V: Number, P: Operator<V>>(self, entry: u32) -> Summary<V, P> {
        let word = 1 + ENTRY_WORDS * entry as usize;
        let mut state = self.words.atomic_load(word, Ordering::Acquire, Scope::Device);
        while state == 0 {
            thread::spin_hint();
            state = self.words.atomic_load(word, Ordering::Acquire, Scope::Device);
        }
        let value = self.words.atomic_load(word + 1, Ordering::Relaxed, Scope::Device);
        Summary::new(V::from_bits(value), state as u32)
    }
}
