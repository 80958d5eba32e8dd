//! Which strategy a plan takes: from its options, the device, and the memory that is left.

use std::marker::PhantomData;

use super::base::{SpgemmOperands, Workspace};
use super::cpu::{OnCpu, OnePass};
use super::hypersparse::{Hypersparse, OfFilledRows};
use super::method::SpgemmMethod;
use super::mixed::{self, Mixed};
use super::model::RowCosts;
use super::options::SpgemmOptions;
use super::row_tiles::{self, RowTilesProduct};
use super::row_wise::{self, RowWise};
use super::strategy::{Multiply, Strategy};
use super::symbolic::{self, Analysis};
use super::two_level_sort::global_sort::{self, GlobalSort};
use super::two_level_sort::{self, BlockSort, TwoLevelSort};
use crate::device::DeviceKind;
use crate::operand::OpError;
use crate::scalar::ForKind;
use crate::{Offset, Scalar, Value};

/// The way to multiply once. Small products and those on the CPU have one that a plan cannot keep.
pub(super) fn once<V: Scalar, O: Offset, C: Offset>(
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
fn once_of_filled<V: Scalar, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    method: SpgemmMethod,
    workspace: &Workspace,
) -> Result<Box<dyn Multiply<V, O, C>>, OpError> {
    V::by_kind(OnceOfFilled { of_filled: OfFilled { operands, method, workspace, c: PhantomData } })
}

/// The strategy on devices with kernels, where A is not hypersparse.
fn of_filled<V: Scalar, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    method: SpgemmMethod,
    workspace: &Workspace,
) -> Result<Box<dyn Strategy<V, O, C>>, OpError> {
    V::by_kind(OfFilled { operands, method, workspace, c: PhantomData })
}

/// A choice of a strategy, on devices with kernels, where A is not hypersparse.
struct OfFilled<'a, V: Scalar, O: Offset, C: Offset> {
    operands: SpgemmOperands<'a, V, O>,
    method: SpgemmMethod,
    workspace: &'a Workspace,
    c: PhantomData<C>,
}

impl<V: Scalar, O: Offset, C: Offset> ForKind<V> for OfFilled<'_, V, O, C> {
    type Output = Result<Box<dyn Strategy<V, O, C>>, OpError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        of_real(self.operands, self.method, self.workspace)
    }

    fn complex(self) -> Self::Output {
        let Self { operands, method, workspace, .. } = self;
        if !matches!(method, SpgemmMethod::Auto | SpgemmMethod::RowWise) {
            let usable = SpgemmMethod::RowWise.name();
            return Err(OpError::SpgemmMethodOfType { method: method.name(), value: V::NAME, usable });
        }
        operands.device().prepare(symbolic::kernels::<O>)?;
        row_wise(operands, Analysis::find(operands, workspace)?)
    }

    fn half(self) -> Self::Output {
        unreachable!("types of 16 bits are no type of arithmetic")
    }
}

/// The same for a single product, which may have a way that a plan cannot keep.
struct OnceOfFilled<'a, V: Scalar, O: Offset, C: Offset> {
    of_filled: OfFilled<'a, V, O, C>,
}

impl<V: Scalar, O: Offset, C: Offset> ForKind<V> for OnceOfFilled<'_, V, O, C> {
    type Output = Result<Box<dyn Multiply<V, O, C>>, OpError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        let OfFilled { operands, method, workspace, .. } = self.of_filled;
        if let Some(tiles) = RowTilesProduct::find::<V, O, C>(operands, method, workspace)? {
            return Ok(Box::new(tiles));
        }
        Ok(of_real(operands, method, workspace)?)
    }

    fn complex(self) -> Self::Output {
        Ok(self.of_filled.complex()?)
    }

    fn half(self) -> Self::Output {
        Ok(self.of_filled.half()?)
    }
}

/// The strategy that goes row by row.
fn row_wise<V: Scalar, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    analysis: Analysis,
) -> Result<Box<dyn Strategy<V, O, C>>, OpError> {
    operands.device().prepare(row_wise::kernels::<V, O, C>)?;
    Ok(Box::new(RowWise::new(analysis.count(operands)?)))
}

/// The strategy of a plan, analyzed as far as it is before the first run.
pub(super) fn strategy<V: Scalar, O: Offset, C: Offset>(
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
fn without_empty_rows<V: Scalar, O: Offset, W: ?Sized>(
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

/// The strategy for real values, on devices with kernels, where A is not hypersparse.
fn of_real<V: Value, O: Offset, C: Offset>(
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
        SpgemmMethod::Auto | SpgemmMethod::RowWise | SpgemmMethod::RowTiles | SpgemmMethod::Mixed => {}
    }
    device.prepare(symbolic::kernels::<O>)?;
    let mut analysis = Analysis::find(operands, workspace)?;
    let regions = Regions::choose(operands, &analysis, method, workspace);
    if let Some(classes) = regions.sorted_classes {
        device.prepare(mixed::kernels::<V, O, C>)?;
        if let Some(mixed) = Mixed::find(operands, analysis, classes, workspace)? {
            return Ok(Box::new(mixed));
        }
        // There is no room.
        analysis = Analysis::find(operands, workspace)?;
    }
    if regions.may_sort_all {
        return two_level_sort(operands, BlockSort::ByRow);
    }
    row_wise(operands, analysis)
}

/// The strategy that sorts.
fn two_level_sort<V: Value, O: Offset, C: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    sort: BlockSort,
) -> Result<Box<dyn Strategy<V, O, C>>, OpError> {
    operands.device().prepare(two_level_sort::kernels::<V, O, C>)?;
    Ok(Box::new(TwoLevelSort::new(sort)))
}

/// Which rows are sorted, where no method is given that says so.
#[derive(Default)]
struct Regions {
    /// A bit for each class whose rows are sorted beside others that are not, if that is best and there is room.
    sorted_classes: Option<u32>,
    /// True if otherwise all rows are sorted.
    may_sort_all: bool,
}

impl Regions {
    /// The choice of `auto`, and of `mixed`, which does not count launches and copies that no division avoids. Rows are sorted only if
    /// memory for all their products at once is left; for `auto` only if `multiply`, whose bits are the plan's, does not go by tiles of
    /// rows.
    fn choose<V: Value, O: Offset>(
        operands: SpgemmOperands<'_, V, O>,
        Analysis { rows, .. }: &Analysis,
        method: SpgemmMethod,
        workspace: &Workspace,
    ) -> Self {
        let (bins, total) = (&rows.bins.filled, rows.bins.total);
        let longest = bins.iter().map(|bin| bin.largest).max().unwrap_or(0);
        let (a_rows, entries) = (operands.a.nrows() as u64, operands.a.nnz() as u64);
        let has_room = || workspace.has_room(two_level_sort::required::<V>(a_rows, entries, total));
        let costs = RowCosts::new(bins, total, rows.mean, V::SIZE);
        let division = costs.cheapest_division();
        let mixed = |is_best: bool| is_best.then_some(division.sorted_classes);
        match method {
            SpgemmMethod::Mixed => {
                let may_sort_all = division.sorted_classes != 0 && !division.is_mixed && has_room();
                Self { sorted_classes: mixed(division.is_mixed), may_sort_all }
            }
            SpgemmMethod::Auto if !row_tiles::takes(operands, total, longest) => {
                let may_sort_all = costs.sorting_is_faster() && has_room();
                let is_best = costs.mixing_is_faster(division, may_sort_all);
                Self { sorted_classes: mixed(is_best), may_sort_all }
            }
            _ => Self::default(),
        }
    }
}
