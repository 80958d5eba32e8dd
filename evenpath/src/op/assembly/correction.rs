//! The right-hand side of a matrix with fixed unknowns.

use evenpath_kernels::assembly::{CorrectRows, FIXED_COLUMNS};

use super::fixed::Fixed;
use super::pattern::runs;
use super::triplets::{SortedBy, SortedTriplets, Triplets};
use crate::device::{DeviceError, DeviceSlice, DeviceVec};
use crate::format::coordinates;
use crate::operand::OpError;
use crate::{Value, cpu};

/// Triplets in free rows and fixed columns by row, and the rows of fixed unknowns.
pub(super) struct Correction {
    positions: DeviceVec<u32>,
    columns: DeviceVec<u32>,
    /// Rows that have any.
    rows: DeviceVec<u32>,
    /// First position of each of these rows, and the end.
    run_offsets: DeviceVec<u32>,
}

impl Correction {
    /// Finds the triplets in fixed columns, if an unknown is fixed. Waits for the device.
    pub(super) fn find(triplets: &Triplets<'_>, fixed: &Fixed<'_>) -> Result<Option<Self>, OpError> {
        if fixed.len() == 0 {
            return Ok(None);
        }
        let SortedTriplets { keys, mut positions } = triplets.sorted(fixed, FIXED_COLUMNS, SortedBy::Row)?;
        let (row_indices, mut columns) = coordinates::split_keys(&keys, triplets.column_bits())?;
        drop(keys);
        let (mut rows, mut run_offsets) = runs(&row_indices)?;
        drop(row_indices);
        // The last run has the triplets that do not take part.
        rows.truncate(rows.len() - 1);
        let len = run_offsets.get(run_offsets.len() - 1)? as usize;
        positions.truncate(len);
        columns.truncate(len);
        for array in [&mut positions, &mut columns, &mut rows, &mut run_offsets] {
            array.shrink_to_fit()?;
        }
        Ok(Some(Self { positions, columns, rows, run_offsets }))
    }

    /// Corrects a right-hand side. `values` has one element per triplet, `unknowns` and `rhs` one per unknown, all on the triplets'
    /// device.
    pub(super) fn run<V: Value>(
        &self,
        values: &DeviceSlice<V>,
        unknowns: &DeviceSlice<V>,
        rhs: &mut DeviceSlice<V>,
    ) -> Result<(), DeviceError> {
        let operands = (values.host_slice(), unknowns.host_slice(), rhs.host_slice_mut());
        if let (Some(columns), (Some(values), Some(unknowns), Some(rhs))) = (self.host(), operands) {
            columns.correct(values, unknowns, rhs);
            return Ok(());
        }
        let launch = values.device().kernel().threads(self.rows.len())?;
        let kernel = CorrectRows {
            values: values.as_global(),
            positions: self.positions.as_global(),
            columns: self.columns.as_global(),
            rows: self.rows.as_global(),
            run_offsets: self.run_offsets.as_global(),
            unknowns: unknowns.as_global(),
            rhs: rhs.as_global_mut(),
            runs: self.rows.len() as u32,
        };
        // SAFETY: the rows are distinct and, like the columns, below the length of both vectors; each has a run in the positions,
        // which are those of values or of no triplet; all are on this device, and buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }

    fn host(&self) -> Option<cpu::FixedColumns<'_>> {
        Some(cpu::FixedColumns {
            positions: self.positions.host_slice()?,
            columns: self.columns.host_slice()?,
            rows: self.rows.host_slice()?,
            run_offsets: self.run_offsets.host_slice()?,
        })
    }

    /// Bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        let arrays = [&self.positions, &self.columns, &self.rows, &self.run_offsets];
        arrays.into_iter().map(DeviceVec::bytes).sum()
    }
}
