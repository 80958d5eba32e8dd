//! The loop of an operation whose elements go through queues.

use evenpath_simt::atomic::{fence, Scope};
use evenpath_simt::{device, thread, Arena, Shared};

use super::queues::{Held, Queues, ROOT};
use super::specification::{Payload, Specification};
use super::stack::{self, Stack};

/// An element that a thread has found, for a queue other than [`ROOT`].
#[derive(Debug, Clone, Copy)]
pub struct FoundElement<P> {
    /// The queue.
    pub queue: u32,
    /// The element.
    pub element: P,
}

/// An operation whose elements go through queues. Each thread has a copy of it.
///
/// The lanes that process an element of n slots find at most n elements, each lane at most one. Elements of several
/// slots may nest up to eight deep, enough for the nodes of a tree.
pub trait QueueOperation: Specification {
    /// True if the lanes that take an element read memory that those who found it have written. Then it is released and
    /// acquired with each element. Otherwise elements pass between blocks without any order.
    const READS_WHAT_WAS_WRITTEN: bool;

    /// Returns the element that a run begins with.
    fn root(&self) -> Self::Element;

    /// Processes the element of this thread's lanes, of which this is number `lane`; they may be more than the element has slots.
    /// All threads of the block call it together, also those without an element, and all have the same queue.
    fn process(
        &mut self,
        queue: u32,
        element: Option<Self::Element>,
        lane: u32,
    ) -> Option<FoundElement<Self::Element>>;

    /// Called once by all threads of a block together, after its last element.
    #[device]
    fn finish(&mut self) {}
}

/// Bytes of shared memory that [`run`] takes from its arena, for blocks of `block_size` threads.
pub const fn run_shared_bytes<S: Specification>(block_size: u32) -> usize {
    stack::bytes::<S::Element>(block_size) + 4 * (2 * S::QUEUES + 3) as usize
}

/// Shared memory of a block.
struct QueueBoard<P> {
    /// The number of places that each queue needs.
    counts: Shared<u32>,
    /// First of the promised places of each queue.
    places: Shared<u32>,
    /// The elements that were drawn.
    draw: Shared<u32>,
    stack: Stack<P>,
}

/// Runs an operation; for any number of blocks of `BLOCK` threads, a power of two.
#[device]
pub fn run<O: QueueOperation, const BLOCK: u32>(mut arena: Arena, queues: Queues, mut operation: O) {
    let board = QueueBoard {
        stack: Stack::take(&mut arena, BLOCK),
        counts: arena.take(O::QUEUES as usize),
        places: arena.take(O::QUEUES as usize),
        draw: arena.take(3),
    };
    queues.clear_next::<O>();
    let mut held = Held::NONE;
    // The root is the only share.
    let mut has_drawn_share = false;
    // Elements on the stack.
    let mut stacked = 0;
    // Elements that are counted as pending, and no longer in a queue: drawn ones until everything found in them is done
    // or put into queues, and those that found no place.
    let mut owed = 0;
    loop {
        if thread::index() < O::QUEUES {
            board.counts.store(thread::index() as usize, 0);
        }
        let is_root = !has_drawn_share && board.takes_root(queues);
        has_drawn_share = true;
        let (queue, element, lane) = if is_root {
            owed = 1;
            let is_taking = thread::index() >> O::lanes_log2(ROOT) == 0;
            (ROOT, if is_taking { Some(operation.root()) } else { None }, thread::index())
        } else if stacked > 0 {
            let (queue, element) = board.stack.pop(stacked);
            let is_taking = thread::index() >> O::lanes_log2(queue) == 0;
            (queue, if is_taking { Some(element) } else { None }, thread::index())
        } else {
            let drawn = queues.draw_for_block::<O, BLOCK>(&mut held, board.draw, 1);
            if drawn.queue == O::QUEUES {
                break;
            }
            owed += drawn.count;
            let lanes_log2 = O::lanes_log2(drawn.queue);
            let team = thread::index() >> lanes_log2;
            let is_taking = team < drawn.count;
            let element = is_taking.then(|| queues.take(drawn.queue, drawn.first + team));
            (drawn.queue, element, thread::index() & ((1 << lanes_log2) - 1))
        };
        if O::READS_WHAT_WAS_WRITTEN {
            fence(Scope::Device);
        }
        let found = operation.process(queue, element, lane);
        owed += board.put::<O>(queues, found);
        thread::barrier();
        stacked = board.stack.len();
        if stacked == 0 {
            if thread::index() == 0 {
                queues.add_pending::<O>(u64::from(owed).wrapping_neg());
            }
            owed = 0;
        }
    }
    operation.finish();
}

impl<P: Payload> QueueBoard<P> {
    /// Draws a share; whether it is the root. All threads of the block call it together.
    #[device]
    fn takes_root(&self, queues: Queues) -> bool {
        if thread::index() == 0 {
            self.draw.store(0, queues.draw_share() as u32);
        }
        thread::barrier();
        let share = self.draw.load(0);
        thread::barrier();
        share == 0
    }

    /// Puts the elements that threads have found into queues, and those that find no place there onto the stack.
    /// Returns the number of places that were missing. The block needs a barrier before it goes on.
    #[device]
    fn put<O: QueueOperation<Element = P>>(&self, queues: Queues, found: Option<FoundElement<P>>) -> u32 {
        let (mut parts, mut offset) = (0, 0);
        if let Some(FoundElement { queue, element }) = found {
            parts = element.slots().div_ceil(1 << O::lanes_log2(queue));
            offset = self.counts.fetch_add(queue as usize, parts);
        }
        thread::barrier();
        let mut total = 0;
        for queue in 1..O::QUEUES {
            total += self.counts.load(queue as usize);
        }
        if total == 0 {
            return 0;
        }
        let queue = thread::index();
        if queue == ROOT {
            // The result is needed, so that the addition is done before anything can be drawn.
            let added = queues.add_pending::<O>(u64::from(total));
            self.places.store(ROOT as usize, added as u32);
        } else if queue < O::QUEUES && self.counts.load(queue as usize) > 0 {
            self.places.store(queue as usize, queues.promise(queue, self.counts.load(queue as usize)));
        }
        thread::barrier();
        if O::READS_WHAT_WAS_WRITTEN {
            fence(Scope::Device);
        }
        if let Some(FoundElement { queue, element }) = found {
            let room = self.room(queues, queue, offset).min(parts);
            let (lanes, slots) = (1 << O::lanes_log2(queue), element.slots());
            let place = self.places.load(queue as usize).saturating_add(offset);
            for part in 0..room {
                let first = part * lanes;
                queues.put(queue, place + part, element.part(first, lanes.min(slots - first)));
            }
            if room < parts {
                self.stack.push(queue, element.part(room * lanes, slots - room * lanes));
            }
        }
        let mut missing = 0;
        for queue in 1..O::QUEUES {
            let count = self.counts.load(queue as usize);
            if count > 0 {
                missing += count - self.room(queues, queue, 0).min(count);
            }
        }
        missing
    }

    /// Returns the number of places of a queue from the promised ones' `offset` on, which may be none.
    #[device]
    fn room(&self, queues: Queues, queue: u32, offset: u32) -> u32 {
        let place = self.places.load(queue as usize).saturating_add(offset);
        queues.capacity.saturating_sub(place)
    }
}
