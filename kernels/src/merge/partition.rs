use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use crate::block::merge_path;
use crate::Key;

kernel! {
    /// Finds where each tile begins: one thread a tile, and one for the end.
    pub struct MergeKeysPartition<K: Key> {
        /// The first sequence, sorted, `a_len` long.
        pub a: Global<K>,
        /// The second sequence, sorted, `b_len` long.
        pub b: Global<K>,
        /// Output: how many elements of A lie before each tile, and `a_len` at the end; `tiles` + 1.
        pub starts: GlobalMut<u64>,
        /// Elements of A.
        pub a_len: u64,
        /// Elements of B.
        pub b_len: u64,
        /// Tiles.
        pub tiles: u32,
        /// Elements of the output in a tile.
        pub tile_items: u32,
    }
    shared: 0;
    body: partition::<K>;
    entries: {
        merge_partition_u32 in merge_u32: <K = u32>, 128 x 1;
        merge_partition_u64 in merge_u64: <K = u64>, 128 x 1;
    }
}

fn partition<K: Key>(
    _: Arena,
    a: Global<K>,
    b: Global<K>,
    starts: GlobalMut<u64>,
    a_len: u64,
    b_len: u64,
    tiles: u32,
    tile_items: u32,
) {
    let tile = thread::block() * thread::block_size() + thread::index();
    if tile > tiles {
        return;
    }
    let diagonal = (u64::from(tile) * u64::from(tile_items)).min(a_len + b_len);
    let cut = merge_path::search(diagonal, a_len, b_len, |i| a.load(i as usize), |i| b.load(i as usize));
    starts.store(tile as usize, cut);
}
