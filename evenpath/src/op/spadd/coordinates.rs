//! Conversions between CSR and COO: row offsets are found by search, columns and values are copied.

use super::operands::countable;
use crate::device::DeviceKind;
use crate::format::csr::DevicePattern;
use crate::format::{DeviceCoo, DeviceCsr, coordinates, transpose};
use crate::operand::OpError;
use crate::{Offset, Scalar};

impl<V: Scalar> DeviceCoo<V> {
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
        let row_offsets = coordinates::row_offsets(row_indices, self.nrows())?;
        let pattern = DevicePattern::new(self.nrows(), self.ncols(), row_offsets, column_indices.copied()?);
        Ok(DeviceCsr::from_valid(pattern, values.copied()?))
    }
}

impl<V: Scalar, O: Offset> DeviceCsr<V, O> {
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

/// The row of each nonzero.
fn rows_of<O: Offset>(row_offsets: &[O]) -> Vec<u32> {
    let lengths = row_offsets.windows(2).map(|pair| pair[1].to_usize() - pair[0].to_usize());
    (0_u32..).zip(lengths).flat_map(|(row, len)| std::iter::repeat_n(row, len)).collect()
}
