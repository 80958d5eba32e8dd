use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use super::schedule::{schedule_bytes, TileDraws};
use super::state::RESULT_SIZE;
use super::walk::SetShare;
use crate::block::two_sequences::{staged_bytes, Fetched, Sequences};
use crate::Key;

kernel! {
    /// Counts the results of a set operation, one tile per block, and writes none.
    pub struct SetCount<K: Key> {
        /// The two sequences, sorted.
        pub inputs: Sequences<K>,
        /// Starts of the tiles, from [`SetPartition`](super::SetPartition).
        pub starts: Global<u64>,
        /// The state that [`SetPartition`](super::SetPartition) prepared; in it the size of the result.
        pub states: GlobalMut<u64>,
        /// Elements that are kept: bits of [`keep`](super::keep).
        pub operation: u32,
    }
    shared: staged_bytes::<K>(BLOCK, ITEMS) + schedule_bytes(BLOCK);
    body: SetCount::count::<BLOCK, ITEMS>;
    entry: sets_count_{K} in sets_{K}: (K, N) in [(u32, 23), (u64, 15)], 256 x N resident 5;
}

impl<K: Key> SetCount<K> {
    fn count<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let schedule = TileDraws::<K, BLOCK, ITEMS>::new(
            &mut arena,
            self.starts,
            self.states,
            self.inputs,
            thread::grid_size(),
        );
        let elements = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
        let pair = schedule.first().pair;
        let staged = pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b).stage(elements);
        thread::barrier();
        let start = SetShare::<K, ITEMS>::search(&pair, staged);
        let share = SetShare::<K, ITEMS>::walk(&pair, staged, start);
        let total = schedule.total(share.kept(self.operation).count_ones());
        if thread::index() == 0 {
            self.states.fetch_add(RESULT_SIZE, u64::from(total), Ordering::Relaxed, Scope::Device);
        }
    }
}
