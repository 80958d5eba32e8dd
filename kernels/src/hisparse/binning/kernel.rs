//! The kernel that bins, and its operation for the queue scheduler.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut};

use super::binner::{Binner, BinningMemory, TILE};
use super::pieces::PieceCount;
use super::skeleton::{BinnedEntries, Skeleton, UNITS};
use super::work::{BinningQueues, BinningWork, NODE, PIECES, SMALL, SMALL_ENTRIES};
use crate::hisparse::queue::{
    run, run_shared_bytes, FoundElement, Payload, QueueOperation, Queues, Specification, WIDE,
};

kernel! {
    /// Bins the entries of all inner nodes, starting at the root.
    pub struct HiSparseBinEntries {
        /// The entries, which are moved.
        pub entries: BinnedEntries,
        /// The skeleton, of which the root is there. Output: the other nodes, and the results [`LEAVES`](super::LEAVES),
        /// [`INNER_NODES`](super::INNER_NODES) and [`UNITS`].
        pub skeleton: Skeleton,
        /// [`count_words`](super::count_words) words, of any content.
        pub counts: GlobalMut<u32>,
        /// Bytes of a value.
        pub value_bytes: u32,
        /// The queues, which are [`BinningQueues`].
        pub queues: Queues,
    }
    shared: BinningMemory::BYTES + run_shared_bytes::<BinningQueues>(BLOCK as u32);
    body: HiSparseBinEntries::bin_entries::<BLOCK>;
    entry: hisparse_bin_entries in hisparse_binning: 128 x 1 resident 3;
}

impl HiSparseBinEntries {
    #[device]
    fn bin_entries<const BLOCK: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK == super::binner::BLOCK, "tiles are for blocks of this size") };
        let Self { entries, skeleton, counts, value_bytes, queues } = self;
        let memory = BinningMemory::take(&mut arena);
        let binner = Binner { entries, skeleton, counts, value_bytes, memory, units: 0 };
        run::<_, { super::binner::BLOCK as u32 }>(arena, queues, binner);
    }
}

impl Specification for Binner {
    type Element = BinningWork;
    const QUEUES: u32 = BinningQueues::QUEUES;
    const LANES_LOG2: u32 = BinningQueues::LANES_LOG2;
}

impl QueueOperation for Binner {
    // Nodes and entries.
    const READS_WHAT_WAS_WRITTEN: bool = true;

    #[device]
    fn root(&self) -> BinningWork {
        BinningWork::children(self.skeleton.height, 0, 1)
    }

    #[device(track_caller)]
    fn process(
        &mut self,
        queue: u32,
        work: Option<BinningWork>,
        lane: u32,
    ) -> Option<FoundElement<BinningWork>> {
        if queue == SMALL {
            return self.bin_by_warp(work);
        }
        if queue == WIDE {
            // All threads have the same.
            let work = work.unwrap_or(BinningWork::NONE);
            if work.task == NODE {
                return self.bin_by_block(work);
            }
            if work.task >= PIECES && work.slots() == 1 {
                return self.process_piece(work);
            }
            if work.task >= PIECES {
                let is_piece = lane < work.slots();
                return is_piece.then(|| FoundElement { queue: WIDE, element: work.part(lane, 1) });
            }
        }
        self.look(work, lane)
    }

    #[device(track_caller)]
    fn finish(&mut self) {
        let units = warp::reduce_add(self.units);
        if thread::lane() == 0 {
            self.skeleton.results.fetch_add(UNITS, units, Ordering::Relaxed, Scope::Device);
        }
    }
}

impl Binner {
    /// Looks at one of the children in the work of this thread's lanes: leaves are done, an inner node with one entry is binned, and
    /// the queue of any other is found. All lanes of a warp call it together, also those without a child.
    #[device(track_caller)]
    fn look(&mut self, work: Option<BinningWork>, lane: u32) -> Option<FoundElement<BinningWork>> {
        let work = work.unwrap_or(BinningWork::NONE);
        let (is_child, child, height) = (lane < work.slots(), work.begin + lane, work.height);
        let (mut begin, mut len) = (0, 0);
        if is_child {
            let (first, end) = self.skeleton.extent(height, child);
            (begin, len) = (first, end - first);
        }
        let is_leaf = height == 0;
        if is_child && is_leaf {
            self.add_units(0, len);
        }
        let is_single = len == 1 && !is_leaf;
        self.bin_by_thread(is_single, child, height, begin);
        if !is_child || is_leaf || is_single {
            return None;
        }
        let node = BinningWork::node(child, height);
        Some(if len <= SMALL_ENTRIES {
            FoundElement { queue: SMALL, element: node }
        } else if len <= TILE {
            FoundElement { queue: WIDE, element: node }
        } else {
            let end = PieceCount::of(len).pieces;
            FoundElement { queue: WIDE, element: BinningWork { task: PIECES, end, ..node } }
        })
    }
}
