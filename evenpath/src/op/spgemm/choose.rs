//! Which strategy a plan takes: from its options, the device, and the memory that is left.

use evenpath_kernels::spgemm::Class;

use super::base::{SpgemmOperands, Workspace};
use super::cpu::{OnCpu, OnePass};
use super::hypersparse::{Hypersparse, OfFilledRows};
use super::method::SpgemmMethod;
use super::options::SpgemmOptions;
use super::row_tiles::{self, RowTilesProduct};
use super::row_wise::{self, RowWise};
use super::strategy::{Multiply, Strategy};
use super::symbolic::{self, Analysis, ClassifiedRows};
use super::two_level_sort::global_sort::{self, GlobalSort};
use super::two_level_sort::{self, BlockSort, TwoLevelSort};
use crate::device::DeviceKind;
use crate::operand::OpError;
use crate::{Offset, Value};

/// Nanoseconds that windows take for each row of B that a row of A names: they are added one after the other.
const TURN: f64 = 1000.0;
/// Nanoseconds of a product in a hash table, by whether a row has more than 64 of them.
const HASH_PRODUCT: [f64; 2] = [0.035, 0.060];
/// Nanoseconds of a product by windows, if rows of B have at least this many entries.
const WINDOW_PRODUCT: f64 = 0.020;
const WINDOW_ENTRIES: f64 = 20.0;
/// Nanoseconds of a product that is sorted.
const SORTED_PRODUCT: f64 = 0.050;
/// Nanoseconds of each method's launches: by rows, and by sorting.
const LAUNCHES: [f64; 2] = [100_000.0, 200_000.0];

/// Returns whether sorting all products is faster than going row by row: where a row of A names very many rows of B, which windows
/// add one after the other, and where rows have many products with few columns in common. From times measured on an H200.
fn sorting_is_faster(ClassifiedRows { bins, mean, .. }: &ClassifiedRows) -> bool {
    let (total, mean) = (bins.total as f64, *mean);
    let (mut left, mut by_rows, mut turns) = (total, LAUNCHES[0], 0.0_f64);
    for bin in &bins.filled {
        match bin.class {
            Class::Empty => {}
            Class::Hash { size } => {
                let products = (f64::from(bin.rows) * f64::from(size)).min(left);
                by_rows += products * HASH_PRODUCT[usize::from(size > 64)];
                left -= products;
            }
            Class::Window { .. } => turns = turns.max(bin.largest as f64 / mean.max(1.0)),
        }
    }
    by_rows += left * WINDOW_PRODUCT * (WINDOW_ENTRIES / mean.max(1.0)).max(1.0) + turns * TURN;
    LAUNCHES[1] + total * SORTED_PRODUCT < by_rows
}

/// The way to multiply once. Small products and those on the CPU have one that a plan cannot keep.
pub(super) fn once<V: Value, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    options: SpgemmOptions,
    workspace: &Workspace,
) -> Result<Box<dyn Multiply<V, O, C>>, OpError> {
    let device = operands.device();
    if device.kind() == DeviceKind::Cpu {
        if OnePass::may_run(device, options.memory_limit) {
            return Ok(Box::new(OnePass));
        }
        return Ok(Box::new(OnCpu::count(operands)));
    }
    let find = |operands: SpgemmOperands<'_, V, O>| once_of_filled(operands, options.method, workspace);
    without_empty_rows(operands, workspace, find, |all_rows| Box::new(all_rows))
}

/// The way to multiply once, on devices with kernels, where A is not hypersparse.
fn once_of_filled<V: Value, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    method: SpgemmMethod,
    workspace: &Workspace,
) -> Result<Box<dyn Multiply<V, O, C>>, OpError> {
    if let Some(tiles) = RowTilesProduct::find::<V, O, C>(operands, method, workspace)? {
        return Ok(Box::new(tiles));
    }
    Ok(of_filled(operands, method, workspace)?)
}

/// The strategy of a plan, analyzed as far as it is before the first run.
pub(super) fn strategy<V: Value, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    method: SpgemmMethod,
    workspace: &Workspace,
) -> Result<Box<dyn Strategy<V, O, C>>, OpError> {
    if operands.device().kind() == DeviceKind::Cpu {
        return Ok(Box::new(OnCpu::count(operands)));
    }
    let find = |operands: SpgemmOperands<'_, V, O>| of_filled(operands, method, workspace);
    without_empty_rows(operands, workspace, find, |all_rows| Box::new(all_rows))
}

/// The way to multiply that `find` finds: where A is hypersparse, for the rows that have entries, boxed with all rows.
fn without_empty_rows<V: Value, O: Offset, W: ?Sized>(
    operands: SpgemmOperands<'_, V, O>,
    workspace: &Workspace,
    find: impl FnOnce(SpgemmOperands<'_, V, O>) -> Result<Box<W>, OpError>,
    boxed: impl FnOnce(OfFilledRows<V, O, W>) -> Box<W>,
) -> Result<Box<W>, OpError> {
    let Some((a, _charge)) = Hypersparse::find(operands.a, workspace)? else {
        return find(operands);
    };
    let inner = find(SpgemmOperands { a: &a.matrix, b: operands.b })?;
    Ok(boxed(OfFilledRows::new(a, inner)))
}

/// The strategy on devices with kernels, where A is not hypersparse.
fn of_filled<V: Value, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    method: SpgemmMethod,
    workspace: &Workspace,
) -> Result<Box<dyn Strategy<V, O, C>>, OpError> {
    let device = operands.device();
    match method {
        SpgemmMethod::TwoLevelSort | SpgemmMethod::ColumnSort => {
            return two_level_sort(operands, BlockSort::of(method));
        }
        SpgemmMethod::GlobalSort => {
            device.prepare(global_sort::kernels::<V, O, C>)?;
            return Ok(Box::new(GlobalSort::default()));
        }
        SpgemmMethod::Auto | SpgemmMethod::RowWise | SpgemmMethod::RowTiles => {}
    }
    device.prepare(symbolic::kernels::<O>)?;
    let analysis = Analysis::find(operands, workspace)?;
    if method == SpgemmMethod::Auto && should_sort(operands, &analysis.rows, workspace) {
        return two_level_sort(operands, BlockSort::ByRow);
    }
    device.prepare(row_wise::kernels::<V, O, C>)?;
    Ok(Box::new(RowWise::new(analysis.count(operands)?)))
}

/// The strategy that sorts.
fn two_level_sort<V: Value, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    sort: BlockSort,
) -> Result<Box<dyn Strategy<V, O, C>>, OpError> {
    operands.device().prepare(two_level_sort::kernels::<V, O, C>)?;
    Ok(Box::new(TwoLevelSort::new(sort)))
}

/// Returns whether it is better to sort all products: if that is faster, memory for all of them at once is left, and
/// `multiply`, whose bits are the plan's, does not go by tiles of rows.
fn should_sort<V: Value, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    rows: &ClassifiedRows,
    workspace: &Workspace,
) -> bool {
    let (a_rows, entries) = (operands.a.nrows() as u64, operands.a.nnz() as u64);
    let longest = rows.bins.filled.iter().map(|bin| bin.largest).max().unwrap_or(0);
    sorting_is_faster(rows)
        && !row_tiles::takes(operands, rows.bins.total, longest)
        && workspace.has_room(two_level_sort::required::<V>(a_rows, entries, rows.bins.total))
}
