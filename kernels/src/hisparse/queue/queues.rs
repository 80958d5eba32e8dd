//! Queues that blocks share: threads put in the work that they find, and whole blocks draw it.
//!
//! A queue is an array of places, each used once per run, and a word with two counts: the places promised to producers (upper
//! half) and the places given to consumers (lower half). A block is given places by an atomic addition, which always succeeds,
//! and holds them until work arrives; it may hold places of several queues. Each word of a place carries the number of the run,
//! so that no memory ordering is needed: the holder polls the place until all words are there.
//!
//! A block that holds places is running, and looks at them again after its drawn work, so all work is done. More places
//! may be promised than exist. Those are given to no block: a producer that was promised one does the work itself.
//!
//! A run begins with *shares*, which every block knows how to find and which pass through no queue: blocks draw their numbers
//! from a counter. A block draws from queues when no share is left, so each share is with a block that is running.
//!
//! `pending` counts the elements that were put in, and the shares, that are not done. It is raised before work can be drawn. The
//! block that did some work subtracts it no earlier than it adds what it put in. When `pending` is 0, nothing is left, nothing
//! will come, and held places stay empty.
//!
//! Runs use two states in turn, and each clears that of the next run, so that no block needs to know that it is the
//! last.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, thread, warp, GlobalMut, Shared};

use super::specification::{Payload, Specification, MAX_WORDS};

/// The queue of what a run begins with; its elements are not put into memory.
pub const ROOT: u32 = 0;
/// The queue of elements that take a whole block each.
pub const WIDE: u32 = 1;

/// Words of a line of 128 bytes.
const STRIDE: u32 = 16;

/// Words of a run's state: a line for the number of shares that are drawn, for each queue, and for `pending`.
pub const fn state_words<S: Specification>() -> usize {
    ((S::QUEUES + 1) * STRIDE) as usize
}

/// Words of the places of all queues: one per word of an element; the root has no place.
pub const fn places_words<S: Specification>(capacity: u32) -> usize {
    (S::QUEUES - 1) as usize * capacity as usize * S::Element::WORDS
}

const fn pending_word<S: Specification>() -> usize {
    (S::QUEUES * STRIDE) as usize
}

/// The line of [`ROOT`], which has no places to count.
const SHARES_WORD: usize = (ROOT * STRIDE) as usize;

parameters! {
    /// The queues of a run.
    pub struct Queues {
        /// [`places_words`] words, zero before the first run.
        pub places: GlobalMut<u64>,
        /// [`state_words`] words, all zero before the run.
        pub state: GlobalMut<u64>,
        /// The same number of words of the next run, which this one clears.
        pub next_state: GlobalMut<u64>,
        /// Places per queue.
        pub capacity: u32,
        /// The number of the run, neither 0 nor that of an earlier run with the same places.
        pub run: u32,
    }
}

/// Elements that a block has drawn. A queue after the last means that all work is done.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    /// The queue.
    pub(super) queue: u32,
    /// The first place.
    pub(super) first: u32,
    /// The number of elements.
    pub(super) count: u32,
}

impl Draw {
    /// All work is done.
    #[device]
    fn nothing<S: Specification>() -> Self {
        Self { queue: S::QUEUES, first: 0, count: 0 }
    }
}

/// The places that a block holds of one queue: in the warp that draws, each lane keeps those of the queue of its number.
#[derive(Clone, Copy)]
pub(super) struct Held {
    /// The first place.
    first: u32,
    /// The number of places.
    count: u32,
    /// Number of them that are known to be promised.
    promised: u32,
    /// The queue's word before a place was taken ahead of need; not examined yet.
    ahead: u64,
    /// True if there is such a place.
    is_ahead: bool,
}

impl Held {
    /// No places.
    pub(super) const NONE: Self = Self { first: 0, count: 0, promised: 0, ahead: 0, is_ahead: false };
}

/// An idle block polls the places that it holds up to this many times for each time that it polls the shared words.
const MOST_LOOKS: u32 = 8;
/// Blocks that may poll the shared words at a time without making additions to them wait.
const POLLING_BLOCKS: u32 = 128;

impl Queues {
    /// Draws elements for a block; called by one warp. Waits until there is work, or all is done. The run began with `shares`
    /// shares, and all are drawn.
    #[device(track_caller)]
    fn draw<S: Specification, const BLOCK: u32>(self, held: &mut Held, shares: u32) -> Draw {
        let lane = thread::lane();
        // Blocks take turns, so that only a few poll the shared words at a time.
        let turns = (thread::grid_size() / POLLING_BLOCKS).clamp(1, MOST_LOOKS);
        let mut looks = 0;
        loop {
            let is_turn = looks == 0 || (looks + thread::block()).is_multiple_of(turns);
            // Where all work was in shares, a block leaves without taking a place.
            let holds_nothing = looks == 0 && held.count == 0 && !held.is_ahead;
            if warp::any(warp::FULL, lane == WIDE && holds_nothing && self.is_done::<S>(shares)) {
                return Draw::nothing::<S>();
            }
            if lane != ROOT && lane < S::QUEUES && held.promised == 0 {
                self.look::<S, BLOCK>(held, is_turn);
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
                        // Arrives while the block works.
                        held.ahead = self.add((WIDE * STRIDE) as usize, 1);
                        held.is_ahead = true;
                    }
                }
                return Draw { queue, first, count };
            }
            if warp::any(warp::FULL, is_turn && lane == 0 && self.is_done::<S>(shares)) {
                return Draw::nothing::<S>();
            }
            looks += 1;
            thread::spin_hint();
        }
    }

    /// Returns whether all is done of a run that began with `shares` shares.
    #[device(track_caller)]
    fn is_done<S: Specification>(self, shares: u32) -> bool {
        // The word begins at 0, when only the shares are pending.
        self.load(pending_word::<S>()) == u64::from(shares).wrapping_neg()
    }

    /// [`draw`](Self::draw) by the first warp, for all threads of the block. `shared` has three words. There is a barrier between
    /// writing and reading them.
    #[device]
    pub(super) fn draw_for_block<S: Specification, const BLOCK: u32>(
        self,
        held: &mut Held,
        shared: Shared<u32>,
        shares: u32,
    ) -> Draw {
        if thread::warp() == 0 {
            let Draw { queue, first, count } = self.draw::<S, BLOCK>(held, shares);
            if thread::lane() == 0 {
                shared.store(0, queue);
                shared.store(1, first);
                shared.store(2, count);
            }
        }
        thread::barrier();
        Draw { queue: shared.load(0), first: shared.load(1), count: shared.load(2) }
    }

    /// Checks whether work has arrived in the held places of this lane's queue. If no places are held, takes some: of the queue
    /// for whole blocks always one, which only this block then polls; of other queues, if it is the block's turn and there is
    /// work, its share of that, at most as many elements as it has threads for.
    #[device(track_caller)]
    fn look<S: Specification, const BLOCK: u32>(self, held: &mut Held, is_turn: bool) {
        let queue = thread::lane();
        let capacity = self.capacity;
        let there = |word: u64| ((word >> 32) as u32).min(capacity);
        let word = (queue * STRIDE) as usize;
        if held.count == 0 {
            let (mut elements, mut seen) = (1, held.ahead);
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
                elements = (available / thread::grid_size()).clamp(1, BLOCK >> S::lanes_log2(queue));
                seen = self.add(word, u64::from(elements));
            }
            held.first = seen as u32;
            held.count = elements.min(capacity.saturating_sub(held.first));
            held.promised = there(seen).saturating_sub(held.first).min(held.count);
            return;
        }
        let tagged =
            self.place::<S::Element>(queue, held.first).atomic_load(0, Ordering::Relaxed, Scope::Device);
        if (tagged >> 32) as u32 == self.run {
            held.promised = 1;
            if held.count > 1 {
                held.promised = there(self.load(word)).saturating_sub(held.first).clamp(1, held.count);
            }
        }
    }

    /// Promises `count` places of a queue; the first of them.
    #[device(track_caller)]
    pub(super) fn promise(self, queue: u32, count: u32) -> u32 {
        let word = self.add((queue * STRIDE) as usize, u64::from(count) << 32);
        (word >> 32) as u32
    }

    /// Adds to the number of pending elements, modulo 2⁶⁴; the previous number.
    #[device(track_caller)]
    pub(super) fn add_pending<S: Specification>(self, count: u64) -> u64 {
        self.add(pending_word::<S>(), count)
    }

    /// Puts an element into a place below the capacity.
    #[device(track_caller)]
    pub(super) fn put<P: Payload>(self, queue: u32, place: u32, element: P) {
        let (at, words) = (self.place::<P>(queue, place), element.to_words());
        for word in 0..P::WORDS {
            let tagged = u64::from(words[word]) | u64::from(self.run) << 32;
            at.atomic_store(word, tagged, Ordering::Relaxed, Scope::Device);
        }
    }

    /// Returns the element in a drawn place.
    #[device(track_caller)]
    pub(super) fn take<P: Payload>(self, queue: u32, place: u32) -> P {
        let at = self.place::<P>(queue, place);
        loop {
            let mut words = [0; MAX_WORDS];
            let mut is_there = true;
            for word in 0..P::WORDS {
                let tagged = at.atomic_load(word, Ordering::Relaxed, Scope::Device);
                words[word] = tagged as u32;
                is_there &= (tagged >> 32) as u32 == self.run;
            }
            if is_there {
                return P::from_words(words);
            }
            thread::spin_hint();
        }
    }

    /// Returns the number of the next share; numbers beyond the last are those of no share. By one thread of a block.
    #[device(track_caller)]
    pub(super) fn draw_share(self) -> u64 {
        self.add(SHARES_WORD, 1)
    }

    /// Clears the state of the next run. All threads of a grid may call it, early or late.
    #[device(track_caller)]
    pub(super) fn clear_next<S: Specification>(self) {
        if thread::block() == 0 && thread::index() <= S::QUEUES {
            let word = (thread::index() * STRIDE) as usize;
            self.next_state.atomic_store(word, 0, Ordering::Relaxed, Scope::Device);
        }
    }

    /// Returns a view of a queue's place.
    #[device(track_caller)]
    fn place<P: Payload>(self, queue: u32, place: u32) -> GlobalMut<u64> {
        let place = (queue - 1) as usize * self.capacity as usize + place as usize;
        self.places.skip(place * P::WORDS)
    }

    #[device(track_caller)]
    fn load(self, word: usize) -> u64 {
        self.state.atomic_load(word, Ordering::Relaxed, Scope::Device)
    }

    #[device(track_caller)]
    fn add(self, word: usize, addend: u64) -> u64 {
        self.state.fetch_add(word, addend, Ordering::Relaxed, Scope::Device)
    }
}
