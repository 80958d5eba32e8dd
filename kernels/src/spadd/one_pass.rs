//! Both phases in one launch, for small matrices, whose time is waits for launches and for memory.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, GlobalMut, Shared};

use super::cut::{path_items, row_end, RowCut};
use super::inputs::{Inputs, BATCH};
use super::output::SpaddOutput;
use super::share::SpaddShare;
use super::tile::SpaddTile;
use super::walk::{stage, staged_len, SpaddWalk};
use crate::block::count_scan::CountScan;
use crate::block::operator::{Sum, Summary};
use crate::block::pair_search::PairSearch;
use crate::block::tile_prefix::{self, clear_stale, entry_words, TilePrefix};
use crate::{GlobalCsr, GlobalPattern, Offset};

kernel! {
    /// Walks the path and writes the results in one pass: one block per tile, tiles in the order in which blocks start. The
    /// columns of all rows increase.
    ///
    /// A block finds its tile's cuts itself, walks the tile, and publishes how many results it has; while it looks back for
    /// those before, the values are on their way. A tile is small, so that 2¹⁸ nonzeros keep every multiprocessor of a large GPU
    /// busy and few items of a thread follow each other.
    ///
    /// Loads that wait for each other: the ticket, beside the first probes of the rows; two or three for the rows and their
    /// offsets; one or two for the columns at the cut; one for the tile, one for the values, and in the meantime two of the
    /// look-back.
    pub struct OnePass<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B, with as many rows.
        pub b: GlobalCsr<V, O>,
        /// [`one_pass_state_words`] words, all zero.
        pub state: GlobalMut<u64>,
        /// Output: the number of results. The host may read it while the kernel runs.
        pub results: GlobalMut<u64>,
        /// Output: words that are set to zero, those that another launch has used.
        pub stale: GlobalMut<u64>,
        /// Their number.
        pub stale_words: u32,
        /// The result: pattern and values, with room for as many entries as there are.
        pub output: SpaddOutput<V, O>,
        /// Items that make results, and their values: bits of [`keep`](super::keep).
        pub keep: u32,
        /// The factor of A; if it is zero, A's values are not read.
        pub alpha: V,
        /// The factor of B; if it is zero, B's values are not read.
        pub beta: V,
    }
    shared: staged_len(BLOCK, ITEMS) * 4 + CountScan::<u64, BLOCK>::BYTES + Cuts::<BLOCK>::BYTES + BLOCK * ITEMS * 4
        + BLOCK * 4 + 12;
    body: OnePass::one_pass::<BLOCK, ITEMS>;
    entries: {
        spadd_one_pass_{V}_{O} in spadd_{V}: V in [f32, f64], O in [u32, u64], 256 x 8 resident 2;
        spadd_one_pass_{V}_{O} in spadd_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 8;
    }
}

/// Words of state of [`OnePass`] for `tiles` tiles.
pub const fn one_pass_state_words(tiles: u32) -> usize {
    tile_prefix::state_words(tiles as usize, entry_words(4, false))
}

impl<V: Arithmetic, O: Offset> OnePass<V, O> {
    fn one_pass<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(ITEMS <= BATCH, "a thread's results are loaded at once") };
        let memory = arena.take(staged_len(BLOCK, ITEMS));
        let scan = CountScan::<u64, BLOCK>::take(&mut arena);
        let cuts = Cuts::<BLOCK>::take(&mut arena);
        let origins = arena.take(BLOCK * ITEMS);
        let pairs: Shared<u32> = arena.take(BLOCK);
        let (none, number_word, before_word) = (arena.take(1), arena.take(1), arena.take(1));

        // 1. Draw a tile, and find where it begins and ends.
        let Self { a, b, output, .. } = self;
        let patterns = (a.pattern(), b.pattern());
        let tiles = thread::grid_size();
        let prefix = TilePrefix::new(self.state, tiles);
        let probed = Cuts::<BLOCK>::probe(patterns);
        let number = prefix.draw(number_word);
        let (tile, own_cut) = cuts.find(patterns, number, (BLOCK * ITEMS) as u32, probed);

        // 2. Stage it, and walk the thread's share of it.
        let (staged, ends) = stage::<O, BLOCK, ITEMS>(&tile, patterns, memory, none);
        if thread::index() == 0 {
            pairs.store(0, u32::from(own_cut.separates_pair(patterns.0, patterns.1)));
        }
        thread::await_copies();
        thread::barrier();
        let diagonal = (thread::index() * ITEMS as u32).min(tile.items);
        let kinds = SpaddWalk::new(&tile, staged, ends, diagonal).next::<ITEMS>();
        if thread::index() + 1 < BLOCK as u32 {
            pairs.store(thread::index() as usize + 1, u32::from(kinds.is_pair(ITEMS as u32 - 1)));
        }

        // 3. Publish the number of results, and find where they come from.
        let share = SpaddShare::<BLOCK, ITEMS>::new(kinds, tile.items, self.keep);
        let counted = share.count(scan);
        let total = Summary::<u32, Sum>::new(counted.results, 0);
        if thread::index() == 0 {
            prefix.publish_own(number, total);
        }
        let ahead = tile.a_first.min(1);
        let is_paired = pairs.load(thread::index() as usize) != 0;
        share.scatter(counted, ahead as u32, is_paired, origins);
        thread::barrier();

        // 4. Load the results' nonzeros while looking back for the results before them, and write.
        let inputs =
            Inputs::new((a, b), (tile.a_first - ahead, tile.b_first), self.keep, (self.alpha, self.beta));
        let batch = inputs.load::<BLOCK>(origins, counted.results);
        prefix.store_exclusive(number, total, before_word);
        thread::barrier();
        let before = u64::from(before_word.load(0));
        let ends = origins.skip(counted.results as usize);
        inputs.store(&batch, output.skip(before as usize));
        tile.write_row_offsets::<O, BLOCK>(number, before, ends, output.row_offsets);
        clear_stale::<BLOCK>(self.stale, self.stale_words, number);
        if number + 1 == tiles && thread::index() == 0 {
            let results = before + u64::from(counted.results);
            self.results.atomic_store(0, results, Ordering::Relaxed, Scope::System);
        }
    }
}

/// Shared memory in which a block finds the cuts of its tile.
#[derive(Clone, Copy)]
struct Cuts<const BLOCK: usize> {
    search: PairSearch<BLOCK>,
    /// The nonzeros of A and the row ends before the tile, and before its end.
    found: Shared<u64>,
}

impl<const BLOCK: usize> Cuts<BLOCK> {
    const BYTES: usize = PairSearch::<BLOCK>::BYTES + 4 * 8;

    /// Takes its memory from an arena aligned to 8 bytes.
    #[device]
    fn take(arena: &mut Arena) -> Self {
        Self { found: arena.take(4), search: PairSearch::take(arena) }
    }

    /// Returns the end of the row that the thread probes first, whatever the tile.
    #[device(track_caller)]
    fn probe<O: Offset>((a, b): (GlobalPattern<O>, GlobalPattern<O>)) -> u64 {
        PairSearch::<BLOCK>::probe(u64::from(a.rows), |row| row_end(a, b, row))
    }

    /// Finds a tile by the result of [`probe`](Self::probe). Returns it with the cut that the thread's half of the
    /// block has found: the first half finds the tile's begin, the second its end.
    #[device(track_caller)]
    fn find<O: Offset>(
        self,
        (a, b): (GlobalPattern<O>, GlobalPattern<O>),
        number: u32,
        tile_items: u32,
        probed: u64,
    ) -> (SpaddTile, RowCut) {
        let items = path_items(a, b);
        let begin = u64::from(number) * u64::from(tile_items);
        let end = (begin + u64::from(tile_items)).min(items);
        let rows = self.search.first(u64::from(a.rows), (begin, end), probed, |row| row_end(a, b, row));
        let half = BLOCK as u32 / 2;
        let is_end = thread::index() >= half;
        let (row, diagonal) = if is_end { (rows.1, end) } else { (rows.0, begin) };
        let cut = RowCut::in_row(a, b, row, diagonal);
        if thread::index().is_multiple_of(half) {
            let found = self.found.skip(if is_end { 2 } else { 0 });
            found.store(0, cut.a);
            found.store(1, row);
        }
        thread::barrier();
        let (start, next) =
            ((self.found.load(0), self.found.load(1)), (self.found.load(2), self.found.load(3)));
        (SpaddTile::between(start, next, begin, items, tile_items), cut)
    }
}
