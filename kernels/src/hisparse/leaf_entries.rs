//! Writes the nodes of a tree: the entries of leaves from sorted runs, and the links of all nodes.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global, Shared};

use super::layout;
use super::levels::{Numbers, TreeShape};
use super::place::TreeNodes;
use super::pool_mut::PoolMut;
use super::runs::Run;
use crate::block::count_scan::CountScan;

kernel! {
    /// Links a node per thread to its parent, and writes the entries of sorted runs to their leaves: one run per thread, whose
    /// entries the block shares.
    pub struct HiSparseFillLeaves<V: Float> {
        /// The runs.
        pub runs: Global<u64>,
        /// The leaf of each run.
        pub leaves: Global<u32>,
        /// The number of each run's first entry.
        pub places: Global<u32>,
        /// The nodes.
        pub nodes: TreeNodes,
        /// Column indices of the matrix's entries.
        pub column_indices: Global<u32>,
        /// Values of the matrix's entries.
        pub values: Global<V>,
        /// The pool, which is zero.
        pub pool: PoolMut<V>,
    }
    shared: (6 * BLOCK) * 4 + CountScan::<u32, BLOCK>::BYTES + Numbers::BYTES;
    body: HiSparseFillLeaves::fill_leaves::<BLOCK>;
    entry: hisparse_fill_leaves_{V} in hisparse_convert: V in [f32, f64], 128 x 1;
}

/// A block's runs in shared memory.
struct StagedRuns {
    /// Entries of the block's runs before each run.
    before: Shared<u32>,
    /// The first entry of each run in the matrix.
    first: Shared<u32>,
    row: Shared<u32>,
    /// Entries of the run's leaf before the run.
    at: Shared<u32>,
    reference: Shared<u32>,
    count: Shared<u32>,
}

impl<V: Float> HiSparseFillLeaves<V> {
    #[device]
    fn fill_leaves<const BLOCK: usize>(self, mut arena: Arena) {
        let TreeShape { runs: len, d_log2, .. } = self.nodes.levels.shape;
        // 1. Link the thread's node.
        let numbers = Numbers::take(&mut arena, self.nodes.levels);
        self.nodes.link(numbers, thread::global_index::<BLOCK>() as u32, self.pool.inner());

        // 2. Stage the block's runs in shared memory.
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let staged = StagedRuns {
            before: arena.take(BLOCK),
            first: arena.take(BLOCK),
            row: arena.take(BLOCK),
            at: arena.take(BLOCK),
            reference: arena.take(BLOCK),
            count: arena.take(BLOCK),
        };
        let own = thread::index() as usize;
        let number = thread::block() as usize * BLOCK + own;
        let is_run = number < len as usize;
        let run = Run::from_word(self.runs.load_if(number, is_run));
        let leaf = self.leaves.load_if(number, is_run) as usize;
        let place = self.places.load_if(number, is_run);
        let entries = scan.exclusive(if is_run { run.len } else { 0 });
        staged.before.store(own, entries.before);
        staged.first.store(own, run.first);
        staged.row.store(own, run.row);
        let first = self.nodes.firsts.load_if(leaf, is_run);
        staged.at.store(own, place.wrapping_sub(first));
        staged.reference.store(own, self.nodes.references.load_if(leaf, is_run));
        staged.count.store(own, self.nodes.firsts.load_if(leaf + 1, is_run).wrapping_sub(first));
        thread::barrier();

        // 3. Write the runs' entries, one per thread.
        let mask = (1 << d_log2) - 1;
        thread::block_stride::<BLOCK>(entries.total, |entry| {
            let run = run_of::<BLOCK>(staged.before, entry);
            let offset = entry - staged.before.load(run);
            let source = (staged.first.load(run) + offset) as usize;
            let (col, value) = (self.column_indices.load(source), self.values.load(source));
            let node = self.pool.node(staged.reference.load(run), staged.count.load(run), d_log2);
            node.put(staged.at.load(run) + offset, layout::pack(staged.row.load(run), col & mask), value);
        });
    }
}

/// Returns the last run that begins at or before `entry`. Threads without a run have one that begins at the end.
#[device(track_caller)]
fn run_of<const BLOCK: usize>(before: Shared<u32>, entry: u32) -> usize {
    let (mut run, mut step) = (0, BLOCK / 2);
    while step > 0 {
        if before.load(run + step) <= entry {
            run += step;
        }
        step /= 2;
    }
    run
}
