//! Row permutations, and the longest rows of their warps.

use std::cmp::Reverse;

use rayon::slice::ParallelSliceMut;

use crate::matrix::blocks::{row_blocks, split_both};
use crate::matrix::{Csr, CsrView, MatrixError, validate};
use crate::{Offset, Value, parallel};

/// Threads per warp; also rows per warp, with one row per thread.
pub(super) const WARP_SIZE: usize = evenpath_simt::thread::WARP_SIZE as usize;

/// A permutation of the rows of a matrix, with its inverse.
///
/// With one row per thread, sorting rows by length gives the threads of a warp equal work, but separates neighboring
/// rows, which often share elements of x (Prata, Muranho and Gomes, *Impact of row sorting on the sparse matrix-vector
/// product on GPU*).
///
/// ```
/// use evenpath::row_order::RowOrder;
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 3.0)])?;
/// let (sorted, order) = a.sort_rows_by_length();
/// assert_eq!(order.order(), [1, 0]); // the longest row first
/// assert_eq!(sorted, a.permute_rows(&RowOrder::try_new(vec![1, 0])?)?);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOrder {
    order: Vec<u32>,
    inverse: Vec<u32>,
}

impl RowOrder {
    /// Builds an order of as many rows as `order` has elements: `order[i]` is the row at position `i`.
    ///
    /// # Errors
    ///
    /// Unless `order` contains every row below its length exactly once.
    pub fn try_new(order: Vec<u32>) -> Result<Self, MatrixError> {
        validate::dimensions(order.len(), 0)?;
        let mut inverse = vec![u32::MAX; order.len()];
        for (position, &row) in order.iter().enumerate() {
            match inverse.get_mut(row as usize) {
                // `u32::MAX` marks a free slot: positions are smaller.
                Some(slot) if *slot == u32::MAX => *slot = position as u32,
                _ => return Err(MatrixError::NotAnOrder { position, row: row as usize, rows: order.len() }),
            }
        }
        Ok(Self { order, inverse })
    }

    /// Builds an order from a permutation and its inverse, unchecked.
    pub(crate) fn from_valid(order: Vec<u32>, inverse: Vec<u32>) -> Self {
        Self { order, inverse }
    }

    /// Longest rows first, stably, within each window of `scope` rows: the σ of SELL-C-σ.
    pub(crate) fn by_length<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, scope: usize) -> Self {
        Self::inverted(rows_by_length(matrix, scope))
    }

    /// Builds an order from a permutation, unchecked.
    pub(super) fn inverted(order: Vec<u32>) -> Self {
        let mut inverse = vec![0; order.len()];
        for (position, &row) in order.iter().enumerate() {
            inverse[row as usize] = position as u32;
        }
        Self { order, inverse }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.order.len()
    }

    /// The row at each position.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The position of each row.
    pub fn inverse(&self) -> &[u32] {
        &self.inverse
    }

    /// The longest row of each warp (LRW) before and after putting the rows of `matrix` into this order.
    ///
    /// # Errors
    ///
    /// If the matrix has a different number of rows.
    pub fn longest_rows<V: Value, O: Offset>(&self, matrix: &Csr<V, O>) -> Result<LongestRows, MatrixError> {
        self.check(matrix.nrows())?;
        let length = |row: u32| matrix.view().range(row as usize).len();
        let longest = |order: &[u32]| {
            of_each_warp(order, |rows| rows.iter().map(|&row| length(row)).max().unwrap_or(0))
        };
        Ok(LongestRows { before: longest(&as_stored(self.nrows())), after: longest(&self.order) })
    }

    pub(crate) fn check(&self, rows: usize) -> Result<(), MatrixError> {
        if rows == self.nrows() {
            Ok(())
        } else {
            Err(MatrixError::RowOrderLength { rows, found: self.nrows() })
        }
    }
}

/// The longest row of each warp (LRW), with one row per thread: it determines how long all 32 threads take.
/// (Row-sorting study, section V.C and Table 5.)
///
/// ```
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(64, 64, (0..64).flat_map(|row| (0..1 + row % 2 * 5).map(move |col| (row, col, 1.0))))?;
/// let (_, order) = a.sort_rows_by_length();
/// let warps = order.longest_rows(&a)?;
/// assert_eq!((warps.before, warps.after), (vec![6, 6], vec![6, 1])); // 32 rows each
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LongestRows {
    /// In the original order, one element per warp.
    pub before: Vec<usize>,
    /// In the new order, one element per warp.
    pub after: Vec<usize>,
}

impl LongestRows {
    /// Mean before; 0 if there are no rows.
    pub fn mean_before(&self) -> f64 {
        mean(&self.before)
    }

    /// Mean after; 0 if there are no rows.
    pub fn mean_after(&self) -> f64 {
        mean(&self.after)
    }

    /// The mean after divided by the mean before; 1 if both are 0. On a GPU of 2009, the study found that sorting pays
    /// if this is 0.66 or less.
    pub fn ratio(&self) -> f64 {
        let (before, after) = (self.mean_before(), self.mean_after());
        if before == 0.0 { 1.0 } else { after / before }
    }
}

/// The rows in the order in which the matrix has them.
pub(super) fn as_stored(rows: usize) -> Vec<u32> {
    (0..rows as u32).collect()
}

/// Returns a result for the rows of each warp, with one row per thread.
pub(super) fn of_each_warp<T: Send>(order: &[u32], result: impl Fn(&[u32]) -> T + Sync) -> Vec<T> {
    parallel::map(order.len().div_ceil(WARP_SIZE), 1, |warp| {
        let rows = &order[warp * WARP_SIZE..];
        result(&rows[..rows.len().min(WARP_SIZE)])
    })
}

fn mean(lengths: &[usize]) -> f64 {
    // Exact up to 2⁵³ nonzeros.
    lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64
}

/// The rows by length, longest first, stably, within each window of `scope` rows.
pub(super) fn rows_by_length<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, scope: usize) -> Vec<u32> {
    let (mut order, row_offsets) = (as_stored(matrix.nrows()), matrix.row_offsets());
    let length = |&row: &u32| {
        let row = row as usize;
        Reverse(row_offsets[row + 1].to_usize() - row_offsets[row].to_usize())
    };
    if scope >= order.len() {
        order.par_sort_by_key(length);
    } else {
        parallel::chunks_mut(&mut order, scope.max(1), |_, scope| scope.sort_by_key(length));
    }
    order
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Sorts the rows by length, longest first, stably. Returns the sorted matrix, of the same shape, and the
    /// row order.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(3, 2, [(0, 0, 1.0), (2, 0, 2.0), (2, 1, 3.0)])?;
    /// let (sorted, order) = a.sort_rows_by_length();
    /// assert_eq!(order.order(), [2, 0, 1]);
    /// assert_eq!(order.inverse(), [1, 2, 0]);
    /// assert_eq!(sorted.row(0), a.row(2));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    #[must_use]
    pub fn sort_rows_by_length(&self) -> (Self, RowOrder) {
        self.sort_rows_within(usize::MAX)
    }

    /// Sorts the rows by length, longest first, stably, within each window of `window` consecutive rows: the σ of
    /// SELL-C-σ (Kreutzer and others, 2014). Short windows keep neighboring rows closer together; those of up to one row keep
    /// the order. Returns the sorted matrix, of the same shape, and the row order.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(4, 2, [(1, 0, 1.0), (2, 0, 2.0), (3, 0, 3.0), (3, 1, 4.0)])?;
    /// let (_, order) = a.sort_rows_within(2);
    /// assert_eq!(order.order(), [1, 0, 3, 2]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    #[must_use]
    pub fn sort_rows_within(&self, window: usize) -> (Self, RowOrder) {
        let order = RowOrder::by_length(self.view(), window);
        (self.in_order(&order), order)
    }

    /// Permutes the rows: row `i` of the result is row `order[i]` of this matrix. Matrix and order have the
    /// same number of rows.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::row_order::RowOrder;
    ///
    /// let a = Csr::from_triplets(3, 2, [(0, 0, 1.0), (1, 1, 2.0), (2, 0, 3.0)])?;
    /// let permuted = a.permute_rows(&RowOrder::try_new(vec![2, 0, 1])?)?;
    /// assert_eq!(permuted.to_dense()?, [3.0, 0.0, 1.0, 0.0, 0.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the order has a different number of rows.
    pub fn permute_rows(&self, order: &RowOrder) -> Result<Self, MatrixError> {
        order.check(self.nrows())?;
        Ok(self.in_order(order))
    }

    pub(super) fn in_order(&self, order: &RowOrder) -> Self {
        let matrix = self.view();
        let mut offsets: Vec<O> = Vec::with_capacity(self.nrows() + 1);
        let mut end = 0;
        offsets.push(O::ZERO);
        for &row in order.order() {
            end += matrix.range(row as usize).len();
            offsets.push(O::try_from_usize(end).expect("offsets count no more than before"));
        }
        let (mut columns, mut values) = (vec![0; self.nnz()], vec![V::ZERO; self.nnz()]);
        let blocks = row_blocks(&offsets);
        let parts = split_both(&blocks, &offsets, &mut columns, &mut values);
        parallel::for_each(parts, |(block, columns, values)| {
            let nonzeros = block.flat_map(|position| matrix.range(order.order()[position] as usize));
            for ((column, value), nonzero) in columns.iter_mut().zip(values).zip(nonzeros) {
                (*column, *value) = (self.column_indices()[nonzero], self.values()[nonzero]);
            }
        });
        Self::from_valid(self.nrows(), self.ncols(), offsets, columns, values)
    }
}
