//! Queues that blocks share: who finds work puts it there, whole blocks draw it.
//!
//! A queue is an array of places, each used once a run, and a word with two counts: places promised to who puts work in
//! (upper half) and places given to who draws (lower half). A block is given places by an addition, which always succeeds,
//! and holds them until there is work in them; it may hold places of several queues. A place's four words carry the number of
//! the run, so that no memory is ordered: who holds a place looks at it until the words are there.
//!
//! A block that holds places is one that runs, and comes back to them after at most one round of other work: so all work
//! is done, whichever blocks run. More places may be promised than there are. Nobody is given those: who was promised them
//! does the work itself.
//!
//! `pending` counts what was put in and is not done. It is raised before the work can be drawn, and lowered by who did it in
//! one step with what that put in: when it is 0, nothing is left and nothing will come, and places that are held are void.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{thread, warp, GlobalMut};

use super::work::Work;

/// The root, which is there from the beginning, for a thread.
pub(super) const ROOT: u32 = 0;
/// The queue of pieces of inner nodes for a whole block each.
const WIDE: u32 = 1;
/// The queue of pieces of leaves.
pub(super) const LEAVES: u32 = 5;
/// Queues: the root's, four of pieces of inner nodes, one of pieces of leaves.
pub const QUEUES: u32 = 6;
/// Words of a run's state: a line of 128 bytes for each queue, for `pending`, and for the count of blocks that are through.
pub const STATE_WORDS: u32 = (QUEUES + 2) * STRIDE;

const STRIDE: u32 = 16;
const PENDING: usize = (QUEUES * STRIDE) as usize;
const THROUGH: usize = ((QUEUES + 1) * STRIDE) as usize;

/// Words of a place.
pub const PLACE_WORDS: u32 = 4;

/// Binary logarithms of the threads for a piece of each queue. Leaves are done by warps, several one after another.
#[inline(always)]
pub(super) fn team_log2(queue: u32) -> u32 {
    // Of the root 7, then 7, 5, 3, 1, and 2 of leaves: a hexadecimal digit each.
    0x21_3577 >> (4 * queue) & 15
}

/// The queue of an inner node of `len` entries: more than 32, more than 8, more than 2, or fewer.
#[inline(always)]
pub(super) fn inner_queue(len: u32) -> u32 {
    4 - u32::from(len > 2) - u32::from(len > 8) - u32::from(len > 32)
}

/// The queues of a run.
#[derive(Clone, Copy)]
pub struct Queues {
    /// Of queue 1 to 5, `capacity` places each.
    pub places: GlobalMut<u64>,
    /// [`STATE_WORDS`]; all zero before and after a run.
    pub state: GlobalMut<u64>,
    /// Places of a queue.
    pub capacity: u32,
    /// The run's number, not 0.
    pub run: u32,
}

/// Pieces that a block has drawn; no queue has the number [`QUEUES`], which says that all is done.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    /// The queue.
    pub(super) queue: u32,
    /// Its first place.
    pub(super) first: u32,
    /// How many.
    pub(super) count: u32,
}

/// The places that a block holds: of each queue, in the lane of its number of the warp that draws.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// The first.
    first: u32,
    /// How many.
    count: u32,
    /// How many are known to be promised.
    promised: u32,
    /// The queue's word before a place was taken ahead, which nobody has looked at yet.
    ahead: u64,
    /// Whether there is such a place.
    is_ahead: bool,
}

impl Held {
    /// None.
    pub(super) const NONE: Self = Self { first: 0, count: 0, promised: 0, ahead: 0, is_ahead: false };
}

/// Looks of an idle block at the places that it holds for each at the words that all share.
const LOOKS: u32 = 8;

impl Queues {
    /// Draws for a block; called by one warp. Waits until there is something, or all is done.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn draw<const BLOCK: u32>(self, held: &mut Held) -> Draw {
        let lane = thread::lane();
        let mut looks = 0;
        loop {
            // Blocks take turns, so that a few look at any time.
            let is_turn = looks == 0 || (looks + thread::block()).is_multiple_of(LOOKS);
            if lane < QUEUES && held.promised == 0 {
                self.look::<BLOCK>(held, is_turn);
            }
            let ready = warp::ballot(warp::FULL, held.promised > 0);
            if ready != 0 {
                let queue = ready.trailing_zeros();
                let first = warp::shuffle(warp::FULL, held.first, queue);
                let count = warp::shuffle(warp::FULL, held.promised, queue);
                if lane == queue {
                    held.first += count;
                    held.count -= count;
                    held.promised = 0;
                    if queue == WIDE && held.first < self.capacity {
                        // Comes while the block works.
                        held.ahead = self.add((WIDE * STRIDE) as usize, 1);
                        held.is_ahead = true;
                    }
                }
                return Draw { queue, first, count };
            }
            if is_turn {
                // One less than the count, so that 0 is a run's beginning with its root.
                let is_done = lane == 0 && self.load(PENDING) == u64::MAX;
                if warp::ballot(warp::FULL, is_done) != 0 {
                    return Draw { queue: QUEUES, first: 0, count: 0 };
                }
            }
            looks += 1;
            thread::spin_hint();
        }
    }

    /// Looks whether there is work in the places of this lane's queue that are held. If none are, has some given: a place for
    /// a whole block at once, which then waits for it where no other looks; of other queues, if it is the block's turn and
    /// there is work, its share of that, at most as much as its threads are enough for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn look<const BLOCK: u32>(self, held: &mut Held, is_turn: bool) {
        let queue = thread::lane();
        let capacity = if queue == ROOT { 1 } else { self.capacity };
        let there = |word: u64| if queue == ROOT { 1 } else { (word >> 32) as u32 }.min(capacity);
        let word = (queue * STRIDE) as usize;
        if held.count == 0 {
            let (mut pieces, mut seen) = (1, held.ahead);
            if queue == WIDE && held.first < capacity {
                if !held.is_ahead {
                    seen = self.add(word, 1);
                }
                held.is_ahead = false;
            } else {
                seen = if is_turn { self.load(word) } else { 0 };
                let available = if is_turn { there(seen).saturating_sub(seen as u32) } else { 0 };
                if available == 0 {
                    return;
                }
                pieces = (available / thread::grid_size()).clamp(1, BLOCK >> team_log2(queue));
                seen = self.add(word, u64::from(pieces));
            }
            held.first = seen as u32;
            held.count = pieces.min(capacity.saturating_sub(held.first));
            held.promised = there(seen).saturating_sub(held.first).min(held.count);
            return;
        }
        let tagged = self.place(queue, held.first).atomic_load(0, Ordering::Relaxed, Scope::Device);
        if (tagged >> 32) as u32 == self.run {
            held.promised = 1;
            if held.count > 1 {
                held.promised = there(self.load(word)).saturating_sub(held.first).clamp(1, held.count);
            }
        }
    }

    /// Promises `count` places of a queue: the first of them.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn promise(self, queue: u32, count: u32) -> u32 {
        let word = self.add((queue * STRIDE) as usize, u64::from(count) << 32);
        (word >> 32) as u32
    }

    /// Adds to what is put in and not done, modulo 2⁶⁴; what it was.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn add_pending(self, count: u64) -> u64 {
        self.add(PENDING, count)
    }

    /// Puts work at a place that is below the capacity.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn put(self, queue: u32, place: u32, work: Work) {
        let (at, words) = (self.place(queue, place), work.words());
        for word in 0..PLACE_WORDS as usize {
            let tagged = u64::from(words[word]) | u64::from(self.run) << 32;
            at.atomic_store(word, tagged, Ordering::Relaxed, Scope::Device);
        }
    }

    /// The work at a place that was drawn.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn take(self, queue: u32, place: u32) -> Work {
        let at = self.place(queue, place);
        loop {
            let mut words = [0; PLACE_WORDS as usize];
            let mut is_there = true;
            for word in 0..PLACE_WORDS as usize {
                let tagged = at.atomic_load(word, Ordering::Relaxed, Scope::Device);
                words[word] = tagged as u32;
                is_there &= (tagged >> 32) as u32 == self.run;
            }
            if is_there {
                return Work::from_words(words);
            }
            thread::spin_hint();
        }
    }

    /// Says that a block is through; the last one of `blocks` leaves the state as it was before the run. All operations on
    /// the state have returned by then, of every block.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn leave(self, blocks: u32) {
        if self.add(THROUGH, 1) + 1 == u64::from(blocks) {
            for line in 0..QUEUES + 2 {
                self.state.atomic_store((line * STRIDE) as usize, 0, Ordering::Relaxed, Scope::Device);
            }
        }
    }

    /// A queue's place, as a view.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn place(self, queue: u32, place: u32) -> GlobalMut<u64> {
        let place = (queue - 1) as usize * self.capacity as usize + place as usize;
        self.places.skip(place * PLACE_WORDS as usize)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load(self, word: usize) -> u64 {
        self.state.atomic_load(word, Ordering::Relaxed, Scope::Device)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add(self, word: usize, addend: u64) -> u64 {
        self.state.fetch_add(word, addend, Ordering::Relaxed, Scope::Device)
    }
}
