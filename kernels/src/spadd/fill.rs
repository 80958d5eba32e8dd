use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global};

use super::cut::path_items;
use super::inputs::Inputs;
use super::item_kinds::{ItemKinds, WORD_ITEMS};
use super::output::SpaddOutput;
use super::share::SpaddShare;
use super::state::{GROUP, GROUPS};
use super::tile::SpaddTile;
use crate::block::count_scan::CountScan;
use crate::{GlobalCsr, Offset};

kernel! {
    /// Writes the results by the kinds of [`WalkPath`](super::WalkPath): one block per tile of the path.
    pub struct FillTiles<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B.
        pub b: GlobalCsr<V, O>,
        /// Starts of the tiles, from [`CutPath`](super::CutPath).
        pub starts: Global<u64>,
        /// The kinds of the path's items.
        pub kinds: Global<u64>,
        /// The number of results of each tile.
        pub counts: Global<u32>,
        /// The state, with the number of results of each group of tiles.
        pub states: Global<u64>,
        /// The result.
        pub output: SpaddOutput<V, O>,
        /// Items that make results, and their values: bits of [`keep`](super::keep).
        pub keep: u32,
        /// The factor of A; if it is zero, A's values are not read.
        pub alpha: V,
        /// The factor of B; if it is zero, B's values are not read.
        pub beta: V,
    }
    shared: BLOCK * ITEMS * 4 + CountScan::<u64, BLOCK>::BYTES + 4;
    body: FillTiles::fill::<BLOCK, ITEMS>;
    entries: {
        spadd_fill_{V}_{O} in spadd_{V}: (V, R) in [(f32, 0), (f64, 5)], O in [u32, u64], 192 x 31 resident R;
        spadd_fill_{V}_{O} in spadd_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 192 x 31;
    }
}

impl<V: Arithmetic, O: Offset> FillTiles<V, O> {
    fn fill<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(ITEMS == WORD_ITEMS as usize, "one word of kinds per thread") };
        // 1. Find the origins of the tile's results in shared memory, by the threads' kinds.
        let Self { a, b, output, .. } = self;
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let origins = arena.take(BLOCK * ITEMS);
        let number = thread::block();
        let items = path_items(a.pattern(), b.pattern());
        let tile = SpaddTile::load(self.starts, number, items, (BLOCK * ITEMS) as u32);
        let (kinds, is_paired) = load_kinds::<BLOCK>(self.kinds, number);
        let share = SpaddShare::<BLOCK, ITEMS>::new(kinds, tile.items, self.keep);
        let before = results_before(self.counts, self.states, number);
        // The nonzero of A of a tile's first pair can be the last of the tile before.
        let ahead = tile.a_first.min(1);
        let counted = share.count(scan);
        share.scatter(counted, ahead as u32, is_paired, origins);
        let total = counted.results;
        thread::barrier();

        // 2. Write the ends of the tile's rows.
        let ends = origins.skip(total as usize);
        if output.has_pattern() {
            tile.write_row_offsets::<O, BLOCK>(number, before, ends, output.row_offsets);
        }
        // 3. Write the results.
        let inputs =
            Inputs::new((a, b), (tile.a_first - ahead, tile.b_first), self.keep, (self.alpha, self.beta));
        inputs.write::<O, BLOCK>(origins, total, output.skip(before as usize));
    }
}

/// Returns the thread's kinds in a tile, and whether its first item is paired with the one before it.
#[device(track_caller)]
fn load_kinds<const BLOCK: usize>(words: Global<u64>, tile: u32) -> (ItemKinds, bool) {
    let place = tile as usize * BLOCK + thread::index() as usize;
    let word = words.load(place);
    let word_before = words.load_if(place.max(1) - 1, place > 0);
    (ItemKinds::from_word(word), ItemKinds::from_word(word_before).is_pair(WORD_ITEMS - 1))
}

/// Returns the number of results of all tiles before `tile`, in every thread.
#[device(track_caller)]
fn results_before(counts: Global<u32>, states: Global<u64>, tile: u32) -> u64 {
    let (group, rest) = (tile / GROUP, tile % GROUP);
    let counts = counts.skip((tile - rest) as usize);
    let mut own = [0; (GROUP / thread::WARP_SIZE) as usize];
    for round in 0..own.len() {
        let index = thread::lane() + round as u32 * thread::WARP_SIZE;
        own[round] = counts.load_if(index as usize, index < rest);
    }
    let mut sum = 0;
    for round in 0..own.len() {
        sum += u64::from(own[round]);
    }
    thread::warp_stride(group, |index| {
        sum += states.load(GROUPS + index as usize);
    });
    warp::reduce_add(sum)
}
