//! The rows that are sorted, and their entries of A.

use std::sync::Arc;

use crate::device::{DeviceSlice, DeviceVec};
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::format::listed_rows::{Entries, EntriesMut, ListedRows, Target, listed_offsets};
use crate::format::path_tiles::PathTiles;
use crate::op::spgemm::base::{Charge, SpgemmOperands, Workspace, result_required};
use crate::op::spgemm::symbolic::Analysis;
use crate::op::spgemm::two_level_sort;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Value};

/// Rows of C that are sorted, and the matrix of these rows of A, without values.
pub(super) struct SortedRows<O: Offset> {
    /// The rows, ascending.
    pub(super) list: DeviceVec<u32>,
    /// A bit for each of their classes.
    pub(super) classes: u32,
    /// Their products.
    pub(super) products: u64,
    pattern: Arc<DevicePattern<O>>,
    tiles: PathTiles,
}

/// Device memory that the rows keep.
fn required<O: Offset>(rows: u64, entries: u64) -> Requirement {
    // Tiles have thousands of entries, and a word.
    let tiles = Requirement::of::<u8>(rows.saturating_add(entries) / 256 + 8);
    let list = Requirement::of::<u32>(rows);
    Requirement::all_of([list, Requirement::of::<O>(rows + 1), Requirement::of::<u32>(entries), tiles])
}

/// Device memory for listing `rows` rows of all, and the offsets of their entries.
fn listing<O: Offset>(rows: u64, all_rows: u64) -> Requirement {
    let states = Requirement::of::<u64>(all_rows / 256 + 3);
    let offsets = Requirement::of::<u64>(2 * (rows + 1));
    Requirement::all_of([required::<O>(rows, 0), states, offsets, Requirement::new(1 << 12)])
}

impl<O: Offset> SortedRows<O> {
    /// Takes the rows of these classes out of the analysis, and copies their entries. `None` if there is no room, also for the sort, or
    /// for as many entries of C as there are products. Waits for the device.
    pub(super) fn take<V: Value>(
        operands: SpgemmOperands<'_, V, O>,
        analysis: &mut Analysis,
        classes: u32,
        workspace: &Workspace,
    ) -> Result<Option<Self>, OpError> {
        let (a, total) = (operands.a.pattern(), analysis.rows.bins.total);
        let bins = analysis.rows.bins.filled.iter().filter(|bin| classes >> bin.number & 1 != 0);
        let (rows, all_rows) = (bins.map(|bin| u64::from(bin.rows)).sum(), a.rows as u64);
        let listing = listing::<O>(rows, all_rows);
        if !workspace.has_room(listing) {
            return Ok(None);
        }
        let charge = workspace.take("the workspace", listing)?;
        let taken = analysis.take_rows(classes)?;
        let (offsets, nonzeros) = listed_offsets(a, &taken.list)?;
        drop(charge);
        let (entries, products) = (nonzeros as u64, taken.products);
        let kept = required::<O>(rows, entries);
        let sort = two_level_sort::required::<V>(rows, entries, products);
        let results = [result_required::<V, u64>(a.rows, total), result_required::<V, u64>(a.rows, products)];
        let results = Requirement::all_of(results);
        let values = Requirement::of::<V>(entries);
        let needed = Requirement::all_of([kept, values, Requirement::any_of([sort, results])]);
        if !workspace.has_room(needed) {
            return Ok(None);
        }
        let _charge = workspace.take("the workspace", kept)?;
        let mut columns = operands.device().uninitialized(nonzeros)?;
        let listed = ListedRows { list: &taken.list, whole: &a.row_offsets, listed: &offsets, nonzeros };
        let tiles = listed.tiles()?;
        let source = Entries::<V> { columns: Some(&a.column_indices), values: None };
        let target = EntriesMut { columns: Some(&mut columns), values: None };
        listed.copy(&tiles, source, target, Target::Listed)?;
        let pattern = Arc::new(DevicePattern::canonical(rows as usize, a.cols, offsets, columns));
        Ok(Some(Self { list: taken.list, classes, products, pattern, tiles }))
    }

    /// The rows of A with these values of A, and the charge for their copies.
    pub(super) fn matrix<V: Value>(
        &self,
        a: &DevicePattern<O>,
        values: &DeviceSlice<V>,
        workspace: &Workspace,
    ) -> Result<(DeviceCsr<V, O>, Charge), OpError> {
        let nonzeros = self.pattern.column_indices.len();
        let charge = workspace.take("the workspace", Requirement::of::<V>(nonzeros as u64))?;
        let mut own = values.device().uninitialized(nonzeros)?;
        let listed = ListedRows {
            list: &self.list,
            whole: &a.row_offsets,
            listed: &self.pattern.row_offsets,
            nonzeros,
        };
        let source = Entries { columns: None, values: Some(values) };
        let target = EntriesMut { columns: None, values: Some(&mut own) };
        listed.copy(&self.tiles, source, target, Target::Listed)?;
        Ok((DeviceCsr::from_valid(Arc::clone(&self.pattern), own), charge))
    }

    /// Device memory that it takes.
    pub(super) fn required(&self) -> Requirement {
        required::<O>(self.list.len() as u64, self.pattern.column_indices.len() as u64)
    }

    /// Bytes of device memory that it holds.
    pub(super) fn bytes(&self) -> u64 {
        let DevicePattern { row_offsets, column_indices, .. } = &*self.pattern;
        self.list.bytes() + row_offsets.bytes() + column_indices.bytes() + self.tiles.bytes()
    }
}
