//! Matrices of which most rows have no entries: they are multiplied without these rows.

use evenpath_kernels::spgemm::SpgemmExpandOffsets;

use super::base::{Charge, SpgemmOperands, Workspace};
use super::strategy::{FirstRun, Info, Multiply, Strategy};
use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::format::csr::DevicePattern;
use crate::format::filled_rows::FilledRows;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Scalar};

/// Minimum rows per nonzero of a hypersparse matrix. Rows without entries take as much time as others in all but the
/// products themselves.
const ROWS_A_NONZERO: usize = 2;

/// A hypersparse matrix without the rows that have no entries.
pub(super) struct Hypersparse<V: Scalar, O: Offset> {
    /// The rows that have entries. It shares the values.
    pub(super) matrix: DeviceCsr<V, O>,
    /// Which rows these are.
    filled_rows: DeviceVec<u32>,
    /// All rows.
    rows: usize,
}

/// The product without A's empty rows, by another way to multiply.
pub(super) struct OfFilledRows<V: Scalar, O: Offset, S: ?Sized> {
    a: Hypersparse<V, O>,
    inner: Box<S>,
}

impl<V: Scalar, O: Offset, S: ?Sized> OfFilledRows<V, O, S> {
    /// `inner` is for the rows of `a` that have entries.
    pub(super) fn new(a: Hypersparse<V, O>, inner: Box<S>) -> Self {
        Self { a, inner }
    }

    fn operands<'o>(&'o self, operands: SpgemmOperands<'o, V, O>) -> SpgemmOperands<'o, V, O> {
        SpgemmOperands { a: &self.a.matrix, b: operands.b }
    }
}

impl<V: Scalar, O: Offset, C: Offset, S: Multiply<V, O, C> + ?Sized> Multiply<V, O, C>
    for OfFilledRows<V, O, S>
{
    fn multiply(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        workspace: &Workspace,
    ) -> Result<FirstRun<V, C>, OpError> {
        let _kept = workspace.take("the workspace", self.a.required())?;
        let FirstRun { mut arrays, repeats } = self.inner.multiply(self.operands(operands), workspace)?;
        arrays.row_offsets = self.a.expand(&arrays.row_offsets, workspace)?;
        Ok(FirstRun { arrays, repeats })
    }
}

impl<V: Scalar, O: Offset, C: Offset, S: Strategy<V, O, C> + ?Sized> Strategy<V, O, C>
    for OfFilledRows<V, O, S>
{
    fn again(
        &self,
        operands: SpgemmOperands<'_, V, O>,
        pattern: &DevicePattern<C>,
        workspace: &Workspace,
    ) -> Result<DeviceVec<V>, OpError> {
        let _kept = workspace.take("the workspace", self.a.required())?;
        self.inner.again(self.operands(operands), pattern, workspace)
    }

    fn info(&self) -> Info {
        let info = self.inner.info();
        Info { kept_bytes: info.kept_bytes + self.a.bytes(), ..info }
    }
}

/// Device memory that a matrix takes without its empty rows.
fn required<O: Offset>(rows: usize, nonzeros: usize) -> Requirement {
    let filled = rows.min(nonzeros) as u64;
    let columns = Requirement::of::<u32>(nonzeros as u64);
    // The list has room for the most rows that there may be, and is then copied to its size.
    let found = Requirement::all_of([Requirement::of::<u32>(filled), Requirement::of::<O>(filled + 1)]);
    let states = Requirement::of::<u64>(rows as u64 / 256 + 2);
    Requirement::all_of([columns, found, found, states])
}

impl<V: Scalar, O: Offset> Hypersparse<V, O> {
    /// The matrix, if it is hypersparse and the workspace has room, with its charge; waits for the device.
    pub(super) fn find(
        a: &DeviceCsr<V, O>,
        workspace: &Workspace,
    ) -> Result<Option<(Self, Charge)>, OpError> {
        let (rows, nonzeros) = (a.nrows(), a.nnz());
        let needed = required::<O>(rows, nonzeros);
        if nonzeros == 0 || rows < ROWS_A_NONZERO * nonzeros || !workspace.has_room(needed) {
            return Ok(None);
        }
        let charge = workspace.take("the workspace", needed)?;
        let FilledRows { count, compacted } = FilledRows::find(a.pattern())?;
        let Some((filled_rows, offsets)) = compacted else { return Ok(None) };
        let columns = a.pattern().column_indices.copied()?;
        let matrix = a.with_pattern(DevicePattern::canonical(count as usize, a.ncols(), offsets, columns));
        Ok(Some((Self { matrix, filled_rows, rows }, charge)))
    }

    /// Device memory that it takes.
    fn required(&self) -> Requirement {
        required::<O>(self.rows, self.matrix.nnz())
    }

    /// Bytes of device memory that it holds, without the values.
    fn bytes(&self) -> u64 {
        let pattern = self.matrix.pattern();
        self.filled_rows.bytes() + pattern.row_offsets.bytes() + pattern.column_indices.bytes()
    }

    /// The row offsets of C, of which those of the rows that the matrix has are given.
    fn expand<C: Offset>(
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
