//! Products by two-level sorting: at once, or in parts where memory is short.

use std::ops::Range;

use super::options::Allowance;
use super::plan::{Arrays, convert_offsets, countable, result_arrays};
use super::row_wise::{Analysis, Symbolic};
use super::two_level_sort::{self, ProductOrder, Recorder, Weighed};
use super::{Product, RowsOfC};
use crate::device::DeviceVec;
use crate::op::OpError;
use crate::op::scan::{Operator, Scan};
use crate::{Offset, Value};

/// C, with what later products of the same patterns can use.
pub(super) struct Sorted<V: Value, O: Offset> {
    pub(super) arrays: Arrays<V>,
    /// Multiplications.
    pub(super) products: u64,
    /// The order in which products are added, if they were all there at once.
    pub(super) order: Option<ProductOrder<O>>,
}

/// The product of two matrices.
pub(super) fn multiply<V: Value, O: Offset, C: Offset>(
    product: &Product<'_, V, O>,
    allowance: &mut Allowance,
    recorder: &mut Recorder,
) -> Result<Sorted<V, O>, OpError> {
    let a = product.operands.a;
    let bytes = |products| two_level_sort::bytes::<V>(a.rows() as u64, a.nnz() as u64, products);
    if bytes(0) <= allowance.left() {
        recorder.begin(a.device())?;
        let weighed = Weighed::new(product, &(0..a.rows()))?;
        let products = weighed.products;
        if bytes(products) <= allowance.left() {
            return in_one::<V, O, C>(product, weighed, recorder);
        }
    }
    in_parts::<V, O, C>(product, allowance, recorder)
}

/// All rows at once.
fn in_one<V: Value, O: Offset, C: Offset>(
    product: &Product<'_, V, O>,
    weighed: Weighed,
    recorder: &mut Recorder,
) -> Result<Sorted<V, O>, OpError> {
    let (rows, products) = (0..product.operands.a.rows(), weighed.products);
    let (RowsOfC { lengths, column_indices, values }, order) =
        two_level_sort::rows_of_weighed(product, rows, weighed, recorder)?;
    let row_offsets = ends_to_offsets(&lengths)?;
    countable::<C>(column_indices.len() as u64)?;
    Ok(Sorted { arrays: Arrays { row_offsets, column_indices, values }, products, order: Some(order) })
}

/// Row offsets from the lengths of rows.
fn ends_to_offsets(lengths: &DeviceVec<u32>) -> Result<DeviceVec<u64>, OpError> {
    let device = lengths.device();
    let mut longer = device.zeros::<u32>(lengths.len() + 1)?;
    longer.copy_from_at(0, lengths)?;
    let wide: DeviceVec<u64> = convert_offsets(&longer)?;
    Scan::exclusive(Operator::Sum).run(&wide)
}

/// The result is counted first, row by row, so that parts are copied to where they belong.
fn in_parts<V: Value, O: Offset, C: Offset>(
    product: &Product<'_, V, O>,
    allowance: &mut Allowance,
    recorder: &mut Recorder,
) -> Result<Sorted<V, O>, OpError> {
    let a = product.operands.a;
    let analysis = Analysis::find(product.operands, allowance)?;
    let before = analysis.products_before(allowance)?;
    let Symbolic { row_offsets, nonzeros, products, .. } = analysis.count(product.operands, allowance)?;
    let (mut column_indices, mut values) = result_arrays::<V, C>(a.device(), a.rows(), nonzeros, allowance)?;
    let (before, offsets) = (before.download()?, row_offsets.download()?);
    let a_offsets = a.pattern().row_offsets.download()?;
    let bytes = |rows: &Range<usize>| {
        let entries = a_offsets[rows.end].to_u64() - a_offsets[rows.start].to_u64();
        two_level_sort::bytes::<V>(rows.len() as u64, entries, before[rows.end] - before[rows.start])
    };
    let left = allowance.left();
    let mut start = 0;
    while start < a.rows() {
        let rows = most_rows(start, a.rows(), |rows| bytes(rows) <= left);
        allowance.take("a row's part", bytes(&rows))?;
        let part = two_level_sort::rows(product, rows.clone(), recorder)?;
        let place = offsets[start] as usize;
        column_indices.copy_from_at(place, &part.column_indices)?;
        values.copy_from_at(place, &part.values)?;
        allowance.give_back(bytes(&rows));
        start = rows.end;
    }
    Ok(Sorted { arrays: Arrays { row_offsets, column_indices, values }, products, order: None })
}

/// The longest range of rows from `start` on that fits, one row at least. What fits still does with fewer rows.
fn most_rows(start: usize, rows: usize, fits: impl Fn(&Range<usize>) -> bool) -> Range<usize> {
    let (mut low, mut high) = (start + 1, rows);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(&(start..middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    start..low
}
