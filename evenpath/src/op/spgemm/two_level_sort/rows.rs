//! Rows of C from all their products.

use std::ops::Range;

use evenpath_kernels::spgemm::two_level_sort::AddProducts;

use super::cut_rows::CutEntries;
use super::entries::BlockSort;
use super::recorder::Recorder;
use super::setup::{ProductEntries, Weighed, tile_len};
use super::tiles::SortedTiles;
use crate::device::{DeviceSlice, DeviceVec};
use crate::op::spgemm::base::SpgemmCall;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::operation::Operator;
use crate::sequence::reduce;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Offset, Value};

/// Some rows of C, ascending by column, without duplicates.
pub(super) struct RowsOfC<V: Value> {
    /// Entries of each row.
    pub(super) lengths: DeviceVec<u32>,
    /// Columns of the entries.
    pub(super) column_indices: DeviceVec<u32>,
    /// Values of the entries.
    pub(super) values: DeviceVec<V>,
}

/// Products, and entries of A, at most: they are counted in 31 bits.
pub(super) const MAX_PRODUCTS: u64 = 1 << 31;

/// Maximum device memory of [`nrows`] while it runs, including its result, for this number of rows and entries of A and of
/// products. If they cannot be counted, more than any device has.
pub(in crate::op::spgemm) fn required<V: Value>(rows: u64, entries: u64, products: u64) -> Requirement {
    if products.max(entries).max(rows) >= MAX_PRODUCTS {
        return Requirement::new(u64::MAX);
    }
    // Their first products, sources, rows and numbers.
    let listed = Requirement::each(entries, 4 + 8 + 4 + 4);
    let weighed = Requirement::each(entries, 8 + 8);
    let counted = Requirement::each(rows, 4 + 8);
    // The permutation, the columns and perhaps the rows, in whole tiles, with some words each.
    let tiles = products.div_ceil(u64::from(tile_len::<u32>()));
    let sorted = Requirement::all_of([
        Requirement::each(products, 2 + 4 + 4),
        Requirement::each(tiles, 64),
        Requirement::new(1 << 16),
    ]);
    // The sort has two copies of keys and numbers beside what it sorts; what follows takes less.
    let cut = Requirement::all_of([Requirement::each(products, 3 * (8 + 4) + 1), Requirement::new(1 << 16)]);
    // Keys, numbers, sums and the values of both, and the result.
    let summed = Requirement::all_of([
        Requirement::each(products, 8 + 8 + 4 + 4 + 2 * V::SIZE),
        Requirement::each(products, 4 + V::SIZE),
    ]);
    let sorting = Requirement::all_of([sorted, Requirement::any_of([cut, summed])]);
    let few_words = Requirement::new(128);
    Requirement::all_of([listed, counted, few_words, Requirement::any_of([weighed, sorting])])
}

/// Some rows of C, on a device with kernels, which fewer than 2³¹ products make. Both matrices are canonical, and their
/// shapes fit.
pub(super) fn rows<V: Value, O: Offset>(
    product: &SpgemmCall<'_, V, O>,
    rows: Range<usize>,
    sort: BlockSort,
    recorder: &mut Recorder,
) -> Result<RowsOfC<V>, OpError> {
    recorder.begin(product.operands.a.device())?;
    let weighed = Weighed::new(product, &rows)?;
    Ok(rows_of_weighed(product, rows, weighed, sort, recorder)?.0)
}

/// [`nrows`], whose entries are weighed already, and the order of their products; the recorder has begun.
pub(super) fn rows_of_weighed<V: Value, O: Offset>(
    product: &SpgemmCall<'_, V, O>,
    rows: Range<usize>,
    weighed: Weighed,
    sort: BlockSort,
    recorder: &mut Recorder,
) -> Result<(RowsOfC<V>, ProductOrder<O>), OpError> {
    let OrderedRows { lengths, column_indices, order } =
        OrderedRows::new(product, rows, weighed, sort, recorder)?;
    let values = order.values(product, recorder)?;
    Ok((RowsOfC { lengths, column_indices, values }, order))
}

/// Some rows of C without their values, and the order in which these are computed.
struct OrderedRows<O: Offset> {
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
    entries: ProductEntries<O>,
    tiles: SortedTiles,
    cut: CutEntries,
    /// The place in C of each tile's first entry that is not cut.
    tile_places: DeviceVec<u32>,
}

impl<O: Offset> OrderedRows<O> {
    fn new<V: Value>(
        product: &SpgemmCall<'_, V, O>,
        rows: Range<usize>,
        weighed: Weighed,
        sort: BlockSort,
        recorder: &mut Recorder,
    ) -> Result<Self, OpError> {
        let device = product.operands.a.device();
        let first_entry = weighed.first_entry();
        let mut lengths = device.zeros::<u32>(rows.len() + 1)?;
        let Some(entries) = ProductEntries::list(product, &rows, weighed)? else {
            lengths.truncate(rows.len());
            let column_indices = device.uninitialized(0)?;
            let order = ProductOrder { first_entry, nonzeros: 0, sorted: None };
            return Ok(Self { lengths, column_indices, order });
        };
        recorder.setup(device)?;
        let b = product.operands.b;
        let (tiles, tile_entries) = SortedTiles::sort(device, &entries, b.pattern(), &mut lengths, sort)?;
        recorder.block_sort(device)?;
        let mut cut = CutEntries::sort(device, &entries, &tiles, &tile_entries, b.ncols(), &mut lengths)?;
        recorder.global_sort(device)?;
        let c_offsets = scan::values(&lengths, ScanOptions::exclusive(Operator::Sum))?;
        let mut column_indices = device.uninitialized(c_offsets.get(rows.len())? as usize)?;
        let tile_places = tiles.place(&tile_entries.columns, &c_offsets, &mut column_indices)?;
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
        product: &SpgemmCall<'_, V, O>,
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
            let tile_bytes = tiles.permutation.bytes() + tiles.words.bytes() + tiles.cut_begins.bytes();
            entries.bytes() + cut.bytes() + tile_bytes + tile_places.bytes()
        })
    }

    /// Device memory that [`values`](Self::values) takes for a while beside its result.
    pub(super) fn required<V: Value>(&self) -> Requirement {
        let cut = self.sorted.as_ref().map_or(0, |sorted| sorted.cut.len());
        // Values of cut entries, and their sums and number.
        let values = Requirement::each(2 * cut as u64, V::SIZE);
        let reduction = Requirement::new(reduce::by_flags_temporary_bytes::<V>(cut));
        Requirement::all_of([values, Requirement::of::<u64>(1), reduction])
    }
}

impl<O: Offset> SortedProducts<O> {
    /// Computes the products and adds up those of each tile's entries: the values in C of whole rows, and those of the
    /// cut entries in their order.
    fn add_products<V: Value>(
        &self,
        product: &SpgemmCall<'_, V, O>,
        first_entry: usize,
        c_values: &mut DeviceSlice<V>,
    ) -> Result<DeviceVec<V>, OpError> {
        let device = product.operands.a.device();
        let mut cut_values = device.uninitialized(self.cut.len())?;
        let launch = device.kernel().blocks(self.tiles.count as usize)?;
        let kernel = AddProducts {
            entries: self.entries.view(),
            a_values: product.a_values.as_global().skip(first_entry),
            b_values: product.b_values.as_global(),
            permutation: self.tiles.permutation.as_aligned(),
            tiles: self.tiles.words.as_global(),
            cut_begins: self.tiles.cut_begins.as_global(),
            cut_places: self.cut.places.as_global(),
            tile_places: self.tile_places.as_global(),
            c_values: c_values.as_global_mut(),
            cut_values: cut_values.as_global_mut(),
        };
        // SAFETY: tiles are those of the block sort, of the same length; A and B have values for all their nonzeros, and
        // places are below the lengths of both outputs.
        unsafe { launch.launch(kernel) }?;
        Ok(cut_values)
    }
}
