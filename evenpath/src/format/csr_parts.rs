//! CSR matrices from arrays that are on a device, and back.

use std::sync::Arc;

use super::DeviceCsr;
use crate::device::{DeviceError, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::matrix::{check_csr, check_dimensions};
use crate::operand::OpError;
use crate::operation::Operator;
use crate::sequence::reduce;
use crate::sequence::row_marks::check_row_offsets;
use crate::{Entry, MatrixError, Offset};

/// Number of column indices in one reduction for the maximum.
const PORTION: usize = 1 << 30;

impl<V: Entry, O: Offset> DeviceCsr<V, O> {
    /// Creates a matrix of `rows` rows and `cols` columns from its arrays: `rows + 1` row offsets, and the
    /// column and value of each nonzero, row by row. They are checked on the device, for which the call
    /// waits; columns of a row need not increase.
    ///
    /// ```
    /// use evenpath::{Device, DeviceCsr};
    ///
    /// let device = Device::best()?;
    /// let (row_offsets, columns) = (device.upload(&[0_u32, 1, 2])?, device.upload(&[2_u32, 0])?);
    /// let a = DeviceCsr::try_new(2, 3, row_offsets, columns, device.upload(&[1.0, 2.0])?)?;
    /// assert_eq!(a.download()?.to_dense()?, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the arrays are invalid, with the reason, or not on one device; if a graph writes one of the first
    /// two, or the device was lost.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_offsets: DeviceVec<O>,
        column_indices: DeviceVec<u32>,
        values: DeviceVec<V>,
    ) -> Result<Self, OpError> {
        check_dimensions(rows, cols)?;
        let device = row_offsets.device();
        device.refuse_in_graph("the arrays of a matrix are checked")?;
        device.check_same(column_indices.device())?;
        device.check_same(values.device())?;
        let (found, nnz) = (row_offsets.len(), column_indices.len());
        if found != rows + 1 {
            return Err(MatrixError::RowOffsetsLength { rows, found }.into());
        }
        if nnz != values.len() {
            return Err(MatrixError::ValuesLength { columns: nnz, values: values.len() }.into());
        }
        check_row_offsets(&row_offsets, &column_indices)?;
        if column_indices.is_in_graph() {
            return Err(DeviceError::WrittenByGraph { what: "column indices" }.into());
        }
        if largest(&column_indices)?.is_some_and(|largest| largest as usize >= cols) {
            // Finds the reason.
            check_csr(rows, cols, &row_offsets.download()?, &column_indices.download()?, nnz)?;
        }
        Ok(Self::from_valid(DevicePattern::new(rows, cols, row_offsets, column_indices), values))
    }

    /// Returns the arrays, in device memory: the row offsets, one more than there are rows, and the column
    /// index and value of each nonzero. They are the matrix's own if no clone and no plan shares them,
    /// otherwise copies.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 2, 1.0), (1, 0, 2.0)])?;
    /// let transposed = Device::best()?.upload(&a)?.transpose()?;
    /// let (row_offsets, columns, values) = transposed.into_parts()?;
    /// assert_eq!(row_offsets.download()?, [0, 1, 1, 2]);
    /// assert_eq!((columns.download()?, values.download()?), (vec![1, 0], vec![2.0, 1.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory for a required copy, or the device was lost.
    #[expect(clippy::type_complexity)] // the three arrays
    pub fn into_parts(self) -> Result<(DeviceVec<O>, DeviceVec<u32>, DeviceVec<V>), DeviceError> {
        let (pattern, values) = self.into_shared();
        let values = match Arc::try_unwrap(values) {
            Ok(values) => values.into_vector()?,
            Err(shared) => shared.now().copied()?,
        };
        let (row_offsets, column_indices) = match Arc::try_unwrap(pattern) {
            Ok(DevicePattern { row_offsets, column_indices, .. }) => (row_offsets, column_indices),
            Err(shared) => (shared.row_offsets.copied()?, shared.column_indices.copied()?),
        };
        Ok((row_offsets, column_indices, values))
    }
}

/// Largest index, if any. Waits for the device.
fn largest(indices: &DeviceSlice<u32>) -> Result<Option<u32>, OpError> {
    let mut largest = None;
    for start in (0..indices.len()).step_by(PORTION) {
        let portion = indices.slice(start..indices.len().min(start + PORTION))?;
        let ends = indices.device().upload(&[0, portion.len() as u32])?;
        let of_portion = reduce::by_offsets(&ends, &portion, Operator::Max)?.get(0)?;
        largest = largest.max(Some(of_portion));
    }
    Ok(largest)
}
