//! Compressed sparse rows: the format that most operations take.

use std::fmt;

use super::canonical::{CsrArraysMut, Duplicates};
use super::{CsrView, InvalidCsr, MatrixError, Row, Rows, Statistics, validate};
use crate::memory::try_zeroed;
use crate::{ConvertTo, Entry, Offset, Scalar, Storage, parallel};

/// A sparse matrix in compressed sparse row form.
///
/// The nonzeros of row `i` are at positions `row_offsets[i] .. row_offsets[i + 1]` of `column_indices` and `values`. The
/// arrays are checked once, on construction. The columns of a row may be in any order. Duplicates are allowed and
/// represent their sum. A matrix is *canonical* if the columns of every row increase strictly; some operations need that
/// ([`canonicalize`](Self::canonicalize)).
///
/// ```
/// use evenpath::Csr;
///
/// // [1 0 2]
/// // [0 0 3]
/// let a = Csr::try_new(2, 3, vec![0u32, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 3.0])?;
/// assert_eq!(a.to_dense()?, [1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
/// assert_eq!((a.get(1, 2), a.get(1, 0)), (Some(3.0), None));
/// assert_eq!((&a * &[1.0, 10.0, 100.0])?, [201.0, 300.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Csr<V, O = u32> {
    rows: usize,
    cols: usize,
    row_offsets: Vec<O>,
    column_indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: Entry, O: Offset> Csr<V, O> {
    /// Builds a matrix of `rows` rows and `cols` columns from its arrays: `rows + 1` row offsets, and the
    /// column and value of each nonzero, row by row.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let (row_offsets, columns, values) = (vec![0u32, 2, 3], vec![0, 2, 7], vec![1.0, 2.0, 3.0]);
    /// let refused = Csr::try_new(2, 3, row_offsets, columns, values).unwrap_err();
    /// assert_eq!(refused.to_string(), "column 7 at position 2, in row 1, is out of range: the matrix has 3 columns");
    ///
    /// let (row_offsets, mut columns, values) = refused.into_parts(); // the arrays come back
    /// columns[2] = 1;
    /// let a = Csr::try_new(2, 3, row_offsets, columns, values)?;
    /// assert_eq!(a.get(1, 1), Some(3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Unless `row_offsets` has length `rows + 1` and runs from 0 to the number of nonzeros without decreasing,
    /// `column_indices` and `values` have one element per nonzero, and all columns are below `cols`. The error returns
    /// the buffers.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_offsets: Vec<O>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Result<Self, InvalidCsr<V, O>> {
        match validate::csr(rows, cols, &row_offsets, &column_indices, values.len()) {
            Ok(()) => Ok(Self { rows, cols, row_offsets, column_indices, values }),
            Err(error) => Err(InvalidCsr { error, row_offsets, column_indices, values }),
        }
    }

    /// Builds a matrix from arrays that [`try_new`](Self::try_new) would accept, unchecked. Operations rely on that.
    pub(crate) fn from_valid(
        rows: usize,
        cols: usize,
        row_offsets: Vec<O>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Self {
        debug_assert_eq!(validate::csr(rows, cols, &row_offsets, &column_indices, values.len()), Ok(()));
        Self { rows, cols, row_offsets, column_indices, values }
    }

    /// A matrix without nonzeros.
    ///
    /// # Errors
    ///
    /// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or there is not enough memory for the row
    /// offsets.
    pub fn empty(rows: usize, cols: usize) -> Result<Self, MatrixError> {
        validate::dimensions(rows, cols)?;
        let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz: 0 };
        let row_offsets = try_zeroed(rows + 1).map_err(out_of_memory)?;
        Ok(Self::from_valid(rows, cols, row_offsets, Vec::new(), Vec::new()))
    }

    /// Returns the arrays: row offsets, column indices, values.
    pub fn into_parts(self) -> (Vec<O>, Vec<u32>, Vec<V>) {
        (self.row_offsets, self.column_indices, self.values)
    }

    /// Borrows the matrix.
    pub fn view(&self) -> CsrView<'_, V, O> {
        CsrView::from_valid(self.rows, self.cols, &self.row_offsets, &self.column_indices, &self.values)
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

    /// Number of nonzeros, that is, of stored entries: a stored zero counts.
    pub fn nnz(&self) -> usize {
        self.column_indices.len()
    }

    /// Start of each row: `rows + 1` offsets, from 0 to `nnz`.
    pub fn row_offsets(&self) -> &[O] {
        &self.row_offsets
    }

    /// The column of each nonzero, row by row.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// The value of each nonzero, row by row.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The value of each nonzero, mutable. The pattern cannot be changed.
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// Returns the nonzeros of one row, counted from 0; `None` if there is no such row.
    ///
    /// ```
    /// let a = evenpath::Csr::from_triplets(2, 9, [(1, 2, 1.0), (1, 5, 3.0)])?;
    /// assert_eq!(a.row(1).map(|row| row.columns()), Some(&[2, 5][..]));
    /// assert_eq!(a.row(1).map(|row| row.values()), Some(&[1.0, 3.0][..]));
    /// assert_eq!(a.row(0).map(|row| row.len()), Some(0));
    /// assert_eq!(a.row(2), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn row(&self, row: usize) -> Option<Row<'_, V>> {
        self.view().row(row)
    }

    /// All rows, from the first to the last.
    pub fn iter_rows(&self) -> Rows<'_, V, O> {
        self.view().iter_rows()
    }

    /// Iterates over the nonzeros, row by row, as (row, column, value). Rows and columns count from 0.
    ///
    /// ```
    /// let a = evenpath::Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let trace: f64 = a.iter().filter(|&(row, column, _)| row == column).map(|(_, _, value)| value).sum();
    /// assert_eq!(trace, 4.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, V)> + use<'_, V, O> {
        self.view().iter()
    }

    /// Checks that every row is sorted by column, without duplicates.
    ///
    /// # Errors
    ///
    /// Names the first row that is not.
    pub fn check_canonical(&self) -> Result<(), MatrixError> {
        self.view().check_canonical()
    }

    /// Returns whether every row is sorted by column without duplicates.
    pub fn is_canonical(&self) -> bool {
        self.view().is_canonical()
    }

    /// Statistics of the row lengths.
    pub fn statistics(&self) -> Statistics {
        self.view().statistics()
    }

    /// Sorts every row by column. Entries with the same column keep their order; if there are none, the matrix is then
    /// canonical.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let mut a: Csr<f64> = Csr::try_new(1, 3, vec![0, 3], vec![2, 0, 2], vec![1.0, 2.0, 3.0])?;
    /// a.sort_rows();
    /// assert_eq!((a.column_indices(), a.values()), (&[0, 2, 2][..], &[2.0, 1.0, 3.0][..]));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn sort_rows(&mut self) {
        let Self { row_offsets, column_indices, values, .. } = self;
        CsrArraysMut { row_offsets, column_indices, values }.sort_rows();
    }

    /// Converts the row offsets to another type.
    ///
    /// # Errors
    ///
    /// If `P` cannot count the nonzeros. The error returns the buffers.
    pub fn try_into_offsets<P: Offset>(self) -> Result<Csr<V, P>, InvalidCsr<V, O>> {
        let Self { rows, cols, row_offsets, column_indices, values } = self;
        // The last offset is the greatest.
        if P::try_from_usize(values.len()).is_none() {
            let error = MatrixError::offset_overflow::<P>(values.len());
            return Err(InvalidCsr { error, row_offsets, column_indices, values });
        }
        let row_offsets = parallel::map(row_offsets.len(), 1, |row| P::from_bits(row_offsets[row].to_u64()));
        Ok(Csr { rows, cols, row_offsets, column_indices, values })
    }

    /// Converts each value to another type by a function, such as to integers for a [semiring](crate::semiring).
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 0, 1.5), (0, 1, 2.5)])?;
    /// let lengths: Csr<u32> = a.convert_values(|value| (10.0 * value) as u32);
    /// assert_eq!(lengths.values(), [15, 25]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    #[must_use]
    pub fn convert_values<W: Entry>(self, mut value: impl FnMut(V) -> W) -> Csr<W, O> {
        let Self { rows, cols, row_offsets, column_indices, values } = self;
        let values = values.into_iter().map(&mut value).collect();
        Csr { rows, cols, row_offsets, column_indices, values }
    }
}

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Converts the values to another type, rounding to nearest, ties to even. Values out of range become infinite.
    #[must_use]
    pub fn into_values<W: Storage>(self) -> Csr<W, O>
    where
        V: ConvertTo<W>,
    {
        let Self { rows, cols, row_offsets, column_indices, values } = self;
        let values = parallel::map(values.len(), 1, |at| values[at].convert());
        Csr { rows, cols, row_offsets, column_indices, values }
    }
}

impl<V: Scalar> Csr<V> {}

/// Methods that need arithmetic, which the 16-bit types lack.
impl<V: Scalar, O: Offset> Csr<V, O> {
    /// The value at (`row`, `col`), the sum of duplicates; `None` if nothing is stored there. Takes time linear in the
    /// row's length.
    pub fn get(&self, row: usize, col: usize) -> Option<V> {
        self.view().get(row, col)
    }

    /// Sorts every row by column and sums duplicates in storage order.
    pub fn canonicalize(&mut self) {
        let summed = self.apply(Duplicates::Sum);
        debug_assert_eq!(summed, Ok(()));
    }

    /// The row offsets, and the values to be changed.
    pub(super) fn offsets_and_values_mut(&mut self) -> (&[O], &mut [V]) {
        (&self.row_offsets, &mut self.values)
    }

    /// The columns, and the values to be changed.
    pub(super) fn columns_and_values_mut(&mut self) -> (&[u32], &mut [V]) {
        (&self.column_indices, &mut self.values)
    }

    pub(super) fn apply(&mut self, duplicates: Duplicates) -> Result<(), MatrixError> {
        let Self { row_offsets, column_indices, values, .. } = self;
        CsrArraysMut { row_offsets, column_indices, values }.canonicalize(duplicates)
    }

    /// Returns Aᵀ, for A of m rows and n columns a matrix of n rows and m columns. Its rows are sorted; it
    /// has duplicates only if A has.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// // [1 0 2]
    /// // [0 0 3]
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 2, 3.0)])?;
    /// let transposed = a.transpose()?;
    /// assert_eq!(transposed.shape(), (3, 2));
    /// assert_eq!(transposed.to_dense()?, [1.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory. The transpose needs one row offset per column of A.
    pub fn transpose(&self) -> Result<Self, MatrixError> {
        self.view().transpose()
    }

    /// Returns Aᴴ, the conjugate transpose, for A of m rows and n columns a matrix of n rows and m columns. Otherwise like
    /// [`transpose`](Self::transpose), which it is for real values.
    ///
    /// ```
    /// use evenpath::{Complex, Csr};
    ///
    /// let i = Complex::new(0.0, 1.0);
    /// let a = Csr::from_triplets(1, 2, [(0, 0, i), (0, 1, 2.0 + i)])?;
    /// assert_eq!(a.conjugate_transpose()?.values(), [-i, 2.0 - i]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`transpose`](Self::transpose).
    pub fn conjugate_transpose(&self) -> Result<Self, MatrixError> {
        let mut transposed = self.transpose()?;
        transposed.conjugate();
        Ok(transposed)
    }

    /// All `rows * cols` values, row-major. Duplicates are summed.
    ///
    /// # Errors
    ///
    /// If the values do not fit in memory.
    pub fn to_dense(&self) -> Result<Vec<V>, MatrixError> {
        self.view().to_dense()
    }
}

impl<V: Entry, O: Offset> PartialEq for Csr<V, O> {
    /// Compares shapes and arrays: equal matrices whose nonzeros are in different orders are unequal.
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl<V: Entry, O: Offset> fmt::Debug for Csr<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.rows, self.cols, self.nnz());
        write!(f, "Csr<{}, {}> {rows} x {cols}, {nnz} nonzeros", V::NAME, O::NAME)
    }
}

impl<V: Entry, O: Offset> CsrView<'_, V, O> {
    /// Copies the arrays into an owned matrix.
    pub fn to_owned(&self) -> Csr<V, O> {
        let (columns, values) = (self.column_indices().to_vec(), self.values().to_vec());
        Csr::from_valid(self.nrows(), self.ncols(), self.row_offsets().to_vec(), columns, values)
    }
}
