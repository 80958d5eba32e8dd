//! The arrays of C.

use super::workspace::{Charge, Workspace};
use crate::device::{Device, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Entry, Offset, operand};

/// The arrays of C.
pub(in crate::op::spgemm) struct ProductArrays<V: Entry, C: Offset> {
    pub(in crate::op::spgemm) row_offsets: DeviceVec<C>,
    pub(in crate::op::spgemm) column_indices: DeviceVec<u32>,
    pub(in crate::op::spgemm) values: DeviceVec<V>,
}

impl<V: Entry, C: Offset> ProductArrays<V, C> {
    /// The pattern of C, of `rows` rows and `cols` columns, and the values.
    pub(in crate::op::spgemm) fn into_pattern(
        self,
        rows: usize,
        cols: usize,
    ) -> (DevicePattern<C>, DeviceVec<V>) {
        let Self { row_offsets, column_indices, values } = self;
        (DevicePattern::canonical(rows, cols, row_offsets, column_indices), values)
    }
}

/// The number of nonzeros of C, if its row offsets count them.
pub(in crate::op::spgemm) fn countable<C: Offset>(nonzeros: u64) -> Result<usize, OpError> {
    operand::countable::<C>(nonzeros, "row offsets of u64 (spgemm_with_offsets::<u64>) count them")
}

/// Device memory of C.
pub(in crate::op::spgemm) fn result_required<V: Entry, C: Offset>(rows: usize, nonzeros: u64) -> Requirement {
    Requirement::all_of([
        Requirement::of::<u32>(nonzeros),
        Requirement::of::<V>(nonzeros),
        Requirement::of::<C>(rows as u64 + 1),
    ])
}

/// Room for the columns and values of C, and the charge for all its arrays.
pub(in crate::op::spgemm) fn result_arrays<V: Entry, C: Offset>(
    device: &Device,
    rows: usize,
    nonzeros: u64,
    workspace: &Workspace,
) -> Result<(DeviceVec<u32>, DeviceVec<V>, Charge), OpError> {
    let len = countable::<C>(nonzeros)?;
    let charge = workspace.take("the result", result_required::<V, C>(rows, nonzeros))?;
    Ok((device.uninitialized(len)?, device.uninitialized(len)?, charge))
}
