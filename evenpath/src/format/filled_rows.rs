//! Rows of a matrix that have nonzeros.

use evenpath_kernels::RowMap;
use evenpath_kernels::spmv::FlatCompactRows;

use super::row_order::row_map;
use crate::Offset;
use crate::device::DeviceVec;
use crate::format::csr::DevicePattern;
use crate::operand::OpError;

/// Rows that have nonzeros, if others have none.
pub(crate) struct FilledRows<O: Offset> {
    pub(crate) count: u32,
    /// The rows and their offsets, with one more offset; `None` if every row has nonzeros.
    pub(crate) compacted: Option<(DeviceVec<u32>, DeviceVec<O>)>,
}

impl<O: Offset> FilledRows<O> {
    /// Finds the rows; waits for the device.
    pub(crate) fn find(pattern: &DevicePattern<O>) -> Result<Self, OpError> {
        let device = pattern.row_offsets.device();
        let (rows, nonzeros) = (pattern.rows, pattern.column_indices.len());
        if rows == 0 || nonzeros == 0 {
            return Ok(Self { count: 0, compacted: None });
        }
        let launch = device.kernel().threads(rows)?;
        let mut filled_rows = device.uninitialized(rows.min(nonzeros))?;
        let mut filled_offsets = device.uninitialized(rows.min(nonzeros) + 1)?;
        let mut count = device.uninitialized(1)?;
        let mut states = device.zeros(launch.grid() as usize + 1)?;
        let compact = FlatCompactRows {
            pattern: pattern.view(),
            filled_rows: filled_rows.as_global_mut(),
            filled_offsets: filled_offsets.as_global_mut(),
            count: count.as_global_mut(),
            states: states.as_global_mut(),
        };
        // SAFETY: there are `rows` + 1 offsets, a word for each row that has nonzeros, one more offset, and the states
        // that the blocks need, all zero; buffers are freed in the stream's order.
        unsafe { launch.launch(compact) }?;
        let count: u32 = count.get(0)?;
        if count as usize == rows {
            return Ok(Self { count, compacted: None });
        }
        filled_rows.truncate(count as usize);
        filled_offsets.truncate(count as usize + 1);
        filled_rows.shrink_to_fit()?;
        filled_offsets.shrink_to_fit()?;
        Ok(Self { count, compacted: Some((filled_rows, filled_offsets)) })
    }

    /// Maps to the rows of the matrix.
    pub(crate) fn map(&self) -> RowMap {
        row_map(self.compacted.as_ref().map(|(rows, _)| rows))
    }

    /// Size in bytes of device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.compacted.as_ref().map_or(0, |(rows, offsets)| rows.bytes() + offsets.bytes())
    }

    /// Restricts a pattern to these rows.
    pub(crate) fn pattern(
        &self,
        pattern: evenpath_kernels::GlobalPattern<O>,
    ) -> evenpath_kernels::GlobalPattern<O> {
        match &self.compacted {
            Some((_, offsets)) => evenpath_kernels::GlobalPattern {
                row_offsets: offsets.as_global(),
                rows: self.count,
                ..pattern
            },
            None => evenpath_kernels::GlobalPattern { rows: self.count, ..pattern },
        }
    }
}
