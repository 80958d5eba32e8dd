//! Tiles of products, each sorted by itself.

use evenpath_kernels::spgemm::two_level_sort::{PlaceTiles, SortProducts, TILE_WORDS, shared_bytes};

use super::setup::{Entries, block_sort};
use crate::Offset;
use crate::device::{Device, DeviceVec};
use crate::op::scan::{Operator, Scan};
use crate::op::{OpError, instance, tile_items};

/// Tiles of products, each sorted.
pub(super) struct SortedTiles {
    pub(super) count: u32,
    pub(super) tile_len: u32,
    /// Where each sorted product was in its tile.
    pub(super) permutation: DeviceVec<u16>,
    /// [`TILE_WORDS`] a tile.
    pub(super) words: DeviceVec<u32>,
    /// Cut entries before each tile's, and their number at the end.
    pub(super) cut_begins: DeviceVec<u32>,
}

impl SortedTiles {
    /// Sorts the products of each tile; also the columns of what each has of C. Counts the entries of the rows that no
    /// tile cuts.
    pub(super) fn sort<O: Offset>(
        device: &Device,
        entries: &Entries<O>,
        b_columns: &DeviceVec<u32>,
        lengths: &mut DeviceVec<u32>,
    ) -> Result<(Self, DeviceVec<u32>), OpError> {
        let info = block_sort::<O>();
        let (count, tile_len) = (entries.tiles, tile_items(info));
        let mut permutation = device.uninitialized(count as usize * tile_len as usize)?;
        let mut columns = device.uninitialized(entries.products as usize)?;
        let mut words = device.uninitialized(count as usize * TILE_WORDS)?;
        let mut cut_counts = device.zeros::<u32>(count as usize + 1)?;
        let kernel = SortProducts {
            first_products: entries.first_products.as_global(),
            tile_entries: entries.tile_begins.as_global(),
            sources: entries.sources.as_global(),
            entry_rows: entries.rows.as_global(),
            b_columns: b_columns.as_global(),
            permutation: permutation.as_global_mut(),
            columns: columns.as_global_mut(),
            tiles: words.as_global_mut(),
            cut_counts: cut_counts.as_global_mut(),
            row_counts: lengths.as_global_mut(),
            products: entries.products,
        };
        let shared = shared_bytes(info.block_size as usize, info.items_per_thread as usize);
        // SAFETY: the entries make the products, of nonzeros that B has, and their rows are below the number of lengths;
        // the outputs have elements for every product or tile.
        unsafe { device.launch(kernel, info, count, shared) }?;
        let cut_begins = Scan::exclusive(Operator::Sum).run(&cut_counts)?;
        Ok((Self { count, tile_len, permutation, words, cut_begins }, columns))
    }

    /// Writes the columns of the entries that are in one tile as a whole to C; where each tile's begin there.
    pub(super) fn place(
        &self,
        columns: &DeviceVec<u32>,
        c_offsets: &DeviceVec<u32>,
        c_columns: &mut DeviceVec<u32>,
    ) -> Result<DeviceVec<u32>, OpError> {
        let device = columns.device();
        let mut tile_places = device.uninitialized(self.count as usize)?;
        let kernel = PlaceTiles {
            tiles: self.words.as_global(),
            columns: columns.as_global(),
            c_offsets: c_offsets.as_global(),
            c_columns: c_columns.as_global_mut(),
            tile_places: tile_places.as_global_mut(),
            tile_len: self.tile_len,
        };
        // SAFETY: the tiles' words and columns are of the block sort; C has as many entries of each row as it counted.
        unsafe { device.launch(kernel, instance::<PlaceTiles>(), self.count, 0) }?;
        Ok(tile_places)
    }
}
