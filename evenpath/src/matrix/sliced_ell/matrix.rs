//! Sliced ELLPACK: rows padded to the longest row of their slice.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::super::limits::PADDING;
use super::super::padding::{self, RowSlots, padded_arrays, slot_bytes};
use super::super::{Csr, CsrView, MatrixError, RowOrder, validate};
use super::options::SlicedEllOptions;
use super::refused::InvalidSlicedEll;
use crate::{Offset, Value, parallel};

/// A sparse matrix in sliced ELLPACK form: slices of `slice_height` consecutive rows, each stored like an
/// [`Ell`](crate::Ell) as wide as its longest row (Monakov, Lokhmotov and Avetisyan, *Automatically tuning sparse
/// matrix-vector multiplication for GPU architectures*, High Performance Embedded Architectures and Compilers 2010).
///
/// Rows may be sorted by length before they are divided into slices, within windows of a few slices so that neighbors stay
/// close. This is SELL-C-σ (Kreutzer, Hager, Wellein, Fehske and Bishop, *A unified sparse matrix data format for efficient
/// general sparse matrix-vector multiplication on modern processors with wide SIMD units*, SIAM J. Sci. Comput. 36, 2014),
/// where C is the slice height and σ the window.
///
/// Slot `j` of row `i` of a slice is at `slice_offsets[slice] + j * slice_height + i`. The last slice is
/// padded to full height. Padding is marked like in [`Ell`](crate::Ell).
///
/// ```
/// use evenpath::ell::SlicedEllOptions;
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(3, 2, [(0, 0, 1.0), (2, 0, 2.0), (2, 1, 3.0)])?;
/// let slices_of_two = SlicedEllOptions::default().with_slice_height(2);
/// assert_eq!(a.to_sliced_ell(slices_of_two)?.slice_offsets(), [0, 2, 6]);
/// let sorted = slices_of_two.with_sorting_scope(4);
/// assert_eq!(a.to_sliced_ell(sorted)?.to_csr()?, a);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct SlicedEll<V> {
    rows: usize,
    cols: usize,
    slice_height: u32,
    slice_offsets: Vec<u64>,
    column_indices: Vec<u32>,
    values: Vec<V>,
    row_order: Option<RowOrder>,
    nnz: usize,
    /// Row lengths by position.
    row_lengths: Vec<u32>,
}

impl<V: Value> SlicedEll<V> {
    /// Builds a matrix of `rows` rows and `cols` columns from its arrays; `row_order` is the order of the
    /// stored rows, `None` if they are not permuted. There are `rows / slice_height` slices, rounded up. The
    /// values of padding are set to 0.
    ///
    /// # Errors
    ///
    /// Unless `slice_height` is not 0; `slice_offsets` has one element per slice plus one, and runs from 0 to the length of
    /// both other arrays without decreasing, in multiples of `slice_height`; all columns are below `cols` or padding; in
    /// each row only padding follows padding; rows of the last slice beyond the matrix are all padding; and `row_order` has
    /// `rows` rows. If there is not enough memory for the row lengths. The error returns the buffers.
    pub fn try_new(
        rows: usize,
        cols: usize,
        slice_height: u32,
        slice_offsets: Vec<u64>,
        column_indices: Vec<u32>,
        mut values: Vec<V>,
        row_order: Option<RowOrder>,
    ) -> Result<Self, InvalidSlicedEll<V>> {
        let arrays =
            SlicedEllPattern { slice_height, slice_offsets: &slice_offsets, column_indices: &column_indices };
        match arrays.check(rows, cols, values.len(), row_order.as_ref()) {
            Ok((nnz, row_lengths)) => {
                padding::clear(&column_indices, &mut values);
                Ok(Self {
                    rows,
                    cols,
                    slice_height,
                    slice_offsets,
                    column_indices,
                    values,
                    row_order,
                    nnz,
                    row_lengths,
                })
            }
            Err(error) => {
                let parts = Box::new((slice_offsets, column_indices, values, row_order));
                Err(InvalidSlicedEll { error, parts })
            }
        }
    }

    /// Returns the arrays: slice offsets, column indices, values, and the row order.
    pub fn into_parts(self) -> (Vec<u64>, Vec<u32>, Vec<V>, Option<RowOrder>) {
        (self.slice_offsets, self.column_indices, self.values, self.row_order)
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of nonzeros, that is, of stored entries: a stored zero counts, padding does not.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Rows per slice.
    pub fn slice_height(&self) -> u32 {
        self.slice_height
    }

    /// Start of each slice, followed by the number of slots.
    pub fn slice_offsets(&self) -> &[u64] {
        &self.slice_offsets
    }

    /// The column of each slot; [`PADDING`](crate::Ell::PADDING) if it has no nonzero.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// The value of each slot.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The order of the stored rows; `None` if they are not permuted.
    pub fn row_order(&self) -> Option<&RowOrder> {
        self.row_order.as_ref()
    }

    /// Bytes of the column indices, values, slice offsets, and the row order if there is one.
    pub fn bytes(&self) -> u64 {
        let order = self.row_order.as_ref().map_or(0, |order| 4 * order.nrows());
        self.values.len() as u64 * slot_bytes::<V>() + (8 * self.slice_offsets.len() + order) as u64
    }

    /// Converts to CSR, with the rows in their original order. The nonzeros of each row keep their order.
    ///
    /// # Errors
    ///
    /// If `O` cannot count the nonzeros.
    pub fn to_csr(&self) -> Result<Csr<V>, MatrixError> {
        self.to_csr_with_offsets()
    }

    /// [`to_csr`](Self::to_csr) with row offsets of type `O`: `u64` counts more entries than `u32`.
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_csr_with_offsets<O: Offset>(&self) -> Result<Csr<V, O>, MatrixError> {
        let Self { slice_height, slice_offsets, column_indices, .. } = self;
        let arrays = SlicedEllPattern { slice_height: *slice_height, slice_offsets, column_indices };
        let Some(order) = &self.row_order else {
            let slots = |row| arrays.slots(row);
            return padding::to_csr(self.cols, &self.row_lengths, slots, column_indices, &self.values);
        };
        let lengths: Vec<u32> =
            order.inverse().iter().map(|&position| self.row_lengths[position as usize]).collect();
        let slots = |row: usize| arrays.slots(order.inverse()[row] as usize);
        padding::to_csr(self.cols, &lengths, slots, column_indices, &self.values)
    }
}

/// The arrays of the pattern.
#[derive(Clone, Copy)]
struct SlicedEllPattern<'a> {
    slice_height: u32,
    slice_offsets: &'a [u64],
    column_indices: &'a [u32],
}

impl SlicedEllPattern<'_> {
    /// Location of the slots of the row at `position`. The offsets must be valid.
    fn slots(&self, position: usize) -> RowSlots {
        let height = self.slice_height as usize;
        let slice = position / height;
        let (begin, end) = (self.slice_offsets[slice] as usize, self.slice_offsets[slice + 1] as usize);
        RowSlots { first: begin + position % height, stride: height, width: (end - begin) / height }
    }

    /// Returns the number of nonzeros, and the row lengths by position.
    fn check(
        &self,
        rows: usize,
        cols: usize,
        values: usize,
        row_order: Option<&RowOrder>,
    ) -> Result<(usize, Vec<u32>), MatrixError> {
        validate::dimensions(rows, cols)?;
        if let Some(order) = row_order.filter(|order| order.nrows() != rows) {
            return Err(MatrixError::RowOrderLength { rows, found: order.nrows() });
        }
        let slots = self.column_indices.len();
        if slots != values {
            return Err(MatrixError::ValuesLength { columns: slots, values });
        }
        self.check_offsets(rows)?;
        let row_of = |position: usize| row_order.map_or(position, |order| order.order()[position] as usize);
        let length = |position: usize| {
            let (row, slots) = (row_of(position), self.slots(position));
            let beyond = slots.places().find(|&place| {
                self.column_indices[place] != PADDING && self.column_indices[place] as usize >= cols
            });
            if let Some(position) = beyond {
                let column = self.column_indices[position] as usize;
                return Err(MatrixError::ColumnOutOfRange { row, position, column, cols });
            }
            slots.length(self.column_indices).map_err(|slot| MatrixError::ColumnBehindPadding { row, slot })
        };
        let lengths = self.row_lengths(rows, length)?;
        self.check_rest(rows)?;
        Ok(lengths)
    }

    /// The number of nonzeros, and the row lengths by `length`. Slices without slots are skipped.
    fn row_lengths(
        &self,
        rows: usize,
        length: impl Fn(usize) -> Result<u32, MatrixError> + Sync,
    ) -> Result<(usize, Vec<u32>), MatrixError> {
        let height = self.slice_height as usize;
        let mut lengths = padding::zero_lengths(rows)?;
        let nnz = AtomicUsize::new(0);
        let error = parallel::chunks_mut_until(&mut lengths, height, |slice, lengths| {
            if self.slice_offsets[slice] == self.slice_offsets[slice + 1] {
                return None;
            }
            let set = padding::set_lengths(slice * height, lengths, &length);
            nnz.fetch_add(lengths.iter().map(|&length| length as usize).sum(), Relaxed);
            set.err()
        });
        error.map_or(Ok((nnz.into_inner(), lengths)), Err)
    }

    /// Checks that the last slice has no nonzeros in rows beyond the matrix.
    fn check_rest(&self, rows: usize) -> Result<(), MatrixError> {
        let height = self.slice_height as usize;
        let begin = self.slice_offsets[rows / height] as usize;
        if rows.is_multiple_of(height) {
            return Ok(());
        }
        let last_slice = &self.column_indices[begin..];
        let is_rest = |place: usize| place % height >= rows % height;
        match last_slice.iter().enumerate().find(|&(place, &column)| is_rest(place) && column != PADDING) {
            None => Ok(()),
            Some((place, _)) => {
                Err(MatrixError::RowTooMany { row: rows / height * height + place % height, rows })
            }
        }
    }

    fn check_offsets(&self, rows: usize) -> Result<(), MatrixError> {
        let (height, offsets) = (self.slice_height, self.slice_offsets);
        if height == 0 {
            return Err(MatrixError::NoSliceHeight);
        }
        let slices = rows.div_ceil(height as usize);
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err(MatrixError::SliceOffsetsLength { slices, found: 0 });
        };
        if offsets.len() - 1 != slices {
            return Err(MatrixError::SliceOffsetsLength { slices, found: offsets.len() });
        }
        let slots = self.column_indices.len();
        if first != 0 || last != slots as u64 {
            return Err(MatrixError::SliceOffsetEnds { first, last, slots });
        }
        let whole = |pair: &[u64]| {
            let slots = pair[1].checked_sub(pair[0]);
            slots
                .is_some_and(|slots| slots % u64::from(height) == 0 && slots / u64::from(height) <= MAX_WIDTH)
        };
        match offsets.windows(2).position(|pair| !whole(pair)) {
            None => Ok(()),
            Some(slice) => {
                let (start, end) = (offsets[slice], offsets[slice + 1]);
                Err(MatrixError::SliceOffset { slice, start, end, height })
            }
        }
    }
}

/// The maximum number of slots per row.
const MAX_WIDTH: u64 = u32::MAX as u64;

impl<V: Value, O: Offset> Csr<V, O> {
    /// Converts to sliced ELL, in the same shape: the rows in slices of
    /// [`slice_height`](SlicedEllOptions::slice_height), each as wide as its longest row. The nonzeros of
    /// each row keep their order.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::ell::SlicedEllOptions;
    ///
    /// let a = Csr::from_triplets(4, 2, [(0, 0, 1.0), (0, 1, 2.0), (2, 0, 3.0), (2, 1, 4.0)])?;
    /// let slices_of_two = SlicedEllOptions::default().with_slice_height(2);
    /// assert_eq!(a.to_sliced_ell(slices_of_two)?.slice_offsets(), [0, 4, 8]);
    /// let sorted = slices_of_two.with_sorting_scope(4); // both empty rows in one slice
    /// assert_eq!(a.to_sliced_ell(sorted)?.slice_offsets(), [0, 4, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the slice height is 0, the padded arrays exceed the limit or the available memory, or a row has 2³² nonzeros or
    /// more.
    pub fn to_sliced_ell(&self, options: SlicedEllOptions) -> Result<SlicedEll<V>, MatrixError> {
        let SlicedEllOptions { slice_height, sorting_scope, limit } = options;
        if slice_height == 0 {
            return Err(MatrixError::NoSliceHeight);
        }
        let matrix = self.view();
        let longest = padding::longest_row(matrix)?;
        let row_order = (sorting_scope > 1).then(|| RowOrder::by_length(matrix, sorting_scope));
        let row_of = |position: usize| match &row_order {
            None => position,
            Some(order) => order.order()[position] as usize,
        };
        let row_lengths = parallel::map(self.nrows(), 1, |at| matrix.range(row_of(at)).len() as u32);
        let widths = row_lengths.chunks(slice_height as usize).map(|slice| slice.iter().copied().max());
        let slot_counts = widths.map(|width| u128::from(width.unwrap_or(0)) * u128::from(slice_height));
        let slots = limit.check::<V>(self.nrows(), longest, self.nnz(), slot_counts.clone().sum())?;
        let mut end = 0;
        let ends = slot_counts.map(|count| {
            end += count as u64;
            end
        });
        let slice_offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let (mut column_indices, mut values) = padded_arrays(self.nrows(), self.nnz(), slots)?;
        fill(matrix, slice_height as usize, &slice_offsets, row_of, &mut column_indices, &mut values);
        let (rows, cols) = self.shape();
        Ok(SlicedEll {
            rows,
            cols,
            slice_height,
            slice_offsets,
            column_indices,
            values,
            row_order,
            nnz: self.nnz(),
            row_lengths,
        })
    }
}

/// Copies the nonzeros to their slots, slices in parallel.
fn fill<V: Value, O: Offset>(
    matrix: CsrView<'_, V, O>,
    height: usize,
    slice_offsets: &[u64],
    row_of: impl Fn(usize) -> usize + Sync,
    mut column_indices: &mut [u32],
    mut values: &mut [V],
) {
    let mut slices = Vec::with_capacity(slice_offsets.len() - 1);
    for (slice, pair) in slice_offsets.windows(2).enumerate() {
        let (columns, own_values);
        (columns, column_indices) = column_indices.split_at_mut((pair[1] - pair[0]) as usize);
        (own_values, values) = values.split_at_mut((pair[1] - pair[0]) as usize);
        slices.push((slice, columns, own_values));
    }
    parallel::for_each(slices, |(slice, columns, values): (usize, &mut [u32], &mut [V])| {
        let first = slice * height;
        for position in first..matrix.nrows().min(first + height) {
            for (slot, nonzero) in matrix.range(row_of(position)).enumerate() {
                let place = slot * height + position - first;
                columns[place] = matrix.column_indices()[nonzero];
                values[place] = matrix.values()[nonzero];
            }
        }
    });
}

impl<V: Value> fmt::Debug for SlicedEll<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz, height) = (self.rows, self.cols, self.nnz(), self.slice_height);
        let slots = self.values.len();
        write!(
            f,
            "SlicedEll<{}> {rows} x {cols}, {nnz} nonzeros in {slots} slots, slices of {height} rows",
            V::NAME
        )
    }
}
