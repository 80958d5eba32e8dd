use std::fmt;

use super::super::limits::MAX_BLOCK_SIZE;
use super::super::{InvalidBsr, MatrixError, validate};
use crate::{Offset, Value, parallel};

/// A sparse matrix in block compressed sparse row form: dense blocks of b rows and b columns. b is the block size, from 1 to
/// [`MAX_BLOCK_SIZE`].
///
/// A block row is b rows, a block column b columns. The blocks of block row `i` are at positions
/// `row_offsets[i] .. row_offsets[i + 1]` of `column_indices`, which has their block columns. Block `p` has the values
/// `p * b * b .. (p + 1) * b * b`, row by row. Block columns may be in any order, and duplicates represent their
/// sum, like the columns of a [`Csr`](crate::Csr).
///
/// Where the number of rows or columns is not a multiple of b, the last block row or column is padded: values beyond the
/// matrix are stored, and 0. One column index for b² values makes products faster if blocks are well filled;
/// [`Csr::block_fill`](crate::Csr::block_fill) tells by how many values of blocks a matrix has a nonzero. Elements of x
/// that meet only the zeros that fill blocks are multiplied too: infinities give NaN.
///
/// ```
/// use evenpath::Csr;
///
/// // [1 2 . .]
/// // [3 4 . .]
/// // [. . 5 .]
/// let a = Csr::from_triplets(3, 4, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 1, 4.0), (2, 2, 5.0)])?;
/// let bsr = a.to_bsr(2)?;
/// assert_eq!(bsr.row_offsets(), [0, 1, 2]);
/// assert_eq!(bsr.column_indices(), [0, 1]);
/// assert_eq!(bsr.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0]);
/// assert_eq!(bsr.to_csr()?, a);
/// assert_eq!(a.to_bsr(33).unwrap_err().to_string(), "block size 33 is not from 1 to 32");
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Bsr<V, O = u32> {
    rows: usize,
    cols: usize,
    block_size: usize,
    row_offsets: Vec<O>,
    column_indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: Value, O: Offset> Bsr<V, O> {
    /// Builds a matrix of `rows` rows and `cols` columns from its arrays, with blocks of `block_size` rows and columns: one
    /// row offset per block row and one more, the block column of each block, and the values of each block, row by row.
    /// Values beyond the matrix are set to 0.
    ///
    /// ```
    /// use evenpath::bsr::Bsr;
    ///
    /// let a = Bsr::try_new(2, 4, 2, vec![0_u32, 1], vec![1], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(a.to_csr()?.to_dense()?, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0]);
    ///
    /// let refused = Bsr::try_new(2, 4, 2, vec![0_u32, 1], vec![2], vec![1.0; 4]).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "blocks of 2 x 2: column 2 at position 0, in row 0, is out of range: the matrix has 2 columns"
    /// );
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Unless the block size is from 1 to [`MAX_BLOCK_SIZE`]; `row_offsets` has one element per block row and one more, and
    /// runs from 0 to the number of blocks without decreasing; all block columns are inside the matrix; and there are
    /// `block_size * block_size` values per block. The error returns the buffers.
    pub fn try_new(
        rows: usize,
        cols: usize,
        block_size: usize,
        row_offsets: Vec<O>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Result<Self, InvalidBsr<V, O>> {
        match check((rows, cols), block_size, &row_offsets, &column_indices, values.len()) {
            Ok(()) => {
                let mut matrix = Self { rows, cols, block_size, row_offsets, column_indices, values };
                matrix.clear_padding();
                Ok(matrix)
            }
            Err(error) => Err(InvalidBsr { error, row_offsets, column_indices, values }),
        }
    }

    /// Builds a matrix from arrays that [`try_new`](Self::try_new) would accept, with zeros beyond the matrix, unchecked.
    pub(crate) fn from_valid(
        (rows, cols): (usize, usize),
        block_size: usize,
        row_offsets: Vec<O>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Self {
        debug_assert_eq!(
            check((rows, cols), block_size, &row_offsets, &column_indices, values.len()),
            Ok(())
        );
        Self { rows, cols, block_size, row_offsets, column_indices, values }
    }

    /// Sets values beyond the matrix to 0.
    fn clear_padding(&mut self) {
        let (size, rows, cols) = (self.block_size, self.rows, self.cols);
        if rows % size != 0 {
            let first = self.row_offsets[rows / size].to_usize();
            for block in self.values[first * size * size..].chunks_exact_mut(size * size) {
                block[rows % size * size..].fill(V::ZERO);
            }
        }
        if cols % size != 0 {
            let (last, columns) = ((cols / size) as u32, &self.column_indices);
            parallel::chunks_mut(&mut self.values, size * size, |block, values| {
                if columns[block] == last {
                    values.chunks_exact_mut(size).for_each(|row| row[cols % size..].fill(V::ZERO));
                }
            });
        }
    }

    /// Returns the arrays: row offsets, column indices, values.
    pub fn into_parts(self) -> (Vec<O>, Vec<u32>, Vec<V>) {
        (self.row_offsets, self.column_indices, self.values)
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
        (self.rows, self.cols)
    }

    /// Rows of a block, and columns of a block.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    /// Number of block rows: the number of rows over the block size, rounded up.
    pub fn block_rows(&self) -> usize {
        self.rows.div_ceil(self.block_size)
    }

    /// Number of block columns: the number of columns over the block size, rounded up.
    pub fn block_cols(&self) -> usize {
        self.cols.div_ceil(self.block_size)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.column_indices.len()
    }

    /// First block of each block row, followed by the number of blocks.
    pub fn row_offsets(&self) -> &[O] {
        &self.row_offsets
    }

    /// The block column of each block.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// The values of each block, row by row.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Bytes of the arrays.
    pub fn bytes(&self) -> u64 {
        let Self { row_offsets, column_indices, values, .. } = self;
        (size_of_val(&row_offsets[..]) + size_of_val(&column_indices[..]) + size_of_val(&values[..])) as u64
    }
}

/// Checks a block size.
pub(super) fn check_block_size(size: usize) -> Result<(), MatrixError> {
    if (1..=MAX_BLOCK_SIZE).contains(&size) { Ok(()) } else { Err(MatrixError::BlockSize { size }) }
}

/// Checks the arrays of a matrix with `values` values.
fn check<O: Offset>(
    (rows, cols): (usize, usize),
    size: usize,
    row_offsets: &[O],
    column_indices: &[u32],
    values: usize,
) -> Result<(), MatrixError> {
    validate::dimensions(rows, cols)?;
    check_block_size(size)?;
    let (block_rows, block_cols, blocks) = (rows.div_ceil(size), cols.div_ceil(size), column_indices.len());
    validate::csr(block_rows, block_cols, row_offsets, column_indices, blocks)
        .map_err(|error| MatrixError::InBlocks { size, error: Box::new(error) })?;
    if blocks.checked_mul(size * size) == Some(values) {
        return Ok(());
    }
    Err(MatrixError::BlockValues { blocks, size, found: values })
}

impl<V: Value, O: Offset> fmt::Debug for Bsr<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, blocks, size) = (self.rows, self.cols, self.blocks(), self.block_size);
        write!(f, "Bsr<{}, {}> {rows} x {cols}, {blocks} blocks of {size} x {size}", V::NAME, O::NAME)
    }
}
