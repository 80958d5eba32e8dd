//! Sorting of a matrix's rows by column, on its device.

use super::DeviceCsr;
use super::transpose::by_column;
use crate::format::csr::DevicePattern;
use crate::operand::{OpError, Pairs};
use crate::sequence::sort;
use crate::{Offset, Value};

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// Copies the matrix, in the same shape, with every row sorted by column; later changes of this matrix's
    /// values do not affect the copy. Entries of the same row and column keep their order; if there are none,
    /// the result is canonical, as sums and products of sparse matrices require.
    /// [`Csr::sort_rows`](crate::Csr::sort_rows) does the same on the host.
    ///
    /// Sorts only the bits that columns have, like
    /// [`sort::pairs_by_offsets`](crate::sort::pairs_by_offsets), and with its temporary memory. Waits
    /// for the device.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a: Csr<f64> = Csr::try_new(2, 3, vec![0, 2, 4], vec![2, 0, 1, 0], vec![1.0, 2.0, 3.0, 4.0])?;
    /// let a = Device::best()?.upload(&a)?;
    /// assert!(a.spadd(1.0, &a, 1.0).is_err()); // not canonical
    /// let sorted = a.sort_rows()?;
    /// assert_eq!(sorted.download()?.column_indices(), [0, 2, 0, 1]);
    /// assert_eq!(sorted.download()?.values(), [2.0, 1.0, 4.0, 3.0]);
    /// assert_eq!(sorted.spadd(1.0, &sorted, 1.0)?.nnz(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are 2³² nonzeros or more, this thread captures a graph, there is too little memory, or the
    /// device was lost.
    pub fn sort_rows(&self) -> Result<Self, OpError> {
        self.device().refuse_in_graph("the rows of a matrix are sorted")?;
        if self.pattern().is_canonical() {
            return Ok(self.copy()?);
        }
        let (pattern, values) = (self.pattern(), self.values_now());
        let DevicePattern { rows, cols, row_offsets, column_indices, .. } = &**pattern;
        let entries = Pairs { keys: column_indices, values: &*values };
        let (column_indices, values) = sort::pairs_by_valid_offsets(row_offsets, entries, by_column(*cols))?;
        let pattern = DevicePattern::new(*rows, *cols, row_offsets.copied()?, column_indices);
        Ok(Self::from_valid(pattern, values))
    }
}
