use std::ops::Range;

use evenpath_kernels::spgemm::two_level_sort::{ListEntries, SortProducts, WeighEntries};
use evenpath_simt::kernel::KernelInfo;

use crate::device::{DeviceError, DeviceVec};
use crate::op::device_csr::Pattern;
use crate::op::scan::{Operator, Scan};
use crate::op::spgemm::base::Product;
use crate::op::{OpError, instance, tile_count, tile_items};
use crate::{Offset, Value};

/// The block sort's kernel.
pub(super) fn block_sort<O: Offset>() -> &'static KernelInfo {
    instance::<SortProducts<O>>()
}

/// The entries of some rows of A that make products, and the tiles of these.
pub(super) struct Entries<O: Offset> {
    /// The first product of each, and the number of products at the end.
    pub(super) first_products: DeviceVec<u32>,
    /// What, added to a product's number, gives the nonzero of B that makes it.
    pub(super) sources: DeviceVec<O>,
    /// The row of each, counted from the first.
    pub(super) rows: DeviceVec<u32>,
    /// Which of the rows' entries each is.
    pub(super) numbers: DeviceVec<u32>,
    /// The one that makes the first product of each tile, and their number at the end.
    pub(super) tile_begins: DeviceVec<u32>,
    pub(super) products: u32,
    pub(super) tiles: u32,
}

/// The nonzeros that some rows of a matrix have; waits for the device unless these are all rows.
fn nonzeros<O: Offset>(pattern: &Pattern<O>, rows: &Range<usize>) -> Result<Range<usize>, DeviceError> {
    let offset = |row: usize| match row {
        0 => Ok(0),
        _ if row == pattern.rows => Ok(pattern.column_indices.len()),
        _ => pattern.row_offsets.get(row).map(|offset| offset.to_u64() as usize),
    };
    Ok(offset(rows.start)?..offset(rows.end)?)
}

/// The entries of some rows of A, weighed.
pub(in crate::op::spgemm) struct Weighed {
    /// The nonzeros of A that they are.
    nonzeros: Range<usize>,
    weights: DeviceVec<u64>,
    /// All products.
    pub(in crate::op::spgemm) products: u64,
    /// Entries that make any.
    listed: usize,
}

impl Weighed {
    /// Weighs the entries of A's `rows`, fewer than 2³¹. Waits for the device.
    pub(in crate::op::spgemm) fn new<V: Value, O: Offset>(
        product: &Product<'_, V, O>,
        rows: &Range<usize>,
    ) -> Result<Self, OpError> {
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let device = product.operands.a.device();
        let nonzeros = nonzeros(a, rows)?;
        let len = nonzeros.len();
        let info = instance::<WeighEntries<O>>();
        let mut weights = device.uninitialized(len + 1)?;
        let mut totals = device.zeros(2)?;
        let kernel = WeighEntries {
            columns: a.column_indices.as_global().skip(nonzeros.start),
            b_offsets: b.row_offsets.as_global(),
            weights: weights.as_global_mut(),
            totals: totals.as_global_mut(),
            len: len as u32,
        };
        // SAFETY: there are `len` columns, all of them rows of B, and one weight more.
        unsafe { device.launch(kernel, info, tile_count("a matrix product", info, len + 1)?, 0) }?;
        let mut found = [0; 2];
        totals.copy_to_slice(&mut found)?;
        Ok(Self { nonzeros, weights, products: found[0], listed: found[1] as usize })
    }

    /// Where A's entries begin.
    pub(super) fn first_entry(&self) -> usize {
        self.nonzeros.start
    }
}

impl<O: Offset> Entries<O> {
    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        let words = self.first_products.bytes() + self.rows.bytes() + self.numbers.bytes();
        words + self.sources.bytes() + self.tile_begins.bytes()
    }

    /// Lists those of A's entries in `rows` that make products, of which there are fewer than 2³¹; nothing where there
    /// are none.
    pub(super) fn list<V: Value>(
        product: &Product<'_, V, O>,
        rows: &Range<usize>,
        weighed: Weighed,
    ) -> Result<Option<Self>, OpError> {
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let device = product.operands.a.device();
        let Weighed { nonzeros, weights, products, listed } = weighed;
        if products == 0 {
            return Ok(None);
        }
        let (products, len) = (products as u32, nonzeros.len());
        let sums = Scan::exclusive(Operator::Sum).run(&weights)?;
        drop(weights);
        let tile_len = tile_items(block_sort::<O>());
        let tiles = tile_count("a matrix product", block_sort::<O>(), products as usize)?;
        let mut entries = Self {
            first_products: device.uninitialized(listed + 1)?,
            sources: device.uninitialized(listed)?,
            rows: device.uninitialized(listed)?,
            numbers: device.uninitialized(listed)?,
            tile_begins: device.uninitialized(tiles as usize + 1)?,
            products,
            tiles,
        };
        let kernel = ListEntries {
            sums: sums.as_global(),
            columns: a.column_indices.as_global().skip(nonzeros.start),
            a_offsets: a.row_offsets.as_global().skip(rows.start),
            b_offsets: b.row_offsets.as_global(),
            first_products: entries.first_products.as_global_mut(),
            sources: entries.sources.as_global_mut(),
            entry_rows: entries.rows.as_global_mut(),
            entries: entries.numbers.as_global_mut(),
            tile_entries: entries.tile_begins.as_global_mut(),
            len: len as u32,
            rows: rows.len() as u32,
            tile_len,
        };
        let info = instance::<ListEntries<O>>();
        // SAFETY: the sums say how many entries are listed and how many products they make; A's columns are rows of B.
        unsafe { device.launch(kernel, info, tile_count("a matrix product", info, len + 1)?, 0) }?;
        Ok(Some(entries))
    }
}
