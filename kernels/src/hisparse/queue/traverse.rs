//! The traversal of a tree, for an operation on its entries.
//!
//! The first levels are divided into shares, which pass through no queue (`shares`). After them there are queues for pieces of
//! inner nodes, by the number of their entries, and for pieces of large leaves. A block repeats these steps until all is done:
//!
//! 1. It draws a share (`TraversalBoard::share`), or pieces of a queue; or it walks a subtree that found no place in a queue (`walk`).
//! 2. Each thread takes a child of the share or of a drawn piece (`drawn_child`).
//! 3. It processes a leaf of one or two entries at once, and counts any other child in its queue or list (`TraversalBoard::sort`). Leaves of up
//!    to 128 entries stay with the block, in lists by kind and number of entries. So most leaves never pass through global memory:
//!    the parent's slots are their queue.
//! 4. The block puts inner children and large leaves into queues (`TraversalBoard::publish`). If a queue is full, it will walk the rest itself.
//! 5. It processes each list, with one thread per four entries of a leaf (`TraversalBoard::do_lists`).

use evenpath_simt::{device, thread, Arena, Shared, Word};

use super::super::layout::{self, COO1, COO2, NULL};
use super::queues::{Draw, Held, Queues, ROOT};
use super::shares::Parents;
use super::specification::Specification;
use super::tree::{EntryOperation, Tree};
use super::walk::SubtreeWalk;
use super::work::{Work, BLOCK, PIECE_ENTRIES};

/// The queues of a traversal: that of shares, four of pieces of inner nodes, one of pieces of leaves. Leaves are processed by warps,
/// several one after another.
#[derive(Debug, Clone, Copy)]
pub struct TreeQueues;

impl Specification for TreeQueues {
    type Element = Work;
    const QUEUES: u32 = 6;
    const LANES_LOG2: u32 = 0x21_3577;
}

/// The queue of pieces of leaves.
const LEAVES: u32 = 5;
const QUEUES: u32 = TreeQueues::QUEUES;

/// Lists of leaves in shared memory, for 2, 8 and 32 threads per leaf: of up to 8, up to 32, and more entries. They are numbered
/// after the queues.
const LISTS: u32 = 3;
const FIRST_LIST: u32 = QUEUES;
const LAST_LIST: u32 = FIRST_LIST + LISTS - 1;
/// The largest number of entries of a leaf that stays with the block that finds it.
const SMALL_LEAF: u32 = 128;
/// The largest number of children of a share whose leaves stay with the block if they are one piece each: two for each warp.
const FEW_CHILDREN: u32 = 8;

/// Bytes of shared memory that [`traverse`] takes from its arena in a block of [`BLOCK`] threads.
///
/// # Panics
///
/// If the block has another size.
pub const fn traverse_shared_bytes(block: usize) -> usize {
    assert!(block == BLOCK as usize, "a traversal needs one thread per child");
    let words = 4 * BLOCK + LISTS * BLOCK + (FIRST_LIST + LISTS) + QUEUES + 4;
    SubtreeWalk::BYTES + Parents::BYTES + 4 * words as usize
}

/// A block's work, in shared memory.
#[derive(Clone, Copy)]
struct TraversalBoard {
    /// The leaf of each thread.
    leaves: Shared<u32>,
    /// Threads that hold the leaves of each list.
    lists: Shared<u32>,
    /// The number of pieces for each queue, and of leaves in each list.
    counts: Shared<u32>,
    /// First of the promised places of each queue.
    places: Shared<u32>,
    /// The drawn pieces, and after them the drawn share.
    draw: Shared<u32>,
}

/// Place in which a thread has put its child.
#[derive(Clone, Copy)]
struct Put {
    /// A queue or a list; [`ROOT`] if there is nothing to put.
    list: u32,
    /// The number of pieces that others have put before it.
    offset: u32,
}

/// Applies the operation to every entry of the tree; for any number of blocks of [`BLOCK`] threads. The queues are
/// [`TreeQueues`].
#[device]
pub fn traverse<V: Word, F: EntryOperation<V>>(
    mut arena: Arena,
    tree: Tree<V>,
    queues: Queues,
    mut operation: F,
) {
    let leaves = arena.take(4 * BLOCK as usize);
    let mut walk = SubtreeWalk::new(&mut arena, tree.children_log2);
    let parents = Parents::take(&mut arena);
    let board = TraversalBoard {
        leaves,
        lists: arena.take((LISTS * BLOCK) as usize),
        counts: arena.take((FIRST_LIST + LISTS) as usize),
        places: arena.take(QUEUES as usize),
        draw: arena.take(4),
    };
    queues.clear_next::<TreeQueues>();
    let mut next_share = draw_share(queues);
    let shares = parents.find(tree, &operation);
    let (mut held, mut has_share, mut is_walking) = (Held::NONE, true, false);
    loop {
        if thread::index() <= LAST_LIST {
            board.counts.store(thread::index() as usize, 0);
        }
        // 1. Draw a share, or pieces, or walk on. 2. Take a child.
        let mut drawn = Draw { queue: ROOT, first: 0, count: 0 };
        let child = if is_walking {
            let leaf = walk.next(tree);
            is_walking = leaf.is_some();
            thread::barrier();
            leaf.unwrap_or(Work::NONE)
        } else {
            if has_share {
                let share = board.share(next_share);
                has_share = share < shares.count;
                drawn = Draw { queue: ROOT, first: share, count: 1 };
            }
            if has_share {
                // Arrives while the block works.
                next_share = draw_share(queues);
                shares.child(tree, drawn.first)
            } else {
                drawn = queues.draw_for_block::<TreeQueues, BLOCK>(&mut held, board.draw, shares.count);
                if drawn.queue == QUEUES {
                    break;
                }
                drawn_child(tree, queues, drawn)
            }
        };
        let in_place = is_walking || drawn.queue == LEAVES;
        let largest = if in_place {
            u32::MAX
        } else if drawn.queue == ROOT && shares.len <= FEW_CHILDREN {
            PIECE_ENTRIES
        } else {
            SMALL_LEAF
        };
        // 3. Sort the children.
        let (child, put) = board.sort(tree, &mut operation, child, largest);
        thread::barrier();
        // 4. Put what is large into queues.
        if !is_walking && board.publish(queues, child, put, drawn.count, walk) {
            is_walking = true;
        }
        // 5. Process what is small.
        board.do_lists(tree, &mut operation, is_walking && in_place);
        thread::barrier();
        if is_walking && !in_place && thread::index() == 0 {
            queues.add_pending::<TreeQueues>(u64::from(walk.pieces()).wrapping_neg());
        }
    }
    operation.finish();
}

/// Returns the number of the next share, in the first thread of a block.
#[device(track_caller)]
fn draw_share(queues: Queues) -> u32 {
    if thread::index() == 0 {
        queues.draw_share().min(u64::from(u32::MAX)) as u32
    } else {
        0
    }
}

/// Returns the child of the drawn pieces that a thread takes: at most one; for a piece of a leaf, one thread of a warp
/// takes it.
#[device(track_caller)]
fn drawn_child<V: Word>(tree: Tree<V>, queues: Queues, drawn: Draw) -> Work {
    let lanes_log2 = TreeQueues::lanes_log2(drawn.queue);
    let (team, place) = (thread::index() >> lanes_log2, thread::index() & ((1 << lanes_log2) - 1));
    if team >= drawn.count {
        return Work::NONE;
    }
    if drawn.queue == LEAVES {
        return if place > 0 { Work::NONE } else { queues.take(LEAVES, drawn.first + team) };
    }
    let work: Work = queues.take(drawn.queue, drawn.first + team);
    let slot = work.begin(tree.children_log2) + place;
    if slot < work.end(tree.children_log2) {
        tree.child(work, slot)
    } else {
        Work::NONE
    }
}

/// Returns the queue of an inner node of `len` entries: more than 32, more than 8, more than 2, or at most 2.
#[device]
fn inner_queue(len: u32) -> u32 {
    4 - u32::from(len > 2) - u32::from(len > 8) - u32::from(len > 32)
}

impl TraversalBoard {
    /// Returns the share that the first thread has drawn, in all threads. It has a barrier.
    #[device]
    fn share(self, drawn: u32) -> u32 {
        if thread::index() == 0 {
            self.draw.store(3, drawn);
        }
        thread::barrier();
        self.draw.load(3)
    }

    /// Processes a leaf of one or two entries; counts any other child in its queue or list. Leaves of up to `largest` entries go to
    /// the lists. Returns the child with its length.
    #[device]
    fn sort<V: Word, F: EntryOperation<V>>(
        self,
        tree: Tree<V>,
        operation: &mut F,
        child: Work,
        largest: u32,
    ) -> (Work, Put) {
        let child = if operation.enters(tree.region(child)) { child } else { Work::NONE };
        let (child, unit) = tree.with_len(child);
        let mut put = Put { list: ROOT, offset: 0 };
        if child.reference == NULL {
            return (child, put);
        }
        let kind = layout::kind(child.reference);
        if child.height > 0 {
            put.list = inner_queue(child.len);
        } else if kind == COO1 || kind == COO2 {
            tree.few(operation, child, unit);
            return (child, put);
        } else if child.len <= largest {
            put.list = FIRST_LIST + u32::from(child.len > 8) + u32::from(child.len > 32);
        } else {
            put.list = LEAVES;
        }
        if put.list >= FIRST_LIST {
            put.offset = self.counts.fetch_add(put.list as usize, 1);
            self.leaves.store_16(4 * thread::index() as usize, child.packet());
            let place = (put.list - FIRST_LIST) * BLOCK + put.offset;
            self.lists.store(place as usize, thread::index());
        } else {
            put.offset = self.counts.fetch_add(put.list as usize, child.pieces(tree.children_log2));
        }
        (child, put)
    }

    /// Puts the counted children into the queues, and leaves those that find no space to be walked; `done` pieces were
    /// drawn. Returns whether there is anything to walk.
    #[device]
    fn publish(self, queues: Queues, child: Work, put: Put, done: u32, walk: SubtreeWalk) -> bool {
        let mut pieces = 0;
        for queue in 1..QUEUES {
            pieces += self.counts.load(queue as usize);
        }
        let queue = thread::index();
        if queue < QUEUES {
            let count = self.counts.load(queue as usize);
            if queue == ROOT {
                let added = queues.add_pending::<TreeQueues>(u64::from(pieces).wrapping_sub(u64::from(done)));
                if pieces > 0 {
                    // The result is needed, so that the addition is done when all have passed the barrier.
                    self.places.store(ROOT as usize, added as u32);
                }
            } else if count > 0 {
                self.places.store(queue as usize, queues.promise(queue, count));
            }
        }
        if pieces == 0 {
            return false;
        }
        thread::barrier();
        let mut has_room = true;
        for queue in 1..QUEUES {
            let count = self.counts.load(queue as usize);
            if count > 0 {
                let end = self.places.load(queue as usize).saturating_add(count);
                has_room &= end <= queues.capacity;
            }
        }
        if put.list != ROOT && put.list < FIRST_LIST {
            let place = self.places.load(put.list as usize).saturating_add(put.offset);
            let room = queues.capacity.saturating_sub(place).min(child.pieces(walk.children_log2));
            for piece in 0..room {
                queues.put(put.list, place + piece, Work { piece, ..child });
            }
            if room < child.pieces(walk.children_log2) {
                walk.add(Work { piece: room, ..child });
            }
        }
        !has_room
    }

    /// Processes the leaves of the lists: starting at their piece if `whole`, else only their piece.
    #[device]
    fn do_lists<V: Word, F: EntryOperation<V>>(self, tree: Tree<V>, operation: &mut F, whole: bool) {
        self.do_list::<V, F, 2>(tree, operation, FIRST_LIST, whole);
        self.do_list::<V, F, 8>(tree, operation, FIRST_LIST + 1, whole);
        self.do_list::<V, F, 32>(tree, operation, LAST_LIST, whole);
    }

    /// Processes the leaves of a list, each with `LANES` threads.
    #[device]
    fn do_list<V: Word, F: EntryOperation<V>, const LANES: u32>(
        self,
        tree: Tree<V>,
        operation: &mut F,
        list: u32,
        whole: bool,
    ) {
        let count = self.counts.load(list as usize);
        let mut at = thread::index() / LANES;
        while at < count {
            let thread = self.lists.load(((list - FIRST_LIST) * BLOCK + at) as usize);
            let leaf = Work::from_packet(self.leaves.load_16(4 * thread as usize));
            let range = if LANES < 32 {
                (0, leaf.len)
            } else {
                (leaf.begin(0), if whole { leaf.len } else { leaf.end(0) })
            };
            tree.sweep::<F, LANES>(operation, leaf, thread::index() % LANES, range);
            at += BLOCK / LANES;
        }
    }
}
