//! Matrices of some columns of a matrix.

use evenpath_kernels::csr_columns::{CheckColumns, ChosenColumns, choice};

use super::DeviceCsr;
use super::chosen_columns::{ChosenEntries, SourceRows, gather_values};
use super::transpose::{by_column, column_offsets};
use crate::device::{DeviceSlice, DeviceVec, no_input};
use crate::format::csr::DevicePattern;
use crate::matrix::check_dimensions;
use crate::operand::check::check_countable;
use crate::operand::{OpError, Pairs};
use crate::sequence::{sort, vector};
use crate::{MatrixError, Offset, Storage};

impl<V: Storage, O: Offset> DeviceCsr<V, O> {
    /// Returns the matrix whose column j is column `columns[j]` of this one, in its own memory: later changes of this matrix's values do
    /// not affect it. Columns may be repeated, and in any order. For A of m rows and n columns and a list of k columns, the result
    /// has m rows and k columns.
    ///
    /// If no column in the list is less than the one before, the entries of a row keep their order; otherwise the rows of the result are
    /// sorted by column. Either way the result is canonical if A is. [`Csr::select_columns`](crate::Csr::select_columns) does the
    /// same on the host.
    ///
    /// The work is divided by nonzeros of A. Takes temporary memory for four bytes per column of A and per column in the list; in an
    /// order that does not ascend also for eight bytes per nonzero of the result, and that of
    /// [`sort::pairs_by_offsets`](crate::sort::pairs_by_offsets). Waits for the device.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let device = Device::best()?;
    /// let a = device.upload(&Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?)?;
    /// let selected = a.select_columns(&device.upload(&[2, 0, 2])?)?;
    /// assert_eq!(selected.download()?.to_dense()?, [2.0, 1.0, 2.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a column does not exist; the error names the first. If there are more than
    /// [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION) columns in the list, or more nonzeros in the result than `O` counts; in an order
    /// that does not ascend, also if A or the result has 2³² nonzeros or more. If the list is on another device, this thread captures
    /// a graph, there is too little memory, or the device was lost.
    pub fn select_columns(&self, columns: &DeviceSlice<u32>) -> Result<Self, OpError> {
        let device = self.device();
        device.check_same(columns.device())?;
        device.refuse_in_graph("a selection of columns waits for the size of its result")?;
        check_dimensions(self.nrows(), columns.len())?;
        let (pattern, values) = (self.pattern(), self.values_now());
        if let (Some(view), Some(columns)) = (pattern.host_view(&values), columns.host_slice()) {
            return Ok(Self::adopt(device, view.select_columns(columns)?)?);
        }
        let list = ColumnList::new(columns, self.ncols())?;
        let source = SourceRows {
            row_offsets: &pattern.row_offsets,
            columns: &pattern.column_indices,
            values: &values,
        };
        let ChosenEntries { row_offsets, columns: column_indices, values } = if list.positions.is_none() {
            source.choose(list.chosen())?
        } else {
            check_countable("a selection of columns in any order", self.nnz())?;
            let unsorted = source.choose_sources(list.chosen())?;
            let entries = Pairs::new(&unsorted.columns, &unsorted.values);
            let (sorted, sources) =
                sort::pairs_by_valid_offsets(&unsorted.row_offsets, entries, by_column(columns.len()))?;
            // SAFETY: the sources are indices of this matrix's nonzeros, each of which has a value.
            let values = unsafe { gather_values(&values, &sources) }?;
            ChosenEntries { row_offsets: unsorted.row_offsets, columns: sorted, values }
        };
        let shape = (self.nrows(), columns.len());
        let pattern = DevicePattern::known(shape, row_offsets, column_indices, pattern.is_canonical());
        Ok(Self::from_valid(pattern, values))
    }
}

/// A list of columns that exist, sorted.
struct ColumnList {
    /// The number of elements that are less than each column, and the list's length.
    starts: DeviceVec<u32>,
    /// The positions of the elements by column, unless the list ascends.
    positions: Option<DeviceVec<u32>>,
}

impl ColumnList {
    /// Checks and sorts a list of columns below `cols`. Waits for the device.
    fn new(list: &DeviceSlice<u32>, cols: usize) -> Result<Self, OpError> {
        let device = list.device();
        let mut totals = device.zeros(2)?;
        let launch = device.kernel().threads(list.len())?;
        let kernel = CheckColumns {
            list: list.as_global(),
            totals: totals.as_global_mut(),
            cols: cols as u32,
            len: list.len() as u32,
        };
        // SAFETY: the views are of the list, and of two words that are zero; buffers are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        let [missing, descents] = totals.first::<2>()?;
        if missing > 0 {
            let position = list.len() - missing as usize;
            let column = list.get(position)? as usize;
            return Err(MatrixError::ListedColumn { position, column, cols }.into());
        }
        if descents == 0 {
            return Ok(Self { starts: column_offsets(list, cols)?, positions: None });
        }
        let numbers = vector::iota(device, list.len() as u32)?;
        let (sorted, positions) = sort::pairs(Pairs::new(list, &numbers), by_column(cols))?;
        Ok(Self { starts: column_offsets(&sorted, cols)?, positions: Some(positions) })
    }

    /// The list as a kernel argument.
    fn chosen(&self) -> ChosenColumns {
        ChosenColumns {
            code: if self.positions.is_some() { choice::LIST } else { choice::ASCENDING },
            first: 0,
            count: 0,
            starts: self.starts.as_global(),
            positions: self.positions.as_ref().map_or_else(no_input, |positions| positions.as_global()),
        }
    }
}
