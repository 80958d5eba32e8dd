//! Products of a row that is cut between ranks: each sends its sum to the owner of the row.

use evenpath::error::OpError;
use evenpath::{DeviceCsr, DeviceDense, DeviceSlice, Value};

use crate::DistributedCsr;
use crate::error::Result;
use crate::halo::HaloExchange;

/// Plans both parts of a rank's part of a cut row, if the matrix has cut rows.
pub(super) fn plans<V: Value, P>(
    matrix: &DistributedCsr<V>,
    plan: impl Fn(&DeviceCsr<V>) -> Result<P, OpError>,
) -> Result<Option<[P; 2]>> {
    let Some(cut) = matrix.cut_row() else { return Ok(None) };
    Ok(Some([plan(&cut.local)?, plan(&cut.non_local)?]))
}

/// Exchange of the elements of y, or of x in the product with the transpose, for cut rows, of `width` numbers
/// each.
pub(super) fn exchange<V: Value>(
    matrix: &DistributedCsr<V>,
    width: usize,
    is_reverse: bool,
) -> Result<Option<HaloExchange<V>>> {
    let Some(cut) = matrix.cut_row() else { return Ok(None) };
    HaloExchange::new(matrix.rank(), &cut.halo, matrix.local().nrows(), width, is_reverse).map(Some)
}

/// Bytes of device memory, and of page-locked host memory.
pub(super) fn bytes<V: Value>(exchange: Option<&HaloExchange<V>>) -> (u64, u64) {
    exchange.map_or((0, 0), HaloExchange::bytes)
}

/// Computes the sum of this rank's part of a cut row through `sum`, and sends it. Meanwhile `product` computes y.
/// Then adds the sums of other ranks to it, in the order of the ranks. Without cut rows only computes y.
pub(super) fn add_sums<V: Value>(
    sums: Option<&mut HaloExchange<V>>,
    y: &mut DeviceSlice<V>,
    sum: impl FnOnce(&mut DeviceDense<V>) -> Result<()>,
    product: impl FnOnce(&mut DeviceSlice<V>) -> Result<()>,
) -> Result<()> {
    let Some(sums) = sums else { return product(y) };
    sums.contribute(sum)?;
    let sent = sums.beside(HaloExchange::send_back, || product(y))?;
    sums.add_contributions(&sent, y)?;
    sums.finish(&sent)
}
