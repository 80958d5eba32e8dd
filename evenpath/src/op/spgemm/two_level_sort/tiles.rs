//! Tiles of products, each sorted separately.

use evenpath_kernels::spgemm::two_level_sort::{
    self, PlaceTiles, SortProducts, SortProductsByColumn, TILE_WORDS, shared_bytes,
};
use evenpath_simt::kernel::KernelInfo;

use super::entries::{BlockSort, TileEntries};
use super::setup::{ProductEntries, tile_len};
use crate::Offset;
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};

/// Tiles of products, each sorted.
pub(super) struct SortedTiles {
    pub(super) count: u32,
    pub(super) tile_len: u32,
    /// The original place of each sorted product in its tile.
    pub(super) permutation: DeviceVec<u16>,
    /// [`TILE_WORDS`] words per tile.
    pub(super) words: DeviceVec<u32>,
    /// The number of cut entries before each tile's, and of all at the end.
    pub(super) cut_begins: DeviceVec<u32>,
}

impl SortedTiles {
    /// Sorts the products of each tile. Returns also each tile's entries of C. Counts the entries of the rows
    /// that no tile cuts; none if tiles are sorted by column alone.
    pub(super) fn sort<O: Offset>(
        device: &Device,
        entries: &ProductEntries<O>,
        b: &DevicePattern<O>,
        lengths: &mut DeviceSlice<u32>,
        sort: BlockSort,
    ) -> Result<(Self, TileEntries), OpError> {
        let (count, tile_len) = (entries.tiles, tile_len::<O>());
        let shared =
            |info: &KernelInfo| shared_bytes(info.block_size as usize, info.items_per_thread as usize);
        let mut permutation = device.uninitialized(count as usize * tile_len as usize)?;
        let mut columns = device.uninitialized(entries.products as usize)?;
        let mut words = device.uninitialized(count as usize * TILE_WORDS)?;
        let mut cut_counts = device.zeros::<u32>(count as usize + 1)?;
        let mut rows = None;
        match sort {
            BlockSort::ByRow => {
                let launcher = device.kernel();
                let shared = shared(launcher.info());
                let kernel = SortProducts {
                    entries: entries.view(),
                    b: b.view(),
                    permutation: permutation.as_global_mut(),
                    columns: columns.as_global_mut(),
                    tiles: words.as_global_mut(),
                    cut_counts: cut_counts.as_global_mut(),
                    row_counts: lengths.as_global_mut(),
                };
                // SAFETY: the entries make the products from entries of B, and their rows are below the number of lengths; the
                // outputs have elements for every product or tile.
                unsafe { launcher.shared_bytes(shared).blocks(count as usize)?.launch(kernel) }?;
            }
            BlockSort::ByColumn => {
                let launcher = device.kernel();
                let shared = shared(launcher.info());
                let rows = rows.insert(device.uninitialized(entries.products as usize)?);
                let kernel = SortProductsByColumn {
                    entries: entries.view(),
                    b: b.view(),
                    permutation: permutation.as_global_mut(),
                    columns: columns.as_global_mut(),
                    rows: rows.as_global_mut(),
                    tiles: words.as_global_mut(),
                    counts: cut_counts.as_global_mut(),
                };
                // SAFETY: the entries make the products from entries of B; the outputs have elements for every product or tile.
                unsafe { launcher.shared_bytes(shared).blocks(count as usize)?.launch(kernel) }?;
            }
        }
        let cut_begins = scan::values(&cut_counts, ScanOptions::exclusive(Operator::Sum))?;
        Ok((Self { count, tile_len, permutation, words, cut_begins }, TileEntries { columns, rows }))
    }

    /// The tiles and the columns of their entries, as kernels take them.
    pub(super) fn view(&self, columns: &DeviceSlice<u32>) -> two_level_sort::SortedTiles {
        two_level_sort::SortedTiles {
            words: self.words.as_global(),
            columns: columns.as_global(),
            tile_len: self.tile_len,
        }
    }

    /// Writes the columns of the rows that no tile cuts to C. Returns the place there of each tile's first entry.
    pub(super) fn place(
        &self,
        columns: &DeviceSlice<u32>,
        c_offsets: &DeviceSlice<u32>,
        c_columns: &mut DeviceSlice<u32>,
    ) -> Result<DeviceVec<u32>, OpError> {
        let device = columns.device();
        let mut tile_places = device.uninitialized(self.count as usize)?;
        let launch = device.kernel().blocks(self.count as usize)?;
        let kernel = PlaceTiles {
            tiles: self.view(columns),
            c_row_offsets: c_offsets.as_global(),
            c_column_indices: c_columns.as_global_mut(),
            tile_places: tile_places.as_global_mut(),
        };
        // SAFETY: the tiles' words and columns are of the block sort; C has as many entries of each row as it counted.
        unsafe { launch.launch(kernel) }?;
        Ok(tile_places)
    }
}
