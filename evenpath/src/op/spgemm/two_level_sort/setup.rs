use std::ops::Range;

use evenpath_kernels::spgemm::two_level_sort::{ListEntries, ListedEntries, SortProducts, WeighEntries};

use crate::device::{DeviceError, DeviceVec, instance};
use crate::format::csr::DevicePattern;
use crate::op::spgemm::base::SpgemmCall;
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Offset, Value};

/// Products of a tile of the block sort.
pub(super) fn tile_len<O: Offset>() -> u32 {
    instance::<SortProducts<O>>().tile_items() as u32
}

/// The entries of some rows of A that make products, and the tiles of these.
pub(super) struct ProductEntries<O: Offset> {
    /// The first product of each, and the number of products at the end.
    pub(super) first_products: DeviceVec<u32>,
    /// The offset from a product's number to the index of its entry of B, for each entry; may wrap around.
    pub(super) sources: DeviceVec<O>,
    /// The row of each entry, relative to the first row.
    pub(super) rows: DeviceVec<u32>,
    /// The index of each entry among those of the rows.
    pub(super) numbers: DeviceVec<u32>,
    /// The entry that makes the first product of each tile, and the number of entries at the end.
    pub(super) tile_begins: DeviceVec<u32>,
    pub(super) products: u32,
    pub(super) tiles: u32,
}

/// The nonzeros that some rows of a matrix have; waits for the device unless these are all rows.
fn nonzeros<O: Offset>(pattern: &DevicePattern<O>, rows: &Range<usize>) -> Result<Range<usize>, DeviceError> {
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
        product: &SpgemmCall<'_, V, O>,
        rows: &Range<usize>,
    ) -> Result<Self, OpError> {
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let device = product.operands.a.device();
        let nonzeros = nonzeros(a, rows)?;
        let len = nonzeros.len();
        let launch = device.kernel().items(len + 1)?;
        let mut weights = device.uninitialized(len + 1)?;
        let mut totals = device.zeros(2)?;
        let kernel = WeighEntries {
            column_indices: a.column_indices.as_global().skip(nonzeros.start),
            b: b.view(),
            weights: weights.as_global_mut(),
            totals: totals.as_global_mut(),
            len: len as u32,
        };
        // SAFETY: there are `len` columns, all of which name rows of B, and one weight more.
        unsafe { launch.launch(kernel) }?;
        let found = totals.first::<2>()?;
        Ok(Self { nonzeros, weights, products: found[0], listed: found[1] as usize })
    }

    /// The index of the first of A's entries.
    pub(super) fn first_entry(&self) -> usize {
        self.nonzeros.start
    }
}

impl<O: Offset> ProductEntries<O> {
    /// The entries, as kernels take them.
    pub(super) fn view(&self) -> ListedEntries<O> {
        ListedEntries {
            first_products: self.first_products.as_global(),
            sources: self.sources.as_global(),
            numbers: self.numbers.as_global(),
            rows: self.rows.as_global(),
            tile_begins: self.tile_begins.as_global(),
            products: self.products,
        }
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        let words = self.first_products.bytes() + self.rows.bytes() + self.numbers.bytes();
        words + self.sources.bytes() + self.tile_begins.bytes()
    }

    /// Lists those of A's entries in `rows` that make products, of which there are fewer than 2³¹; `None` if there are none.
    pub(super) fn list<V: Value>(
        product: &SpgemmCall<'_, V, O>,
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
        let sums = scan::values(&weights, ScanOptions::exclusive(Operator::Sum))?;
        drop(weights);
        let tile_len = tile_len::<O>();
        let tiles = products.div_ceil(tile_len);
        let launch = device.kernel().threads(len + 1)?;
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
            a: evenpath_kernels::GlobalPattern {
                row_offsets: a.row_offsets.as_global().skip(rows.start),
                rows: rows.len() as u32,
                ..a.view()
            },
            column_indices: a.column_indices.as_global().skip(nonzeros.start),
            b: b.view(),
            first_products: entries.first_products.as_global_mut(),
            sources: entries.sources.as_global_mut(),
            rows: entries.rows.as_global_mut(),
            numbers: entries.numbers.as_global_mut(),
            tile_begins: entries.tile_begins.as_global_mut(),
            len: len as u32,
            tile_len,
        };
        // SAFETY: the sums give the number of listed entries and of their products; A's columns name rows of B.
        unsafe { launch.launch(kernel) }?;
        Ok(Some(entries))
    }
}
