use evenpath_simt::{device, kernel, thread, Arena, GlobalMut};

use super::state::{RESULT_SIZE, RESULT_STATES};
use crate::block::balanced_path;
use crate::block::balanced_path::PathCut;
use crate::block::two_sequences::Sequences;
use crate::Key;

kernel! {
    /// Finds where each tile begins, and prepares the state: one thread per tile, and one for the end.
    pub struct SetPartition<K: Key> {
        /// The two sequences, sorted.
        pub inputs: Sequences<K>,
        /// Output: twice the elements of A before each tile, and one more if its diagonal is starred;
        /// `tiles` + 1.
        pub starts: GlobalMut<u64>,
        /// Output: all zero; [`state_words`](super::state_words).
        pub states: GlobalMut<u64>,
        /// Tiles.
        pub tiles: u32,
        /// Elements of both inputs in a tile.
        pub tile_items: u32,
    }
    shared: 0;
    body: SetPartition::partition;
    entry: sets_partition_{K} in sets_{K}: K in [u32, u64], 128 x 1;
}

impl<K: Key> SetPartition<K> {
    fn partition(self, _: Arena) {
        let tile = thread::block() * thread::block_size() + thread::index();
        if tile > self.tiles {
            return;
        }
        if tile == self.tiles {
            self.states.store(0, 0);
            self.states.store(RESULT_SIZE, 0);
        } else {
            self.states.store(RESULT_STATES + tile as usize, 0);
        }
        let diagonal = (u64::from(tile) * u64::from(self.tile_items)).min(self.inputs.len());
        let Sequences { a, b, a_len, b_len } = self.inputs;
        let cut =
            balanced_path::search(diagonal, a_len, b_len, |i| a.load(i as usize), |i| b.load(i as usize));
        self.starts.store(tile as usize, encode(cut, diagonal));
    }
}

/// Returns a cut as one word; the diagonal says the rest.
#[device]
fn encode(cut: PathCut<u64>, diagonal: u64) -> u64 {
    cut.a << 1 | (cut.a + cut.b - diagonal)
}

/// Returns the cut of a diagonal from its word.
#[device]
pub(super) fn decode(word: u64, diagonal: u64) -> PathCut<u64> {
    let a = word >> 1;
    PathCut { a, b: diagonal - a + (word & 1) }
}
