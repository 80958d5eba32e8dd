//! Blocks of consecutive rows and columns.

use std::ops::Range;

use evenpath_kernels::csr_columns::{ChosenColumns, choice};

use super::DeviceCsr;
use super::chosen_columns::{ChosenEntries, SourceRows};
use super::offsets::offsets_from;
use crate::device::{DeviceVec, no_input};
use crate::format::csr::DevicePattern;
use crate::matrix::check_block_range;
use crate::operand::OpError;
use crate::{Offset, Storage};

impl<V: Storage, O: Offset> DeviceCsr<V, O> {
    /// Returns the block of these rows and columns, for p rows and q columns a p × q matrix in its own memory: later changes of this
    /// matrix's values do not affect it. The entries of a row keep their order.
    ///
    /// Reads the columns of these rows twice, and the values that it copies once; with all columns it is a copy. Waits for the device
    /// once for the nonzeros of the rows, unless all are wanted, and once for those of the block, unless all columns are wanted.
    /// [`Csr::submatrix`](crate::Csr::submatrix) does the same on the host.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(3, 4, [(0, 0, 1.0), (1, 1, 2.0), (1, 3, 3.0), (2, 2, 4.0)])?;
    /// let block = Device::best()?.upload(&a)?.submatrix(1..3, 1..3)?;
    /// assert_eq!(block.download()?.to_dense()?, [2.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a range exceeds the matrix or its start exceeds its end; if this thread captures a graph, there is too little memory, or the
    /// device was lost.
    pub fn submatrix(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Self, OpError> {
        let device = self.device();
        device.refuse_in_graph("a block of a matrix waits for its size")?;
        check_block_range("rows", &rows, self.nrows())?;
        check_block_range("columns", &columns, self.ncols())?;
        let (pattern, values) = (self.pattern(), self.values_now());
        if let Some(view) = pattern.host_view(&values) {
            return Ok(Self::adopt(device, view.submatrix(rows, columns)?)?);
        }
        let (row_offsets, nonzeros) = rows_of(pattern, &rows)?;
        let source = SourceRows {
            row_offsets: &row_offsets,
            columns: &pattern.column_indices.slice(nonzeros.clone())?,
            values: &values.slice(nonzeros)?,
        };
        let entries = if columns.len() == self.ncols() {
            let (mut all_columns, mut all_values) =
                (device.uninitialized(source.columns.len())?, device.uninitialized(source.columns.len())?);
            all_columns.copy_from(source.columns)?;
            all_values.copy_from(source.values)?;
            ChosenEntries { row_offsets, columns: all_columns, values: all_values }
        } else {
            source.choose(ChosenColumns {
                code: choice::RANGE,
                first: columns.start as u32,
                count: columns.len() as u32,
                starts: no_input(),
                positions: no_input(),
            })?
        };
        let shape = (rows.len(), columns.len());
        let block = DevicePattern::known(shape, entries.row_offsets, entries.columns, pattern.is_canonical());
        Ok(Self::from_valid(block, entries.values))
    }
}

/// Offsets of some rows, from zero, and the range of their nonzeros. Waits for the device, unless they are all.
fn rows_of<O: Offset>(
    pattern: &DevicePattern<O>,
    rows: &Range<usize>,
) -> Result<(DeviceVec<O>, Range<usize>), OpError> {
    if rows.len() == pattern.rows {
        return Ok((pattern.row_offsets.copied()?, 0..pattern.column_indices.len()));
    }
    let (begin, end) = (pattern.row_offsets.get(rows.start)?, pattern.row_offsets.get(rows.end)?);
    let offsets = offsets_from(&pattern.row_offsets.slice(rows.start..=rows.end)?, begin)?;
    Ok((offsets, begin.to_usize()..end.to_usize()))
}
