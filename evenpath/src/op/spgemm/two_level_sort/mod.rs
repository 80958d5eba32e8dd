//! Products by two-level sorting: rows of C from all their products.

mod cut_rows;
mod phases;
mod setup;

use std::ops::Range;

use evenpath_kernels::spgemm::two_level_sort::{
    AddProducts, PlaceTiles, SortProducts, TILE_WORDS, shared_bytes,
};
use evenpath_simt::kernel::KernelInfo;

use self::cut_rows::CutEntries;
use self::setup::Entries;
use super::options::Allowance;
use super::{Operands, Product, RowsOfC, SpgemmOptions, sorted};
use crate::device::{Device, DeviceKind, DeviceVec};
use crate::op::reduce;
use crate::op::scan::{Operator, Scan};
use crate::op::{DeviceCsr, OpError, instance, tile_items};
use crate::{Offset, Value};

pub(super) use self::phases::Recorder;
pub use self::phases::SpgemmPhases;
pub(super) use self::setup::Weighed;

#[cfg(test)]
mod tests;

/// Products, and entries of A, at most: they are counted in 31 bits.
const MAX_PRODUCTS: u64 = 1 << 31;

/// Bytes of device memory, at most, that [`rows`] takes while it runs, its result included, for so many rows of A with
/// so many entries that make so many products. More than any device has where they are too many to be counted.
pub(super) fn bytes<V: Value>(rows: u64, entries: u64, products: u64) -> u64 {
    if products.max(entries).max(rows) >= MAX_PRODUCTS {
        return u64::MAX;
    }
    let value_bytes = V::SIZE as u64;
    let listed = entries * (4 + 8 + 4 + 4) + 64;
    let weighed = entries * 16;
    // The permutation and the columns, in whole tiles, with some words each.
    let tiles = products.div_ceil(u64::from(tile_items(instance::<SortProducts<u32>>())));
    let sorted = products * (2 + 4) + tiles * 64 + (1 << 16);
    let counted = rows * 12 + 64;
    // The sort has two copies of keys and numbers beside what it sorts; what follows takes less.
    let cut = products * (3 * 12 + 1) + (1 << 16);
    let result = products * (4 + value_bytes);
    listed + counted + (weighed.max(sorted + cut.max(products * (8 + 8 + 4 + 4 + 2 * value_bytes) + result)))
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// How long a product A·B by [`SpgemmMethod::TwoLevelSort`](super::SpgemmMethod::TwoLevelSort) takes on a GPU, real or
    /// simulated, phase by phase: computes it, and drops it. On the CPU there are no such phases, and all times are zero.
    ///
    /// # Errors
    ///
    /// As for [`multiply_wide`](Self::multiply_wide).
    pub fn two_level_sort_phases(&self, b: &Self, options: SpgemmOptions) -> Result<SpgemmPhases, OpError> {
        let operands = Operands::check(self, b)?;
        let mut recorder = Recorder::recording();
        if self.device().kind() != DeviceKind::Cpu {
            let mut allowance = Allowance::new(self.device(), options)?;
            sorted::multiply::<V, O, u64>(&operands.product(), &mut allowance, &mut recorder)?;
        }
        Ok(recorder.phases()?)
    }
}

/// Some rows of C, on a device with kernels, which fewer than 2³¹ products make. Both matrices are canonical, and their
/// shapes fit.
pub(super) fn rows<V: Value, O: Offset>(
    product: &Product<'_, V, O>,
    rows: Range<usize>,
    recorder: &mut Recorder,
) -> Result<RowsOfC<V>, OpError> {
    recorder.begin(product.operands.a.device())?;
    let weighed = Weighed::new(product, &rows)?;
    Ok(rows_of_weighed(product, rows, weighed, recorder)?.0)
}

/// [`rows`], whose entries are weighed already, and the order of their products; the recorder has begun.
pub(super) fn rows_of_weighed<V: Value, O: Offset>(
    product: &Product<'_, V, O>,
    rows: Range<usize>,
    weighed: Weighed,
    recorder: &mut Recorder,
) -> Result<(RowsOfC<V>, ProductOrder<O>), OpError> {
    let Symbolic { lengths, column_indices, order } = Symbolic::new(product, rows, weighed, recorder)?;
    let values = order.values(product, recorder)?;
    Ok((RowsOfC { lengths, column_indices, values }, order))
}

/// All of some rows of C but the values, and what these are computed by.
struct Symbolic<O: Offset> {
    lengths: DeviceVec<u32>,
    column_indices: DeviceVec<u32>,
    order: ProductOrder<O>,
}

/// The order in which the products of some rows of C are added, and where their sums are: what new values need.
pub(super) struct ProductOrder<O: Offset> {
    /// Where A's entries of these rows begin.
    first_entry: usize,
    /// Entries of C.
    nonzeros: usize,
    /// Nothing where there are no products.
    sorted: Option<SortedProducts<O>>,
}

/// Products, sorted and found in C.
struct SortedProducts<O: Offset> {
    entries: Entries<O>,
    tiles: SortedTiles,
    cut: CutEntries,
    /// The place in C of each tile's first entry that is not cut.
    tile_places: DeviceVec<u32>,
}

impl<O: Offset> Symbolic<O> {
    fn new<V: Value>(
        product: &Product<'_, V, O>,
        rows: Range<usize>,
        weighed: Weighed,
        recorder: &mut Recorder,
    ) -> Result<Self, OpError> {
        let device = product.operands.a.device();
        let first_entry = weighed.first_entry();
        let mut lengths = device.zeros::<u32>(rows.len() + 1)?;
        let Some(entries) = Entries::list(product, &rows, weighed)? else {
            lengths.truncate(rows.len());
            let column_indices = device.uninitialized(0)?;
            let order = ProductOrder { first_entry, nonzeros: 0, sorted: None };
            return Ok(Self { lengths, column_indices, order });
        };
        recorder.setup(device)?;
        let (tiles, columns) =
            SortedTiles::sort(device, &entries, &product.operands.b.pattern().column_indices, &mut lengths)?;
        recorder.block_sort(device)?;
        let mut cut =
            CutEntries::sort(device, &entries, &tiles, &columns, product.operands.b.cols(), &mut lengths)?;
        recorder.global_sort(device)?;
        let c_offsets = Scan::exclusive(Operator::Sum).run(&lengths)?;
        let mut column_indices = device.uninitialized(c_offsets.get(rows.len())? as usize)?;
        let tile_places = tiles.place(&columns, &c_offsets, &mut column_indices)?;
        cut.place(&c_offsets, &mut column_indices)?;
        lengths.truncate(rows.len());
        recorder.placement(device)?;
        let sorted = Some(SortedProducts { entries, tiles, cut, tile_places });
        let order = ProductOrder { first_entry, nonzeros: column_indices.len(), sorted };
        Ok(Self { lengths, column_indices, order })
    }
}

impl<O: Offset> ProductOrder<O> {
    /// The values of C, for the values that A and B have now.
    pub(super) fn values<V: Value>(
        &self,
        product: &Product<'_, V, O>,
        recorder: &mut Recorder,
    ) -> Result<DeviceVec<V>, OpError> {
        let device = product.operands.a.device();
        let mut c_values = device.uninitialized(self.nonzeros)?;
        if let Some(sorted) = &self.sorted {
            let cut_values = sorted.add_products(product, self.first_entry, &mut c_values)?;
            recorder.product_compute(device)?;
            sorted.cut.reduce(&cut_values, &mut c_values)?;
            recorder.reduce_by_key(device)?;
        }
        Ok(c_values)
    }

    /// Bytes of device memory that it keeps.
    pub(super) fn bytes(&self) -> u64 {
        self.sorted.as_ref().map_or(0, |SortedProducts { entries, tiles, cut, tile_places }| {
            let permutation = 2 * tiles.permutation.len();
            let words = tiles.words.len() + tiles.cut_begins.len() + tile_places.len();
            entries.bytes() + cut.bytes() + (permutation + 4 * words) as u64
        })
    }

    /// Bytes of device memory that [`values`](Self::values) takes for a while beside its result.
    pub(super) fn temporary_bytes<V: Value>(&self) -> u64 {
        let cut = self.sorted.as_ref().map_or(0, |sorted| sorted.cut.len());
        // Values of cut entries, and their sums and number.
        (2 * cut * V::SIZE) as u64 + 8 + reduce::temporary_bytes_by_flags::<V>(cut)
    }
}

/// The block sort's kernel.
fn block_sort<O: Offset>() -> &'static KernelInfo {
    instance::<SortProducts<O>>()
}

/// Tiles of products, each sorted.
struct SortedTiles {
    count: u32,
    tile_len: u32,
    /// Where each sorted product was in its tile.
    permutation: DeviceVec<u16>,
    /// [`TILE_WORDS`] a tile.
    words: DeviceVec<u32>,
    /// Cut entries before each tile's, and their number at the end.
    cut_begins: DeviceVec<u32>,
}

impl SortedTiles {
    /// Sorts the products of each tile; also the columns of what each has of C. Counts the entries of the rows that no
    /// tile cuts.
    fn sort<O: Offset>(
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
    fn place(
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

impl<O: Offset> SortedProducts<O> {
    /// Computes the products and adds up those of each tile's entries: the values in C of whole rows, and those of the
    /// cut entries in their order.
    fn add_products<V: Value>(
        &self,
        product: &Product<'_, V, O>,
        first_entry: usize,
        c_values: &mut DeviceVec<V>,
    ) -> Result<DeviceVec<V>, OpError> {
        let device = product.operands.a.device();
        let mut cut_values = device.uninitialized(self.cut.len())?;
        let kernel = AddProducts {
            first_products: self.entries.first_products.as_global(),
            tile_entries: self.entries.tile_begins.as_global(),
            sources: self.entries.sources.as_global(),
            entries: self.entries.numbers.as_global(),
            a_values: product.a_values.as_global().skip(first_entry),
            b_values: product.b_values.as_global(),
            permutation: self.tiles.permutation.as_global(),
            tiles: self.tiles.words.as_global(),
            cut_begins: self.tiles.cut_begins.as_global(),
            cut_places: self.cut.places.as_global(),
            tile_places: self.tile_places.as_global(),
            c_values: c_values.as_global_mut(),
            cut_values: cut_values.as_global_mut(),
            products: self.entries.products,
        };
        let info = instance::<AddProducts<V, O>>();
        // SAFETY: tiles are those of the block sort, of the same length; A and B have values for all their nonzeros, and
        // places are below the lengths of both outputs.
        unsafe { device.launch(kernel, info, self.tiles.count, 0) }?;
        Ok(cut_values)
    }
}
