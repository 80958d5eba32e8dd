//! Queues that blocks share: who finds work puts it there, whole blocks draw it.
//!
//! A queue is an array of places, each used once a run, and a word with two counts: places promised to who puts work in
//! (upper half) and places drawn (lower half). A place is drawn once it has been promised. Its four words carry the number
//! of the run, so that no memory is ordered: who draws a place looks at it until the words are there. It waits for a store
//! of a block that runs, never for one that might not.
//!
//! More places may be promised than there are. Those are never drawn: who was promised them does the work itself.
//!
//! `pending` counts what was put in and is not done. It is raised before the work can be drawn, and lowered by who did it in
//! one step with what that put in: when it is 0, nothing is left and nothing will come.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{thread, warp, GlobalMut};

use super::work::Work;

/// The root, which is there from the beginning, for a thread.
pub const ROOT: u32 = 0;
/// The queue of pieces of leaves, for a warp each.
pub const LEAVES: u32 = 5;
/// Queues: [`ROOT`], four of pieces of inner nodes, [`LEAVES`].
pub const QUEUES: u32 = 6;
/// Words of a run's state: a line of 128 bytes for each queue, for `pending`, and for the count of blocks that are through.
pub const STATE_WORDS: u32 = (QUEUES + 2) * STRIDE;

const STRIDE: u32 = 16;
const PENDING: usize = (QUEUES * STRIDE) as usize;
const THROUGH: usize = ((QUEUES + 1) * STRIDE) as usize;

/// Words of a place.
pub const PLACE_WORDS: u32 = 4;

/// Binary logarithms of the threads for a piece of each queue.
#[inline(always)]
pub fn team_log2(queue: u32) -> u32 {
    // Of the root 7, then 7, 5, 3, 1, and 5 of leaves: a hexadecimal digit each.
    0x51_3577 >> (4 * queue) & 15
}

/// The queue of an inner node of `len` entries: more than 32, more than 8, more than 2, or fewer.
#[inline(always)]
pub fn inner_queue(len: u32) -> u32 {
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

/// Places of a queue that a block has drawn; no queue has the number [`QUEUES`], which says that all is done.
#[derive(Clone, Copy)]
pub struct Draw {
    /// The queue.
    pub queue: u32,
    /// Its first place.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Queues {
    /// Draws for a block; called by one warp. Waits until there is something, or all is done.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn draw<const BLOCK: u32>(self) -> Draw {
        let lane = thread::lane();
        loop {
            let word = if lane <= QUEUES { self.load((lane * STRIDE) as usize) } else { 0 };
            let (promised, drawn) = ((word >> 32) as u32, word as u32);
            let there = if lane == ROOT { 1 } else { promised.min(self.capacity) };
            let ready = warp::ballot(warp::FULL, lane < QUEUES && there > drawn);
            // Loaded as one less, so that 0 is a run's beginning with its root.
            let done = warp::ballot(warp::FULL, lane == QUEUES && word == u64::MAX);
            if ready == 0 {
                if done != 0 {
                    return Draw { queue: QUEUES, first: 0, count: 0 };
                }
                thread::spin_hint();
                continue;
            }
            let queue = ready.trailing_zeros();
            let count = (there.wrapping_sub(drawn)).min(BLOCK >> team_log2(queue));
            let mut seen = !word;
            if lane == queue {
                let at = (queue * STRIDE) as usize;
                let next = word + u64::from(count);
                seen = self.state.compare_exchange(at, word, next, Ordering::Relaxed, Scope::Device);
            }
            if warp::ballot(warp::FULL, seen == word) != 0 {
                let (first, count) =
                    (warp::shuffle(warp::FULL, drawn, queue), warp::shuffle(warp::FULL, count, queue));
                return Draw { queue, first, count };
            }
        }
    }

    /// Promises `count` places of a queue: the first of them.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn promise(self, queue: u32, count: u32) -> u32 {
        let word = self.add((queue * STRIDE) as usize, u64::from(count) << 32);
        (word >> 32) as u32
    }

    /// Adds to what is put in and not done, modulo 2⁶⁴; what it was.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn add_pending(self, count: u64) -> u64 {
        self.add(PENDING, count)
    }

    /// Puts work at a place that is below the capacity.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn put(self, queue: u32, place: u32, work: Work) {
        let (at, words) = (self.place(queue, place), work.words());
        for word in 0..PLACE_WORDS as usize {
            let tagged = u64::from(words[word]) | u64::from(self.run) << 32;
            at.atomic_store(word, tagged, Ordering::Relaxed, Scope::Device);
        }
    }

    /// The work at a place that was drawn.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn take(self, queue: u32, place: u32) -> Work {
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
    pub fn leave(self, blocks: u32) {
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
