//! Elements that found no place in a queue: the block that found them keeps them in shared memory.

use core::marker::PhantomData;

use evenpath_simt::{device, thread, Arena, Shared};

use super::specification::{Payload, MAX_WORDS};

/// Slots of an element that are taken at once. So an element on the path to the current one leaves at most this many others,
/// its own rest included.
pub(super) const SLOTS: u32 = 8;
/// Maximum depth of nested elements of several slots: more than any tree has levels.
const LEVELS: u32 = 8;

/// Returns the largest number of elements: one for each thread of a draw, and those of each level below.
const fn capacity(block_size: u32) -> u32 {
    block_size + LEVELS * SLOTS
}

/// Bytes of shared memory.
pub(super) const fn bytes<P: Payload>(block_size: u32) -> usize {
    4 * (capacity(block_size) as usize * (P::WORDS + 1) + 1)
}

/// The elements of a block, with their queues.
#[derive(Clone, Copy)]
pub(super) struct Stack<P> {
    words: Shared<u32>,
    len: Shared<u32>,
    element: PhantomData<P>,
}

impl<P: Payload> Stack<P> {
    /// Returns an empty stack; the block needs a barrier before it uses it.
    #[device]
    pub(super) fn take(arena: &mut Arena, block_size: u32) -> Self {
        let words = arena.take(capacity(block_size) as usize * (P::WORDS + 1));
        let stack = Self { words, len: arena.take(1), element: PhantomData };
        if thread::index() == 0 {
            stack.len.store(0, 0);
        }
        stack
    }

    /// Returns the number of elements; after a barrier.
    #[device]
    pub(super) fn len(self) -> u32 {
        self.len.load(0)
    }

    /// Adds an element. A thread adds at most one between two barriers.
    #[device(track_caller)]
    pub(super) fn push(self, queue: u32, element: P) {
        let at = self.len.fetch_add(0, 1);
        self.store(at, queue, element);
    }

    /// Takes up to [`SLOTS`] slots of the last of `len` elements, and its queue. All threads of the block call it together, after a
    /// barrier. It has a barrier, and the block needs another one before it uses the stack again.
    #[device(track_caller)]
    pub(super) fn pop(self, len: u32) -> (u32, P) {
        let last = self.words.skip((len - 1) as usize * (P::WORDS + 1));
        let mut words = [0; MAX_WORDS];
        for word in 0..P::WORDS {
            words[word] = last.load(word);
        }
        let (queue, element) = (last.load(P::WORDS), P::from_words(words));
        thread::barrier();
        let slots = element.slots();
        if thread::index() == 0 {
            if slots > SLOTS {
                self.store(len - 1, queue, element.part(SLOTS, slots - SLOTS));
            } else {
                self.len.store(0, len - 1);
            }
        }
        (queue, element.part(0, slots.min(SLOTS)))
    }

    #[device(track_caller)]
    fn store(self, at: u32, queue: u32, element: P) {
        let place = self.words.skip(at as usize * (P::WORDS + 1));
        let words = element.to_words();
        for word in 0..P::WORDS {
            place.store(word, words[word]);
        }
        place.store(P::WORDS, queue);
    }
}
