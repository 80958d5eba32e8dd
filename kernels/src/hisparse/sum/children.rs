use evenpath_simt::{device, kernel, thread, Arena, GlobalMut};

use super::count::count_pairs;
use super::large::Bitmaps;
use super::levels::{Placing, SumNodes};
use super::marks::WarpBitmap;
use super::memory::{count_shared_bytes, larger, merge_shared_bytes};
use super::pairs::NodePairs;
use super::sink::{Sink, SumPlace};
use super::small::{self, PairKeys};
use super::tiny;
use crate::block::count_scan::CountScan;
use crate::hisparse::layout;
use crate::hisparse::link::Link;

/// Bytes of launch-sized shared memory of the kernel for inner nodes, for blocks of `block_size` threads.
pub const fn children_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    larger(count_shared_bytes(d_log2, block_size), merge_shared_bytes(d_log2, block_size))
}

kernel! {
    /// Counts and places the sums of the inner nodes of a level, and lists their children, which are the pairs of the next level.
    pub struct HiSparseAddChildren {
        /// The pairs of inner nodes.
        pub pairs: NodePairs<u32>,
        /// Output: their counts and references.
        pub nodes: SumNodes,
        /// Output: the children as pairs.
        pub children: GlobalMut<u64>,
        /// Output: links to parents, by the number of the node.
        pub links: GlobalMut<u64>,
    }
    shared: Placing::<BLOCK>::BYTES + CountScan::<u32, BLOCK>::BYTES + BLOCK / 32 * 4;
    body: HiSparseAddChildren::add_children::<BLOCK>;
    entry: hisparse_add_children in hisparse_sum: 512 x 1 resident 1;
}

impl HiSparseAddChildren {
    #[device]
    fn add_children<const BLOCK: usize>(self, mut arena: Arena) {
        let NodePairs { levels, d_log2, .. } = self.pairs;
        let placing = Placing::<BLOCK>::take(&mut arena);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let masks = arena.take(BLOCK / thread::WARP_SIZE as usize);
        let merging = Arena::dynamic(children_shared_bytes(d_log2, BLOCK as u32));
        let (keys, marks) =
            (PairKeys::take(merging, BLOCK as u32), WarpBitmap::take(merging, d_log2, BLOCK as u32));
        let bitmaps = Bitmaps::<BLOCK>::take(merging, scan, d_log2);
        let Some(tile) = placing.draw(levels, self.nodes.tiles) else { return };
        // 1. Count the children of each pair.
        count_pairs(self.pairs, tile, masks, placing, marks, bitmaps);
        // 2. Find where the children go.
        placing.place(levels, self.nodes, d_log2, 4);
        // 3. List the children.
        let sink = |number: u32| {
            let first = placing.first_child(tile, number);
            Children {
                words: self.children.skip((first - levels.end()) as usize),
                links: self.links.skip(first as usize),
                room: levels.room - first,
                parent: levels.first_node() + number,
            }
        };
        let (a, b) = self.pairs.sides();
        self.pairs.for_each::<BLOCK>(
            tile,
            masks,
            |handle| small::takes(handle, BLOCK as u32),
            |number, pair| tiny::merge(a, b, pair, &sink(number)),
            |number, pair| keys.merge(a, b, pair, &sink(number)),
            |number, pair| {
                // The bitmaps of the only pair are still there.
                if tile.end - tile.first > 1 {
                    bitmaps.count(a, b, pair);
                }
                bitmaps.merge_counted(a, b, pair, &sink(number), true);
            },
        );
    }
}

/// The children of one pair.
struct Children {
    words: GlobalMut<u64>,
    links: GlobalMut<u64>,
    /// Maximum number of them. The host refuses more, since it sees their number.
    room: u32,
    parent: u32,
}

impl Sink<u32> for Children {
    #[device]
    fn is_ordered(&self) -> bool {
        true
    }

    #[device(track_caller)]
    fn put(&self, SumPlace { index, coordinates }: SumPlace, a: Option<u32>, b: Option<u32>) {
        let (a, b) = (a.unwrap_or(layout::NULL), b.unwrap_or(layout::NULL));
        if index < self.room {
            self.words.store(index as usize, u64::from(b) << 32 | u64::from(a));
            self.links.store(index as usize, Link { parent: self.parent, at: index, coordinates }.word());
        }
    }

    #[device(track_caller)]
    fn join(&self, place: SumPlace, slot: u32, is_of_b: bool) {
        if place.index < self.room {
            let other = self.words.load(place.index as usize);
            self.words.store(place.index as usize, other | u64::from(slot) << (32 * u32::from(is_of_b)));
        }
    }
}
