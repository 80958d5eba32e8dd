use evenpath_simt::{kernel, thread, Arena, GlobalMut};

use crate::block::merge_path;
use crate::block::two_sequences::Sequences;
use crate::Key;

kernel! {
    /// Finds where each tile begins: one thread per tile, and one for the end.
    pub struct MergeKeysPartition<K: Key> {
        /// The two sequences, sorted.
        pub inputs: Sequences<K>,
        /// Output: how many elements of A lie before each tile, and all of them at the end; `tiles` + 1.
        pub starts: GlobalMut<u64>,
        /// Tiles.
        pub tiles: u32,
        /// Elements of the output in a tile.
        pub tile_items: u32,
    }
    shared: 0;
    body: MergeKeysPartition::partition;
    entry: merge_partition_{K} in merge_{K}: K in [u32, u64], 128 x 1;
}

impl<K: Key> MergeKeysPartition<K> {
    fn partition(self, _: Arena) {
        let tile = thread::block() * thread::block_size() + thread::index();
        if tile > self.tiles {
            return;
        }
        let diagonal = (u64::from(tile) * u64::from(self.tile_items)).min(self.inputs.len());
        let Sequences { a, b, a_len, b_len } = self.inputs;
        let cut = merge_path::search(diagonal, a_len, b_len, |i| a.load(i as usize), |i| b.load(i as usize));
        self.starts.store(tile as usize, cut);
    }
}
