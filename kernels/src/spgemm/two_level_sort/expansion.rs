//! Expansion: finds the entries of A and B whose products are in a tile.

use evenpath_simt::{device, parameters, thread, Global};

use crate::block::numbered_bits::NumberedBits;
use crate::Offset;

parameters! {
    /// The entries of A that make products, as [`ListEntries`](super::ListEntries) lists them.
    pub struct ListedEntries<O: Offset> {
        /// The first product of each entry, and the number of products at the end.
        pub first_products: Global<u32>,
        /// The offset from a product's number to the index of its entry of B, for each entry; may wrap around.
        pub sources: Global<O>,
        /// The index of each entry among those of the rows that are multiplied.
        pub numbers: Global<u32>,
        /// The row of each entry, relative to the first row that is multiplied.
        pub rows: Global<u32>,
        /// The entry that makes the first product of each tile, and the number of entries at the end.
        pub tile_begins: Global<u32>,
        /// The number of products, fewer than 2³¹.
        pub products: u32,
    }
}

/// A tile of products, in the order of A's entries.
#[derive(Clone, Copy)]
pub(super) struct ProductTile {
    /// Its first product.
    pub(super) first: u32,
    /// The number of its products.
    pub(super) len: u32,
    /// The listed entry that makes the first product.
    pub(super) first_entry: usize,
    /// The number of entries that make its products; at most the number of products.
    pub(super) entries: u32,
    /// The entry that makes the next tile's first product; the number of entries in the last tile.
    pub(super) next_entry: usize,
}

impl<O: Offset> ListedEntries<O> {
    /// Returns the block's tile.
    #[device(track_caller)]
    pub(super) fn tile(self, tile_len: u32) -> ProductTile {
        let tile = thread::block();
        let first = tile * tile_len;
        let left = self.products - first;
        let len = if left < tile_len { left } else { tile_len };
        let first_entry = self.tile_begins.load(tile as usize);
        let next_entry = self.tile_begins.load(tile as usize + 1);
        // If the next tile's first entry begins in this tile, it is in both.
        let shared = self.first_products.load(next_entry as usize) < first + len;
        let entries = next_entry - first_entry + u32::from(shared);
        ProductTile {
            first,
            len,
            first_entry: first_entry as usize,
            entries,
            next_entry: next_entry as usize,
        }
    }
}

impl ProductTile {
    /// Marks where each entry's products begin in the tile, and calls `also` with each entry and that place. Called by every
    /// thread. It has a barrier after the marks are cleared, but none after they are set.
    #[device(track_caller)]
    pub(super) fn mark<const BLOCK: usize, const ITEMS: usize>(
        self,
        first_products: Global<u32>,
        marks: NumberedBits<BLOCK, ITEMS>,
        also: impl Fn(usize, u32),
    ) {
        marks.clear();
        thread::barrier();
        let first_products = first_products.skip(self.first_entry);
        thread::block_stride::<BLOCK>(self.entries, |entry| {
            let product = first_products.load(entry as usize);
            let place = if entry == 0 { 0 } else { product - self.first };
            marks.set(place);
            also(self.first_entry + entry as usize, place);
        });
    }
}
