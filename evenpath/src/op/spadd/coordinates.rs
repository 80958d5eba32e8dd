//! Conversions between CSR and COO: row offsets are found by search, columns and values are copied.

use super::operands::countable;
use crate::device::DeviceKind;
use crate::format::csr::DevicePattern;
use crate::format::{DeviceCoo, DeviceCsr, transpose};
use crate::operand::OpError;
use crate::{Offset, Value};

impl<V: Value> DeviceCoo<V> {
    /// Converts to CSR, in new memory. Entries of a row keep their order.
    ///
    /// # Errors
    ///
    /// If `O` cannot count the entries, there is not enough memory, or the device was lost.
    pub fn to_csr(&self) -> Result<DeviceCsr<V>, OpError> {
        self.to_csr_with_offsets()
    }

    /// [`to_csr`](Self::to_csr) with row offsets of type `O`: `u64` counts more entries than `u32`.
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_csr_with_offsets<O: Offset>(&self) -> Result<DeviceCsr<V, O>, OpError> {
        self.device().refuse_in_graph("a matrix is converted")?;
        countable::<O>(self.nnz() as u64)?;
        let (row_indices, column_indices, values) = self.arrays();
        let row_offsets = match row_indices.host_slice() {
            Some(rows) if self.device().kind() == DeviceKind::Cpu => {
                let mut row_offsets = self.device().zeros(self.nrows() + 1)?;
                row_offsets.host_slice_mut().into_iter().for_each(|offsets| write_offsets(rows, offsets));
                row_offsets
            }
            _ => transpose::column_offsets(row_indices, self.nrows())?,
        };
        let pattern = DevicePattern::new(self.nrows(), self.ncols(), row_offsets, column_indices.copied()?);
        Ok(DeviceCsr::from_valid(pattern, values.copied()?))
    }
}

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Converts to COO, in new memory. Entries keep their order.
    ///
    /// # Errors
    ///
    /// If there is not enough memory, there are more nonzeros than one launch can handle, or the device was lost.
    pub fn to_coo(&self) -> Result<DeviceCoo<V>, OpError> {
        let (device, pattern) = (self.device(), self.pattern());
        device.refuse_in_graph("a matrix is converted")?;
        let row_indices = match pattern.row_offsets.host_slice() {
            Some(offsets) if device.kind() == DeviceKind::Cpu => device.upload(&rows_of(offsets))?,
            _ => transpose::row_indices(self)?,
        };
        let (columns, values) = (pattern.column_indices.copied()?, self.values_now().copied()?);
        Ok(DeviceCoo::from_valid((pattern.rows, pattern.cols), row_indices, columns, values)?)
    }
}

/// Writes the row offsets of entries sorted by row, which `O` can count.
fn write_offsets<O: Offset>(row_indices: &[u32], offsets: &mut [O]) {
    let mut ends = 0;
    for (row, offset) in offsets.iter_mut().enumerate() {
        while row_indices.get(ends).is_some_and(|&other| (other as usize) < row) {
            ends += 1;
        }
        *offset = O::try_from_usize(ends).unwrap_or_else(|| unreachable!("the entries were counted"));
    }
}

/// The row of each nonzero.
fn rows_of<O: Offset>(row_offsets: &[O]) -> Vec<u32> {
    let lengths = row_offsets.windows(2).map(|pair| pair[1].to_usize() - pair[0].to_usize());
    (0_u32..).zip(lengths).flat_map(|(row, len)| std::iter::repeat_n(row, len)).collect()
}
