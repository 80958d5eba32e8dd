//! Expansion: which entries of A and B the products of a tile are made of.

use evenpath_simt::{thread, Global};

use crate::block::numbered_bits::NumberedBits;

/// The listed entries of A that the blocks of a launch share.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    /// The first product of each, and the number of products at the end.
    pub(super) first_products: Global<u32>,
    /// The entry that makes the first product of each tile, and the number of entries at the end.
    pub(super) tile_begins: Global<u32>,
    /// Products.
    pub(super) products: u32,
}

/// A tile of products, in the order of A's entries.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Its first product.
    pub(super) first: u32,
    /// Its products.
    pub(super) len: u32,
    /// The listed entry that makes the first of them.
    pub(super) first_entry: usize,
    /// Entries that make them: never more than there are products.
    pub(super) entries: u32,
    /// The entry that makes the next tile's first product; the number of entries in the last tile.
    pub(super) next_entry: usize,
}

impl Entries {
    /// The block's tile.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn tile(self, tile_len: u32) -> Tile {
        let tile = thread::block();
        let first = tile * tile_len;
        let left = self.products - first;
        let len = if left < tile_len { left } else { tile_len };
        let first_entry = self.tile_begins.load(tile as usize);
        let next_entry = self.tile_begins.load(tile as usize + 1);
        // Where the next tile's entry begins in this one, it is one of both.
        let shared = self.first_products.load(next_entry as usize) < first + len;
        let entries = next_entry - first_entry + u32::from(shared);
        Tile { first, len, first_entry: first_entry as usize, entries, next_entry: next_entry as usize }
    }
}

impl Tile {
    /// Marks where each entry's products begin, as far as they are in the tile; `also` gets each entry and its place.
    /// Every thread calls it. It has a barrier behind clearing the marks, and none behind setting them.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn mark<const BLOCK: usize, const ITEMS: usize>(
        self,
        first_products: Global<u32>,
        marks: NumberedBits<BLOCK, ITEMS>,
        also: impl Fn(usize, u32),
    ) {
        marks.clear();
        thread::barrier();
        let first_products = first_products.skip(self.first_entry);
        let mut entry = thread::index();
        while entry < self.entries {
            let product = first_products.load(entry as usize);
            let place = if entry == 0 { 0 } else { product - self.first };
            marks.set(place);
            also(self.first_entry + entry as usize, place);
            entry += BLOCK as u32;
        }
    }
}
