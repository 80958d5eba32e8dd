//! ELLPACK: all rows padded to the length of the longest.

use std::fmt;

use super::blocks::grain;
use super::limits::PADDING;
use super::padding::{self, PaddingLimit, RowSlots, padded_arrays, slot_bytes};
use super::{Csr, CsrView, InvalidEll, MatrixError, validate};
use crate::parallel::{self, Slots};
use crate::{Offset, Value};

/// Rows per task.
const GRAIN: usize = grain(1 << 10);

/// A sparse matrix in ELLPACK form: every row has as many slots as the longest row has nonzeros. Slot `j` of row `i` is at
/// position `j * rows + i` of the column indices and the values (Bell and Garland, *Implementing sparse matrix-vector
/// multiplication on throughput-oriented processors*, SC 2009).
///
/// Slots after a row's last nonzero are padding: their column is [`PADDING`](Self::PADDING), which no nonzero has, and
/// their value is 0. Stored zeros are therefore preserved. With the row lengths, which are stored too, the format is ELL-R
/// (Vázquez, Fernández and Garzón, *A new approach for sparse matrix vector product on NVIDIA GPUs*, 2011).
///
/// ```
/// use evenpath::ell::{Ell, PaddingLimit};
/// use evenpath::Csr;
///
/// // [1 0 2]
/// // [0 0 3]
/// let a = Csr::try_new(2, 3, vec![0u32, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 3.0])?;
/// let ell = a.to_ell(PaddingLimit::default())?;
/// assert_eq!(ell.column_indices(), [0, 2, 2, Ell::<f64>::PADDING]);
/// assert_eq!(ell.values(), [1.0, 3.0, 2.0, 0.0]);
/// assert_eq!(ell.row_lengths(), [2, 1]);
/// assert_eq!(ell.to_csr()?, a);
///
/// // A limit is checked before anything is allocated.
/// let refused = a.to_ell(PaddingLimit::Bytes(40)).unwrap_err();
/// assert_eq!(refused.to_string(), "2 rows padded to up to 2 nonzeros take 48 bytes: the limit is 40");
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Ell<V> {
    rows: usize,
    cols: usize,
    width: usize,
    nnz: usize,
    row_lengths: Vec<u32>,
    column_indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: Value> Ell<V> {
    /// The column index that marks padding.
    pub const PADDING: u32 = PADDING;

    /// Builds a matrix of `rows` rows and `cols` columns with `width` slots per row from its arrays, which
    /// have one element per slot. The values of padding are set to 0.
    ///
    /// # Errors
    ///
    /// Unless both arrays have length `rows * width`, all columns are below `cols` or padding, and in each row only
    /// padding follows padding; if there is not enough memory for the row lengths. The error returns the buffers.
    pub fn try_new(
        rows: usize,
        cols: usize,
        width: usize,
        column_indices: Vec<u32>,
        mut values: Vec<V>,
    ) -> Result<Self, InvalidEll<V>> {
        match check(rows, cols, width, &column_indices, values.len()) {
            Ok(row_lengths) => {
                padding::clear(&column_indices, &mut values);
                Ok(Self::from_valid((rows, cols), width, row_lengths, column_indices, values))
            }
            Err(error) => Err(InvalidEll { error, column_indices, values }),
        }
    }

    fn from_valid(
        (rows, cols): (usize, usize),
        width: usize,
        row_lengths: Vec<u32>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Self {
        let nnz = if width == 0 { 0 } else { padding::sum(&row_lengths) };
        Self { rows, cols, width, nnz, row_lengths, column_indices, values }
    }

    /// Returns the arrays: column indices and values, slot by slot.
    pub fn into_parts(self) -> (Vec<u32>, Vec<V>) {
        (self.column_indices, self.values)
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

    /// Slots per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of nonzeros of each row, which ELL-R adds.
    pub fn row_lengths(&self) -> &[u32] {
        &self.row_lengths
    }

    /// The column of each slot; [`PADDING`](Self::PADDING) if it has no nonzero.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// The value of each slot.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Bytes of the column indices and values. ELL-R takes 4 bytes more per row.
    pub fn bytes(&self) -> u64 {
        self.values.len() as u64 * slot_bytes::<V>()
    }

    /// Converts to CSR. The nonzeros of each row keep their order.
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
        let slots = |row| RowSlots { first: row, stride: self.rows, width: self.width };
        padding::to_csr(self.cols, &self.row_lengths, slots, &self.column_indices, &self.values)
    }

    /// The first `width` nonzeros of every row. The caller has checked the memory limit.
    pub(super) fn of_first<O: Offset>(
        matrix: CsrView<'_, V, O>,
        width: usize,
        slots: usize,
    ) -> Result<Self, MatrixError> {
        let (rows, cols, nnz) = (matrix.nrows(), matrix.ncols(), matrix.nnz());
        let (mut column_indices, mut values) = padded_arrays(rows, nnz, slots)?;
        let mut row_lengths = padding::zero_lengths(rows)?;
        let (column_slots, value_slots) = (Slots::new(&mut column_indices), Slots::new(&mut values));
        parallel::chunks_mut(&mut row_lengths, GRAIN, |chunk, lengths| {
            for (row, length) in (chunk * GRAIN..).zip(lengths) {
                let nonzeros = matrix.range(row).take(width);
                *length = nonzeros.len() as u32;
                let places = RowSlots { first: row, stride: rows, width }.places();
                for (nonzero, place) in nonzeros.zip(places) {
                    // SAFETY: the index is below `rows * width`, the length of both arrays, and belongs to this row, which
                    // one task handles.
                    unsafe {
                        column_slots.write(place, matrix.column_indices()[nonzero]);
                        value_slots.write(place, matrix.values()[nonzero]);
                    }
                }
            }
        });
        Ok(Self::from_valid((rows, cols), width, row_lengths, column_indices, values))
    }
}

/// Checks the arrays of an ELL matrix with `values` values; returns the row lengths.
fn check(
    rows: usize,
    cols: usize,
    width: usize,
    column_indices: &[u32],
    values: usize,
) -> Result<Vec<u32>, MatrixError> {
    validate::dimensions(rows, cols)?;
    let slots = column_indices.len();
    if rows.checked_mul(width) != Some(slots) {
        return Err(MatrixError::SlotCount { rows, width, found: slots });
    }
    if slots != values {
        return Err(MatrixError::ValuesLength { columns: slots, values });
    }
    if u32::try_from(width).is_err() {
        return Err(MatrixError::RowTooLong { row: 0, nonzeros: width });
    }
    if let Some(position) = validate::first_beyond_or_padding(column_indices, cols) {
        let (row, column) = (position % rows, column_indices[position] as usize);
        return Err(MatrixError::ColumnOutOfRange { row, position, column, cols });
    }
    let length = |row| {
        let slots = RowSlots { first: row, stride: rows, width };
        slots.length(column_indices).map_err(|slot| MatrixError::ColumnBehindPadding { row, slot })
    };
    let mut row_lengths = padding::zero_lengths(rows)?;
    if width > 0 {
        padding::set_lengths(0, &mut row_lengths, length)?;
    }
    Ok(row_lengths)
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Converts to ELL, in the same shape, with as many slots per row as the longest row has nonzeros. The
    /// nonzeros of each row keep their order.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::ell::PaddingLimit;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 2, 3.0)])?;
    /// let ell = a.to_ell(PaddingLimit::default())?;
    /// assert_eq!((ell.width(), ell.values().len()), (2, 4)); // three nonzeros, and one slot of padding
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the padded arrays exceed `limit` or the available memory, or a row has 2³² nonzeros or more.
    pub fn to_ell(&self, limit: PaddingLimit) -> Result<Ell<V>, MatrixError> {
        let matrix = self.view();
        let width = padding::longest_row(matrix)?;
        let slots =
            limit.check::<V>(self.nrows(), width, self.nnz(), self.nrows() as u128 * width as u128)?;
        Ell::of_first(matrix, width, slots)
    }
}

impl<V: Value> fmt::Debug for Ell<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz, width) = (self.rows, self.cols, self.nnz(), self.width);
        write!(f, "Ell<{}> {rows} x {cols}, {nnz} nonzeros, {width} slots per row", V::NAME)
    }
}
