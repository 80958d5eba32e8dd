//! Sorting of a matrix's rows by column, on its device.

use super::DeviceCsr;
use super::chosen_columns::gather_values;
use super::transpose::by_column;
use crate::device::{DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::operand::check::check_countable;
use crate::operand::{OpError, Pairs};
use crate::scalar::ForKind;
use crate::sequence::{sort, vector};
use crate::{Offset, Scalar, Storage, Value};

impl<V: Storage, O: Offset> DeviceCsr<V, O> {
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
        let (column_indices, values) = V::by_kind(SortedEntries { pattern, values: &values })?;
        let DevicePattern { rows, cols, row_offsets, .. } = &**pattern;
        let pattern = DevicePattern::new(*rows, *cols, row_offsets.copied()?, column_indices);
        Ok(Self::from_valid(pattern, values))
    }
}

/// The columns and the values of sorted rows.
type Entries<V> = (DeviceVec<u32>, DeviceVec<V>);

/// A matrix whose rows are to be sorted.
struct SortedEntries<'a, V: Storage, O: Offset> {
    pattern: &'a DevicePattern<O>,
    values: &'a DeviceSlice<V>,
}

impl<V: Storage, O: Offset> SortedEntries<'_, V, O> {
    /// Sorts positions in place of values, of which the sort has no such type.
    fn by_positions(self) -> Result<Entries<V>, OpError> {
        let Self { pattern, values } = self;
        if let Some(view) = pattern.host_view(values) {
            let mut sorted = view.submatrix(0..pattern.rows, 0..pattern.cols)?;
            sorted.sort_rows();
            let (_, columns, sorted_values) = sorted.into_parts();
            let device = values.device();
            return Ok((device.adopt(columns)?, device.adopt(sorted_values)?));
        }
        check_countable("sorting the rows of a matrix", values.len())?;
        let numbers = vector::iota(values.device(), values.len() as u32)?;
        let entries = Pairs::new(&pattern.column_indices, &numbers);
        let order = by_column(pattern.cols);
        let (columns, positions) = sort::pairs_by_valid_offsets(&pattern.row_offsets, entries, order)?;
        // SAFETY: the positions are a permutation of the nonzeros, each of which has a value.
        Ok((columns, unsafe { gather_values(values, &positions) }?))
    }
}

impl<V: Storage, O: Offset> ForKind<V> for SortedEntries<'_, V, O> {
    type Output = Result<Entries<V>, OpError>;

    fn value(self) -> Self::Output
    where
        V: Value,
    {
        let Self { pattern, values } = self;
        let entries = Pairs { keys: &*pattern.column_indices, values };
        sort::pairs_by_valid_offsets(&pattern.row_offsets, entries, by_column(pattern.cols))
    }

    fn complex(self) -> Self::Output
    where
        V: Scalar,
    {
        self.by_positions()
    }

    fn half(self) -> Self::Output {
        self.by_positions()
    }
}
