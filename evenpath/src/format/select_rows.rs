//! Matrices of some rows of a matrix.

use super::DeviceCsr;
use super::listed_rows::{Entries, EntriesMut, ListedRows, Target, listed_offsets};
use crate::device::DeviceSlice;
use crate::format::csr::DevicePattern;
use crate::matrix::check_dimensions;
use crate::operand::OpError;
use crate::{Offset, Storage};

impl<V: Storage, O: Offset> DeviceCsr<V, O> {
    /// Returns the matrix whose row i is row `rows[i]` of this one, in its own memory: later changes of this matrix's values do not
    /// affect it. Rows may be repeated, and in any order; the entries of a row keep theirs. For A of m rows and n columns and a
    /// list of k rows, the result has k rows and n columns.
    ///
    /// Reads and writes each entry of the result once, and takes 17 bytes per row of temporary memory beside the result. Waits for the
    /// device once, for the number of nonzeros. [`Csr::select_rows`](crate::Csr::select_rows) does the same on the host.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(3, 2, [(0, 0, 1.0), (1, 1, 2.0), (2, 0, 3.0)])?)?;
    /// let selected = a.select_rows(&device.upload(&[2, 0, 2, 1])?)?;
    /// assert_eq!(selected.download()?.to_dense()?, [3.0, 0.0, 1.0, 0.0, 3.0, 0.0, 0.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a row does not exist; the error names the first. If there are more than
    /// [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION) rows in the list, or more nonzeros in the result than `O` counts. If the list is
    /// on another device, this thread captures a graph, there is too little memory, or the device was lost.
    pub fn select_rows(&self, rows: &DeviceSlice<u32>) -> Result<Self, OpError> {
        let device = self.device();
        device.check_same(rows.device())?;
        device.refuse_in_graph("a selection of rows waits for the size of its result")?;
        check_dimensions(rows.len(), self.ncols())?;
        let (pattern, values) = (self.pattern(), self.values_now());
        if let (Some(view), Some(rows)) = (pattern.host_view(&values), rows.host_slice()) {
            return Ok(Self::adopt(device, view.select_rows(rows)?)?);
        }
        let (row_offsets, nonzeros) = listed_offsets(pattern, rows)?;
        let (mut columns, mut selected) = (device.uninitialized(nonzeros)?, device.uninitialized(nonzeros)?);
        let listed = ListedRows { list: rows, whole: &pattern.row_offsets, listed: &row_offsets, nonzeros };
        let source = Entries { columns: Some(&pattern.column_indices), values: Some(&values) };
        let target = EntriesMut { columns: Some(&mut columns), values: Some(&mut selected) };
        listed.copy(&listed.tiles()?, source, target, Target::Listed)?;
        // A plan may have found that the rows are sorted.
        let shape = (rows.len(), self.ncols());
        let pattern = DevicePattern::known(shape, row_offsets, columns, pattern.is_canonical());
        Ok(Self::from_valid(pattern, selected))
    }
}
