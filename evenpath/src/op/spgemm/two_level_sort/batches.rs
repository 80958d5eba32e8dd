//! Products at once, or in batches where memory is short.

use std::ops::Range;

use super::entries::BlockSort;
use super::recorder::Recorder;
use super::rows::{self, ProductOrder, RowsOfC};
use super::setup::Weighed;
use crate::device::{DeviceSlice, DeviceVec};
use crate::op::spgemm::base::{
    ProductArrays, SpgemmCall, Workspace, convert_offsets, countable, result_arrays,
};
use crate::op::spgemm::symbolic::{Analysis, Symbolic};
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::scan::{self, ScanOptions};
use crate::{Offset, Value};

/// C, with what later products of the same patterns can use.
pub(super) struct ReusableProduct<V: Value, O: Offset> {
    pub(super) arrays: ProductArrays<V, u64>,
    /// Multiplications.
    pub(super) products: u64,
    /// The order in which products are added, if they were all there at once.
    pub(super) order: Option<ProductOrder<O>>,
}

/// The product of two matrices.
pub(super) fn multiply<V: Value, O: Offset, C: Offset>(
    product: &SpgemmCall<'_, V, O>,
    sort: BlockSort,
    workspace: &Workspace,
    recorder: &mut Recorder,
) -> Result<ReusableProduct<V, O>, OpError> {
    let a = product.operands.a;
    let required = |products| rows::required::<V>(a.nrows() as u64, a.nnz() as u64, products);
    if workspace.has_room(required(0)) {
        recorder.begin(a.device())?;
        let weighed = Weighed::new(product, &(0..a.nrows()))?;
        let products = weighed.products;
        if workspace.has_room(required(products)) {
            return in_one::<V, O, C>(product, weighed, sort, recorder);
        }
    }
    in_batches::<V, O, C>(product, sort, workspace, recorder)
}

/// All rows at once.
fn in_one<V: Value, O: Offset, C: Offset>(
    product: &SpgemmCall<'_, V, O>,
    weighed: Weighed,
    sort: BlockSort,
    recorder: &mut Recorder,
) -> Result<ReusableProduct<V, O>, OpError> {
    let (all, products) = (0..product.operands.a.nrows(), weighed.products);
    let (RowsOfC { lengths, column_indices, values }, order) =
        rows::rows_of_weighed(product, all, weighed, sort, recorder)?;
    let row_offsets = ends_to_offsets(&lengths)?;
    countable::<C>(column_indices.len() as u64)?;
    Ok(ReusableProduct {
        arrays: ProductArrays { row_offsets, column_indices, values },
        products,
        order: Some(order),
    })
}

/// Row offsets from the lengths of rows.
fn ends_to_offsets(lengths: &DeviceSlice<u32>) -> Result<DeviceVec<u64>, OpError> {
    let device = lengths.device();
    let mut longer = device.zeros::<u32>(lengths.len() + 1)?;
    longer.slice_mut(..lengths.len())?.copy_from(lengths)?;
    let wide: DeviceVec<u64> = convert_offsets(&longer)?;
    scan::values(&wide, ScanOptions::exclusive(Operator::Sum))
}

/// The result is counted first, row by row, so that batches are copied to where they belong.
fn in_batches<V: Value, O: Offset, C: Offset>(
    product: &SpgemmCall<'_, V, O>,
    sort: BlockSort,
    workspace: &Workspace,
    recorder: &mut Recorder,
) -> Result<ReusableProduct<V, O>, OpError> {
    let a = product.operands.a;
    let analysis = Analysis::find(product.operands, workspace)?;
    let (before, _charge) = analysis.products_before(workspace)?;
    let symbolic = analysis.count(product.operands)?;
    let Symbolic { row_offsets, nonzeros, .. } = &symbolic;
    let (mut column_indices, mut values, _result) =
        result_arrays::<V, C>(a.device(), a.nrows(), *nonzeros, workspace)?;
    let (before, offsets) = (before.download()?, row_offsets.download()?);
    let a_offsets = a.pattern().row_offsets.download()?;
    let required = |batch: &Range<usize>| {
        let entries = a_offsets[batch.end].to_u64() - a_offsets[batch.start].to_u64();
        rows::required::<V>(batch.len() as u64, entries, before[batch.end] - before[batch.start])
    };
    let mut start = 0;
    while start < a.nrows() {
        let batch = most_rows(start, a.nrows(), |batch| workspace.has_room(required(batch)));
        let _charge = workspace.take("a row's part", required(&batch))?;
        let of_batch = rows::rows(product, batch.clone(), sort, recorder)?;
        let place = offsets[start] as usize..offsets[batch.end] as usize;
        column_indices.slice_mut(place.clone())?.copy_from(&of_batch.column_indices)?;
        values.slice_mut(place)?.copy_from(&of_batch.values)?;
        start = batch.end;
    }
    let arrays = ProductArrays { row_offsets: symbolic.row_offsets, column_indices, values };
    Ok(ReusableProduct { arrays, products: symbolic.products, order: None })
}

/// The longest range of rows from `start` on that fits, one row at least. If a range fits, so does a shorter one.
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
