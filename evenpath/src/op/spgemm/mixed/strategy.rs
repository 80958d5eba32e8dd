//! The strategy of rows in two regions, and what it keeps.

use std::mem;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::sorted_rows::SortedRows;
use crate::device::{DeviceVec, Kernels};
use crate::format::csr::DevicePattern;
use crate::format::listed_rows::{self, Entries, EntriesMut, ListedRows, Target};
use crate::format::path_tiles::PathTiles;
use crate::op::spgemm::base::{ProductArrays, SpgemmOperands, Workspace, result_required};
use crate::op::spgemm::method::SpgemmMethod;
use crate::op::spgemm::row_wise::{self, RowWise};
use crate::op::spgemm::strategy::{FirstRun, Info, Multiply, SortedRegion, Strategy};
use crate::op::spgemm::symbolic::{self, Analysis, GivenRows};
use crate::op::spgemm::two_level_sort::{self, BlockSort, TwoLevelSort};
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Value};

/// The kernels of products by both methods, to be compiled ahead.
pub(in crate::op::spgemm) fn kernels<V: Value, O: Offset, C: Offset>() -> Kernels {
    row_wise::kernels::<V, O, C>()
        .and_all(two_level_sort::kernels::<V, O, u64>())
        .and_all(symbolic::taken_kernels())
        .and_all(listed_rows::kernels::<V, O>())
        .and_all(listed_rows::kernels::<V, u64>())
}

/// Rows of C in two regions. The sorted ones are computed first, as a matrix of their own; then the others, in the arrays of C, with
/// room for the sorted ones, which are copied there.
pub(in crate::op::spgemm) struct Mixed<O: Offset> {
    rows: SortedRows<O>,
    sort: TwoLevelSort<O>,
    others: Mutex<OtherRows>,
    /// Where the sorted rows are, once a run found that.
    placed: OnceLock<PlacedRows>,
    /// Products of both regions.
    products: u64,
}

/// The rows that are not sorted.
enum OtherRows {
    /// Nothing is kept of an analysis that failed.
    Unknown,
    /// Before the lengths of the sorted rows are known.
    Analyzed(Box<Analysis>),
    Counted(Arc<RowWise>),
}

/// The sorted rows of C.
struct PlacedRows {
    /// Their offsets among themselves, one more.
    offsets: DeviceVec<u64>,
    nonzeros: usize,
    tiles: PathTiles,
}

impl<O: Offset> Mixed<O> {
    /// Sorts the rows of the classes that have a bit, beside others; `None` if there is no room. Waits for the device.
    pub(in crate::op::spgemm) fn find<V: Value>(
        operands: SpgemmOperands<'_, V, O>,
        mut analysis: Analysis,
        classes: u32,
        workspace: &Workspace,
    ) -> Result<Option<Self>, OpError> {
        let products = analysis.rows.bins.total;
        let Some(rows) = SortedRows::take(operands, &mut analysis, classes, workspace)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            rows,
            sort: TwoLevelSort::new(BlockSort::ByRow),
            others: Mutex::new(OtherRows::Analyzed(Box::new(analysis))),
            placed: OnceLock::new(),
            products,
        }))
    }

    /// The other rows, with the lengths of the sorted ones; waits for the device the first time.
    fn others<V: Value>(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        sorted: GivenRows<'_>,
        workspace: &Workspace,
    ) -> Result<Arc<RowWise>, OpError> {
        let mut others = self.others.lock();
        let (analysis, _charge) = match mem::replace(&mut *others, OtherRows::Unknown) {
            OtherRows::Counted(known) => {
                *others = OtherRows::Counted(Arc::clone(&known));
                return Ok(known);
            }
            OtherRows::Analyzed(analysis) => {
                let required = symbolic::required(operands.a.nrows());
                (*analysis, Some(workspace.take("the workspace", required)?))
            }
            OtherRows::Unknown => {
                let mut analysis = Analysis::find(operands, workspace)?;
                analysis.take_rows(self.rows.classes)?;
                (analysis, None)
            }
        };
        let counted = Arc::new(RowWise::new(analysis.count_beside(operands, Some(sorted))?));
        *others = OtherRows::Counted(Arc::clone(&counted));
        Ok(counted)
    }
}

impl<V: Value, O: Offset, C: Offset> Multiply<V, O, C> for Mixed<O> {
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        // Both regions read the same values: these do not change meanwhile.
        let (a_values, _b_values) = (operands.a.values_now(), operands.b.values_now());
        let (list, _kept) = (&self.rows.list, workspace.take("the workspace", self.rows.required())?);
        let (a, charge) = self.rows.matrix(operands.a.pattern(), &a_values, workspace)?;
        let FirstRun { arrays: sorted, repeats }: FirstRun<V, u64> =
            self.sort.multiply(SpgemmOperands { a: &a, b: operands.b }, workspace)?;
        drop((a, charge));
        let ProductArrays { row_offsets: offsets, column_indices: columns, values } = sorted;
        let nonzeros = columns.len();
        let required = result_required::<V, u64>(list.len(), nonzeros as u64);
        let _sorted = workspace.take("the workspace", required)?;
        let given = GivenRows { list, offsets: &offsets, nonzeros: nonzeros as u64 };
        let others = self.others(operands, given, workspace)?;
        let FirstRun { arrays: mut c, .. } = Multiply::<V, O, C>::multiply(&*others, operands, workspace)?;
        let listed = ListedRows { list, whole: others.row_offsets(), listed: &offsets, nonzeros };
        let tiles = listed.tiles()?;
        let source = Entries { columns: Some(&columns), values: Some(&values) };
        let target = EntriesMut { columns: Some(&mut c.column_indices), values: Some(&mut c.values) };
        listed.copy(&tiles, source, target, Target::Whole)?;
        if repeats {
            // If another run was first, its rows are at the same places.
            let _ = self.placed.set(PlacedRows { offsets, nonzeros, tiles });
        }
        Ok(FirstRun { arrays: c, repeats })
    }
}

impl<V: Value, O: Offset, C: Offset> Strategy<V, O, C> for Mixed<O> {
    fn again(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        pattern: &DevicePattern<C>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        let others = match &*self.others.lock() {
            OtherRows::Counted(others) => Arc::clone(others),
            _ => unreachable!("a pattern is only kept with the rows that are not sorted"),
        };
        let Some(PlacedRows { offsets, nonzeros, tiles }) = self.placed.get() else {
            unreachable!("a pattern is only kept with the places of the sorted rows")
        };
        let (a_values, _b_values) = (operands.a.values_now(), operands.b.values_now());
        let _kept = workspace.take("the workspace", self.rows.required())?;
        let (a, charge) = self.rows.matrix(operands.a.pattern(), &a_values, workspace)?;
        let _sorted = workspace.take("the workspace", Requirement::of::<V>(*nonzeros as u64))?;
        let sorted = self.sort.new_values(SpgemmOperands { a: &a, b: operands.b }, workspace)?;
        drop((a, charge));
        let mut values = others.again(operands, pattern, workspace)?;
        let listed = ListedRows {
            list: &self.rows.list,
            whole: others.row_offsets(),
            listed: offsets,
            nonzeros: *nonzeros,
        };
        let source = Entries { columns: None, values: Some(&sorted) };
        let target = EntriesMut { columns: None, values: Some(&mut values) };
        listed.copy(tiles, source, target, Target::Whole)?;
        Ok(values)
    }

    fn info(&self) -> Info {
        let (nonzeros, of_others) = match &*self.others.lock() {
            OtherRows::Unknown => (0, 0),
            OtherRows::Analyzed(analysis) => (0, analysis.bytes()),
            OtherRows::Counted(others) => {
                let Info { nonzeros, kept_bytes, .. } = Strategy::<V, O, C>::info(&**others);
                (nonzeros, kept_bytes)
            }
        };
        let of_sort = Strategy::<V, O, u64>::info(&self.sort).kept_bytes;
        let of_places = self.placed.get().map_or(0, |placed| placed.offsets.bytes() + placed.tiles.bytes());
        Info {
            method: SpgemmMethod::Mixed,
            products: self.products,
            nonzeros,
            kept_bytes: self.rows.bytes() + of_sort + of_others + of_places,
            sorted: SortedRegion { rows: self.rows.list.len() as u64, products: self.rows.products },
        }
    }
}
