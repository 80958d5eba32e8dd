//! The queues of an operation.

use evenpath_simt::device;

/// The largest number of words of an element.
pub const MAX_WORDS: usize = 8;

/// An element of a queue. In a queue, it is a few words, each tagged with the number of the run.
///
/// Several lanes may share an element that has several [`slots`](Self::slots), such as a node. It is put into a queue in parts,
/// each with at most as many slots as the queue has lanes per element.
pub trait Payload: Copy {
    /// Words of an element, 1 to [`MAX_WORDS`].
    const WORDS: usize;

    /// Returns the element as words, of which the first [`WORDS`](Self::WORDS) count.
    fn to_words(self) -> [u32; MAX_WORDS];

    /// Returns the element of [`to_words`](Self::to_words).
    fn from_words(words: [u32; MAX_WORDS]) -> Self;

    /// Returns the number of slots that lanes share; 1 for an element that is taken as a whole.
    #[device]
    fn slots(self) -> u32 {
        1
    }

    /// Returns at most `count` of the slots, starting at the given one. There is at least one.
    #[device]
    #[must_use]
    fn part(self, _first: u32, _count: u32) -> Self {
        self
    }
}

/// The queues of an operation.
///
/// [`ROOT`](super::ROOT) is the queue of the element that a run begins with, and [`WIDE`](super::WIDE) is for elements that take a
/// whole block each. The others are free. An operation has queues for elements that take similar work, so that the lanes of a
/// warp diverge little (Derler 2016, Figure 4.1).
pub trait Specification {
    /// Element of the queues.
    type Element: Payload;

    /// The number of queues, 2 to 8.
    const QUEUES: u32;

    /// log2 of the lanes per element of each queue, as hexadecimal digits; the lowest is that of queue 0. A block draws as many
    /// elements at once as it has lanes for.
    const LANES_LOG2: u32;

    /// log2 of the lanes per element of a queue.
    #[device]
    fn lanes_log2(queue: u32) -> u32 {
        Self::LANES_LOG2 >> (4 * queue) & 15
    }
}
