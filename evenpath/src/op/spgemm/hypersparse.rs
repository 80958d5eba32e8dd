//! Matrices of which most rows have no entries: they are multiplied without these rows.

use evenpath_kernels::spgemm::SpgemmExpandOffsets;

use super::base::{Charge, Workspace};
use crate::device::{DeviceKind, DeviceVec};
use crate::format::DeviceCsr;
use crate::format::csr::Pattern;
use crate::format::filled_rows::FilledRows;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Value};

/// Rows for each nonzero from which on a matrix is hypersparse. Rows without entries take as much time as others in all but the
/// products themselves.
const ROWS_A_NONZERO: usize = 2;

/// A hypersparse matrix without the rows that have no entries.
pub(super) struct Hypersparse<V: Value, O: Offset> {
    /// The rows that have entries. It shares the values.
    pub(super) matrix: DeviceCsr<V, O>,
    /// Which rows these are.
    filled_rows: DeviceVec<u32>,
    /// All rows.
    rows: usize,
}

/// Device memory that a matrix takes without its empty rows.
fn required<O: Offset>(rows: usize, nonzeros: usize) -> Requirement {
    let filled = rows.min(nonzeros) as u64;
    let columns = Requirement::of::<u32>(nonzeros as u64);
    // What is found has room for as many rows as there may be, and is copied to what there are.
    let found = Requirement::all_of([Requirement::of::<u32>(filled), Requirement::of::<O>(filled + 1)]);
    let states = Requirement::of::<u64>(rows as u64 / 256 + 2);
    Requirement::all_of([columns, found, found, states])
}

impl<V: Value, O: Offset> Hypersparse<V, O> {
    /// The matrix, if it is hypersparse, the device has kernels and the workspace has room, with its charge; waits for the device.
    pub(super) fn find(
        a: &DeviceCsr<V, O>,
        workspace: &Workspace,
    ) -> Result<Option<(Self, Charge)>, OpError> {
        let (rows, nonzeros) = (a.rows(), a.nnz());
        let needed = required::<O>(rows, nonzeros);
        if a.device().kind() == DeviceKind::Cpu
            || nonzeros == 0
            || rows < ROWS_A_NONZERO * nonzeros
            || !workspace.has_room(needed)
        {
            return Ok(None);
        }
        let charge = workspace.take("the workspace", needed)?;
        let FilledRows { count, compacted } = FilledRows::find(a.pattern())?;
        let Some((filled_rows, offsets)) = compacted else { return Ok(None) };
        let columns = a.pattern().column_indices.copied()?;
        let matrix = a.with_pattern(Pattern::canonical(count as usize, a.cols(), offsets, columns));
        Ok(Some((Self { matrix, filled_rows, rows }, charge)))
    }

    /// Device memory that it takes.
    pub(super) fn required(&self) -> Requirement {
        required::<O>(self.rows, self.matrix.nnz())
    }

    /// Bytes of device memory that it holds, without the values.
    pub(super) fn bytes(&self) -> u64 {
        let pattern = self.matrix.pattern();
        self.filled_rows.bytes() + pattern.row_offsets.bytes() + pattern.column_indices.bytes()
    }

    /// The row offsets of C, of which those of the rows that the matrix has are given.
    pub(super) fn expand<C: Offset>(
        &self,
        offsets: &DeviceVec<C>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<C>, OpError> {
        let device = offsets.device();
        let _charge = workspace.take("the result", Requirement::of::<C>(self.rows as u64 + 1))?;
        let mut row_offsets = device.uninitialized(self.rows + 1)?;
        let kernel = SpgemmExpandOffsets {
            filled_rows: self.filled_rows.as_global(),
            filled_offsets: offsets.as_global(),
            row_offsets: row_offsets.as_global_mut(),
            filled: self.filled_rows.len() as u32,
            len: self.rows as u64 + 1,
        };
        // SAFETY: there is an offset for each of the rows and one more, and room for as many of all rows, which the given ones are
        // among; buffers are freed in the stream's order.
        unsafe { device.kernel().items(self.rows + 1)?.launch(kernel) }?;
        Ok(row_offsets)
    }
}
