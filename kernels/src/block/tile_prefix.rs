//! The sum of the tiles before a tile, found while they run: decoupled look-back (Merrill and Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", 2016), with a fixed order of additions.
//!
//! The usual look-back adds up whatever its predecessors have published so far, so the order of floating-point additions
//! depends on timing. Here the order is a tree of fixed shape: 32 tiles make a group, 32 groups a division. A tile waits
//! for the sums of the tiles before it in its group, of the groups before its own in its division, and for the sum of
//! all divisions before; the last tile of a group publishes the group's sum, the last of a division that of all
//! divisions so far. Only the latter form a chain, with one link per 1024 tiles.
//!
//! Tiles are numbered in the order in which blocks start, so a tile only waits for tiles that are running or done.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, thread, GlobalMut, Shared};

use super::operator::{Number, Operator, Summary};

/// Tiles in a group, and groups in a division: the lanes of a warp.
const FAN: u32 = thread::WARP_SIZE;
/// Set in every word of an entry that is published. An entry is its value in halves of 32 bits, and its heads where sums
/// are segmented: each word says by itself that it is published, so words need no order and are polled together.
const PUBLISHED: u64 = 1 << 32;

/// Words of state for `tiles` tiles whose sums take `entry_words` words each, all zero before the launch.
pub const fn state_words(tiles: usize, entry_words: usize) -> usize {
    let groups = tiles.div_ceil(FAN as usize);
    1 + entry_words * (tiles + groups + groups.div_ceil(FAN as usize))
}

/// Words of an entry of values of `value_bytes` bytes.
pub const fn entry_words(value_bytes: usize, segmented: bool) -> usize {
    value_bytes / 4 + segmented as usize
}

/// Sets block `number`'s share of the words to zero: those that another launch has used.
#[device(track_caller)]
pub fn clear_stale<const BLOCK: usize>(stale: GlobalMut<u64>, words: u32, number: u32) {
    let mut index = number * BLOCK as u32 + thread::index();
    while index < words {
        stale.store(index as usize, 0);
        index += thread::grid_size() * BLOCK as u32;
    }
}

/// The state of a look-back.
#[derive(Debug, Clone, Copy)]
pub struct TilePrefix {
    words: GlobalMut<u64>,
    tiles: u32,
}

/// The words of an entry as far as they are there.
#[derive(Clone, Copy)]
struct Polled {
    low: u64,
    high: u64,
    heads: u64,
}

impl TilePrefix {
    /// Returns the state in [`state_words`] words.
    #[device]
    pub fn new(words: GlobalMut<u64>, tiles: u32) -> Self {
        Self { words, tiles }
    }

    /// Draws the block's tile; `shared` has one element. Every thread calls it; it has one barrier.
    #[device(track_caller)]
    pub fn draw(self, shared: Shared<u32>) -> u32 {
        if thread::index() == 0 {
            shared.store(0, self.words.fetch_add(0, 1, Ordering::Relaxed, Scope::Device) as u32);
        }
        thread::barrier();
        shared.load(0)
    }

    /// Publishes the sum of `tile` to the other tiles: for one thread, before [`exclusive`](Self::exclusive).
    #[device(track_caller)]
    pub fn publish_own<V: Number, P: Operator<V>>(self, tile: u32, own: Summary<V, P>) {
        self.publish(tile, own);
    }

    /// Returns the sum of all tiles before `tile`, whose own sum is `own`, in every lane. One whole warp of the block
    /// calls it.
    #[device(track_caller)]
    pub fn exclusive<V: Number, P: Operator<V>>(self, tile: u32, own: Summary<V, P>) -> Summary<V, P> {
        let lane = thread::lane();
        let (group, division) = (tile / FAN, tile / (FAN * FAN));
        let (in_group, in_division) = (tile % FAN, group % FAN);
        let groups = self.tiles.div_ceil(FAN);
        // All three are polled at once; the older two are mostly published already.
        let tile_entry = group * FAN + lane;
        let group_entry = self.tiles + division * FAN + lane;
        let division_entry = self.tiles + groups + division - 1;
        let tile_polled = self.poll_if::<V, P>(lane < in_group, tile_entry);
        let group_polled = self.poll_if::<V, P>(lane < in_division, group_entry);
        let division_polled = self.poll_if::<V, P>(division > 0, division_entry);

        let tiles_before = reduce(self.wait_if(lane < in_group, tile_entry, tile_polled), lane);
        let ends_group = in_group == FAN - 1;
        if ends_group && lane == 0 {
            self.publish(self.tiles + group, tiles_before.then(own));
        }
        let groups_before = reduce(self.wait_if(lane < in_division, group_entry, group_polled), lane);
        let divisions_before = self.wait_if::<V, P>(division > 0, division_entry, division_polled);
        let before = divisions_before.then(groups_before).then(tiles_before);
        if ends_group && in_division == FAN - 1 && lane == 0 {
            self.publish(self.tiles + groups + division, before.then(own));
        }
        before
    }

    /// Stores the sum of all tiles before `tile`, whose own sum is `own`, in `word`, where the block's threads find it after a
    /// barrier. Every thread calls it.
    #[device(track_caller)]
    pub fn store_exclusive<V: Number, P: Operator<V>>(self, tile: u32, own: Summary<V, P>, word: Shared<V>) {
        if thread::warp() == 0 {
            let before = self.exclusive(tile, own).value;
            if thread::lane() == 0 {
                word.store(0, before);
            }
        }
    }

    #[device]
    fn word<V: Number, P: Operator<V>>(entry: u32) -> usize {
        1 + entry_words(V::SIZE, P::SEGMENTED) * entry as usize
    }

    #[device(track_caller)]
    fn publish<V: Number, P: Operator<V>>(self, entry: u32, sum: Summary<V, P>) {
        let store = |place: usize, half: u32| {
            let word = Self::word::<V, P>(entry) + place;
            self.words.atomic_store(word, PUBLISHED | u64::from(half), Ordering::Relaxed, Scope::Device);
        };
        let bits = sum.value.to_bits();
        store(0, bits as u32);
        if V::SIZE == 8 {
            store(1, (bits >> 32) as u32);
        }
        if P::SEGMENTED {
            store(V::SIZE / 4, sum.heads);
        }
    }

    #[device(track_caller)]
    fn poll_if<V: Number, P: Operator<V>>(self, wanted: bool, entry: u32) -> Polled {
        let load = |place: usize| {
            self.words.atomic_load(Self::word::<V, P>(entry) + place, Ordering::Relaxed, Scope::Device)
        };
        if !wanted {
            return Polled { low: PUBLISHED, high: PUBLISHED, heads: PUBLISHED };
        }
        let low = load(0);
        let high = if V::SIZE == 8 { load(1) } else { PUBLISHED };
        let heads = if P::SEGMENTED { load(V::SIZE / 4) } else { PUBLISHED };
        Polled { low, high, heads }
    }

    /// Waits until an entry is published, if it is wanted; the identity otherwise.
    #[device(track_caller)]
    fn wait_if<V: Number, P: Operator<V>>(
        self,
        wanted: bool,
        entry: u32,
        mut polled: Polled,
    ) -> Summary<V, P> {
        while polled.low & polled.high & polled.heads & PUBLISHED == 0 {
            thread::spin_hint();
            polled = self.poll_if::<V, P>(wanted, entry);
        }
        if wanted {
            let bits = (polled.high << 32) | u64::from(polled.low as u32);
            Summary::new(V::from_bits(bits), polled.heads as u32)
        } else {
            Summary::IDENTITY
        }
    }
}

/// Returns the sum over the warp's lanes, in every lane: a tree of fixed shape.
#[device(track_caller)]
fn reduce<V: Number, P: Operator<V>>(own: Summary<V, P>, lane: u32) -> Summary<V, P> {
    let mut sum = own;
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
