//! Starts of rows as bits.

use evenpath_kernels::reduce::MarkRows;

use super::sets::survey;
use crate::MatrixError;
use crate::device::{DeviceSlice, DeviceVec, instance};
use crate::offset::Offset;
use crate::operand::OpError;

/// Row offsets of a matrix in a form that suits rows of any length.
#[derive(Debug)]
pub(crate) struct RowMarks {
    /// One bit per element, set at the start of a row.
    pub(crate) bits: DeviceVec<u32>,
    /// Rows that have elements, in order; the rest is zero.
    pub(crate) filled_rows: DeviceVec<u32>,
}

impl RowMarks {
    /// Creates the marks from row offsets that [`check_row_offsets`] has accepted, for `len` elements, on a
    /// device with kernels.
    pub(crate) fn new<O: Offset>(row_offsets: &DeviceSlice<O>, len: usize) -> Result<Self, OpError> {
        let device = row_offsets.device();
        let rows = row_offsets.len() - 1;
        let launch = device.kernel::<MarkRows<O>>().threads(rows)?;
        let mut marks = Self { bits: device.zeros(len.div_ceil(32))?, filled_rows: device.zeros(rows)? };
        let mut states = device.zeros(launch.grid() as usize + 1)?;
        let kernel = MarkRows {
            row_offsets: row_offsets.as_global(),
            bits: marks.bits.as_global_mut(),
            filled_rows: marks.filled_rows.as_global_mut(),
            states: states.as_global_mut(),
            rows: rows as u32,
        };
        // SAFETY: there are `rows` + 1 offsets, none above `len`, a bit for each of the `len` elements, a word for each
        // row, and the states that the tiles need, all zero; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(marks)
    }

    /// Bytes of device memory, including temporary memory.
    pub(crate) fn bytes(rows: usize, len: usize) -> u64 {
        let tiles = rows.div_ceil(instance::<MarkRows<u32>>().tile_items());
        (rows as u64).saturating_mul(4).saturating_add(4 * len.div_ceil(32) as u64 + 8 * (tiles as u64 + 1))
    }
}

/// Checks that the row offsets are those of a CSR matrix with this number of values; waits for the device
/// once.
pub(crate) fn check_row_offsets<O: Offset, T: bytemuck::Pod>(
    row_offsets: &DeviceSlice<O>,
    values: &DeviceSlice<T>,
) -> Result<(), OpError> {
    values.device().check_same(row_offsets.device())?;
    values.device().refuse_in_graph("row offsets are checked, for which the call waits")?;
    let Some(survey) = survey(row_offsets, "row offsets")? else {
        return Err(MatrixError::RowOffsetsLength { rows: 0, found: 0 }.into());
    };
    let rows = row_offsets.len() - 1;
    if u32::try_from(rows).is_err() {
        return Err(OpError::TooLong { what: "row offsets", len: rows, limit: u32::MAX as usize });
    }
    if let Some(index) = survey.first_descent {
        let (start, end) = (row_offsets.get(index - 1)?.to_u64(), row_offsets.get(index)?.to_u64());
        return Err(MatrixError::RowOffsetsDecrease { row: index - 1, start, end }.into());
    }
    if survey.first != 0 {
        return Err(MatrixError::FirstRowOffset { found: survey.first }.into());
    }
    if survey.last != values.len() as u64 {
        return Err(MatrixError::LastRowOffset { found: survey.last, nnz: values.len() }.into());
    }
    Ok(())
}
