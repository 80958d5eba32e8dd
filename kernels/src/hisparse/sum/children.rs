use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use super::large::Bitmaps;
use super::pairs::NodePairs;
use super::small::{self, Keys};
use super::{merge_shared_bytes, tiny, Place, Sink};
use crate::block::count_scan::CountScan;
use crate::hisparse::layout;
use crate::hisparse::link::Link;

kernel! {
    /// Lists the children of sums of inner nodes, which are the pairs of the next level.
    pub struct HiSparseAddChildren {
        /// The pairs of inner nodes.
        pub pairs: NodePairs<u32>,
        /// The number of children of each pair and all before it.
        pub ends: Global<u32>,
        /// Output: the children as pairs.
        pub children: GlobalMut<u64>,
        /// Output: the children's links.
        pub links: GlobalMut<u64>,
        /// The number of the first pair among the sum's nodes.
        pub first_node: u32,
    }
    shared: CountScan::<u32, BLOCK>::BYTES + BLOCK / 32 * 4;
    body: HiSparseAddChildren::add_children::<BLOCK>;
    entries: {
        hisparse_add_children in hisparse_sum: 512 x 1 resident 2;
    }
}

impl HiSparseAddChildren {
    #[inline(always)]
    fn add_children<const BLOCK: usize>(self, mut arena: Arena) {
        let d_log2 = self.pairs.d_log2;
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let masks = arena.take(BLOCK / thread::WARP_SIZE as usize);
        let merging = Arena::dynamic(merge_shared_bytes(d_log2, BLOCK as u32));
        let (keys, bitmaps) =
            (Keys::take(merging, BLOCK as u32), Bitmaps::<BLOCK>::take(merging, scan, d_log2));
        let (a, b) = self.pairs.sides();
        let sink = |number: u32| {
            let first = self.ends.load_if((number as usize).saturating_sub(1), number > 0) as usize;
            Children {
                words: self.children.skip(first),
                links: self.links.skip(first),
                parent: self.first_node + number,
            }
        };
        self.pairs.for_each::<BLOCK>(
            masks,
            |part| small::takes(part, BLOCK as u32),
            |number, pair| tiny::merge(a, b, pair, &sink(number)),
            |number, pair| keys.merge(a, b, pair, &sink(number)),
            |number, pair| bitmaps.merge(a, b, pair, &sink(number)),
        );
    }
}

/// The children of one pair.
struct Children {
    words: GlobalMut<u64>,
    links: GlobalMut<u64>,
    parent: u32,
}

impl Sink<u32> for Children {
    #[inline(always)]
    fn is_ordered(&self) -> bool {
        true
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn put(&self, Place { rank, coordinates }: Place, a: Option<u32>, b: Option<u32>) {
        let (a, b) = (a.unwrap_or(layout::NULL), b.unwrap_or(layout::NULL));
        self.words.store(rank as usize, u64::from(b) << 32 | u64::from(a));
        self.links.store(rank as usize, Link { parent: self.parent, at: rank, coordinates }.word());
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn join(&self, place: Place, slot: u32, is_of_b: bool) {
        let other = self.words.load(place.rank as usize);
        self.words.store(place.rank as usize, other | u64::from(slot) << (32 * u32::from(is_of_b)));
    }
}
