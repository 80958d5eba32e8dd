use std::ops::Range;

use evenpath_kernels::spgemm::two_level_sort::{ListEntries, WeighEntries};

use super::block_sort;
use crate::device::{DeviceError, DeviceVec};
use crate::op::device_csr::Pattern;
use crate::op::scan::{self, Operator};
use crate::op::spgemm::Product;
use crate::op::{OpError, instance, tile_count, tile_items};
use crate::{Offset, Value};

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
    pub(super) tile_entries: DeviceVec<u32>,
    pub(super) products: u32,
    pub(super) tiles: u32,
}

/// The nonzeros that some rows of a matrix have; waits for the device unless these are all rows.
pub(super) fn nonzeros<O: Offset>(
    pattern: &Pattern<O>,
    rows: &Range<usize>,
) -> Result<Range<usize>, DeviceError> {
    let offset = |row: usize| match row {
        0 => Ok(0),
        _ if row == pattern.rows => Ok(pattern.column_indices.len()),
        _ => pattern.row_offsets.get(row).map(|offset| offset.to_u64() as usize),
    };
    Ok(offset(rows.start)?..offset(rows.end)?)
}

impl<O: Offset> Entries<O> {
    /// Lists those of the nonzeros of A in `rows` that make products; nothing where there are none. Waits for the
    /// device.
    pub(super) fn list<V: Value>(
        product: &Product<'_, V, O>,
        rows: &Range<usize>,
        nonzeros: Range<usize>,
    ) -> Result<Option<Self>, OpError> {
        let (a, b) = (product.operands.a.pattern(), product.operands.b.pattern());
        let (device, len) = (product.operands.a.device(), nonzeros.len());
        if len == 0 {
            return Ok(None);
        }
        let sums = weigh(a.column_indices.as_global().skip(nonzeros.start), len, &b.row_offsets)?;
        let sum = sums.get(len)?;
        let (products, listed) = (sum as u32, (sum >> 32) as usize);
        if products == 0 {
            return Ok(None);
        }
        let tile_len = tile_items(block_sort::<O>());
        let tiles = tile_count("a matrix product", block_sort::<O>(), products as usize)?;
        let mut entries = Self {
            first_products: device.uninitialised(listed + 1)?,
            sources: device.uninitialised(listed)?,
            rows: device.uninitialised(listed)?,
            numbers: device.uninitialised(listed)?,
            tile_entries: device.uninitialised(tiles as usize + 1)?,
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
            tile_entries: entries.tile_entries.as_global_mut(),
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

/// The exclusive sums of the weights of `len` entries with these columns.
fn weigh<O: Offset>(
    columns: evenpath_simt::Global<u32>,
    len: usize,
    b_offsets: &DeviceVec<O>,
) -> Result<DeviceVec<u64>, OpError> {
    let device = b_offsets.device();
    let info = instance::<WeighEntries<O>>();
    let mut weights = device.uninitialised(len + 1)?;
    let kernel = WeighEntries {
        columns,
        b_offsets: b_offsets.as_global(),
        weights: weights.as_global_mut(),
        len: len as u32,
    };
    // SAFETY: there are `len` columns, all of them rows of B, and one weight more.
    unsafe { device.launch(kernel, info, tile_count("a matrix product", info, len + 1)?, 0) }?;
    scan::exclusive(&weights, Operator::Sum)
}
