//! The products of a tile of whole rows: which entries of A and B make them.
use evenpath_simt::{device, thread, Arena, Global, Shared};

use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::pair_search::PairSearch;
use crate::block::radix_sort::warp_striped;
use crate::{GlobalPattern, Offset};

/// Entries of A that a thread takes at a time.
const ENTRIES_AT_ONCE: usize = 4;

/// Consecutive rows of C.
#[derive(Clone, Copy)]
pub(super) struct RowTile {
    pub(super) first_row: u32,
    /// The row after the last.
    pub(super) end_row: u32,
    /// The products before the first row.
    pub(super) first: u32,
    /// The products of the rows.
    pub(super) len: u32,
}

impl RowTile {
    /// Returns the products before the row that the thread probes first in any tile, for [`find`](Self::find).
    #[device(track_caller)]
    pub(super) fn probe<const BLOCK: usize>(before: Global<u32>, rows: u32) -> u64 {
        PairSearch::<BLOCK>::probe(u64::from(rows), |row| u64::from(before.load(row as usize)))
    }

    /// Returns the rows before which there are at least `bounds.0` products and fewer than `bounds.1`. Every thread
    /// calls it, with its own [`probe`](Self::probe).
    #[device(track_caller)]
    pub(super) fn find<const BLOCK: usize>(
        search: PairSearch<BLOCK>,
        before: Global<u32>,
        rows: u32,
        bounds: (u32, u32),
        probed: u64,
    ) -> Self {
        let bounds = (u64::from(bounds.0), u64::from(bounds.1));
        let position = |row: u64| u64::from(before.load(row as usize));
        let (first_row, end_row) = search.first(u64::from(rows), bounds, probed, position);
        let first = before.load(first_row as usize);
        let len = before.load(end_row as usize) - first;
        Self { first_row: first_row as u32, end_row: end_row as u32, first, len }
    }
}

/// Shared memory in which a block expands the products of a tile.
#[derive(Clone, Copy)]
pub(super) struct Expansion<const BLOCK: usize, const ITEMS: usize> {
    /// Index of each entry of A that has products. `sources` has the index of its first entry of B less the place of
    /// its first product, which may wrap around.
    a_entries: Shared<u32>,
    sources: Shared<u32>,
    /// Places where an entry of A begins.
    entries: NumberedBits<BLOCK, ITEMS>,
    /// Places where a row begins.
    rows: NumberedBits<BLOCK, ITEMS>,
    packed_scan: CountScan<u64, BLOCK>,
    scan: CountScan<u32, BLOCK>,
}

impl<const BLOCK: usize, const ITEMS: usize> Expansion<BLOCK, ITEMS> {
    /// Takes its memory from an arena aligned to 8 bytes. Its first `BLOCK` × `ITEMS` × 8 bytes are two lists, which
    /// [`factors`](Self::factors) reads.
    #[device]
    pub(super) fn take(arena: &mut Arena) -> Self {
        Self {
            a_entries: arena.take(BLOCK * ITEMS),
            sources: arena.take(BLOCK * ITEMS),
            packed_scan: CountScan::take(arena),
            entries: NumberedBits::take(arena),
            rows: NumberedBits::take(arena),
            scan: CountScan::take(arena),
        }
    }

    /// Numbers the tile's entries of A that have products, and its rows that do. Returns the number of these rows. Every thread
    /// calls it.
    #[device(track_caller)]
    pub(super) fn number<O: Offset>(
        self,
        tile: RowTile,
        before: Global<u32>,
        (a, b): (GlobalPattern<O>, GlobalPattern<O>),
    ) -> u32 {
        self.entries.clear();
        self.rows.clear();
        thread::barrier();
        let mut row = tile.first_row + thread::index();
        while row < tile.end_row {
            let (begin, end) = (before.load(row as usize), before.load(row as usize + 1));
            if begin < end {
                self.rows.set(begin - tile.first);
            }
            row += BLOCK as u32;
        }
        self.list_entries(tile, a, b);
        self.entries.number(self.scan);
        self.rows.number(self.scan)
    }

    /// Lists the entries of A that have products, and marks where they begin.
    #[device(track_caller)]
    fn list_entries<O: Offset>(self, tile: RowTile, a: GlobalPattern<O>, b: GlobalPattern<O>) {
        let mut first = a.row_offsets.load(tile.first_row as usize).to_usize();
        let end = a.row_offsets.load(tile.end_row as usize).to_usize();
        // Products before, and entries with products above them.
        let mut listed = 0_u64;
        while first < end {
            let own = first + thread::index() as usize * ENTRIES_AT_ONCE;
            let mut begins = [0; ENTRIES_AT_ONCE];
            let mut lens = [0; ENTRIES_AT_ONCE];
            for at in 0..ENTRIES_AT_ONCE {
                let is_entry = own + at < end;
                let column = a.column_indices.load_if(own + at, is_entry);
                let entries = b.entries_if(column, is_entry);
                (begins[at], lens[at]) = (entries.begin as u32, entries.len);
            }
            let mut sum = 0_u64;
            for at in 0..ENTRIES_AT_ONCE {
                sum += u64::from(lens[at]) | u64::from(lens[at] > 0) << 32;
            }
            let counted = self.packed_scan.exclusive(sum);
            let mut at_place = listed + counted.before;
            for at in 0..ENTRIES_AT_ONCE {
                if lens[at] > 0 {
                    let (place, entry) = (at_place as u32, (at_place >> 32) as usize);
                    self.entries.set(place);
                    self.a_entries.store(entry, (own + at) as u32);
                    self.sources.store(entry, begins[at].wrapping_sub(place));
                    at_place += u64::from(lens[at]) | 1 << 32;
                }
            }
            listed += counted.total;
            first += BLOCK * ENTRIES_AT_ONCE;
            // The next scan uses the same memory.
            thread::barrier();
        }
    }

    /// Returns the entries of A and of B that make the product at a place of the tile.
    #[device(track_caller)]
    pub(super) fn factors(self, place: u32) -> (usize, usize) {
        let entry = self.entries.count_to(place) as usize - 1;
        let b_entry = self.sources.load(entry).wrapping_add(place);
        (self.a_entries.load(entry) as usize, b_entry as usize)
    }

    /// Returns the row of a place, among the tile's rows that have products.
    #[device(track_caller)]
    pub(super) fn row(self, place: u32) -> u32 {
        self.rows.count_to(place) - 1
    }

    /// Returns the columns of this thread's products, warp-striped; 0 beyond the last.
    #[device(track_caller)]
    pub(super) fn columns(self, tile: RowTile, b_columns: Global<u32>) -> [u32; ITEMS] {
        let mut columns = [0; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            if place < tile.len {
                columns[item] = b_columns.load(self.factors(place).1);
            }
        }
        columns
    }
}
