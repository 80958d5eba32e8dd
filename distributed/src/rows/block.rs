//! A block of rows in host memory.

use evenpath::{Csr, Value};

use crate::error::Result;

/// Consecutive rows of a matrix in host memory, with global column numbers, which may exceed 32 bits.
///
/// ```
/// use evenpath_distributed::RowBlock;
///
/// // [0 0 2]
/// // [3 1 0]
/// let mut rows = RowBlock::new(vec![0, 1, 3], vec![2, 1, 0], vec![2.0, 1.0, 3.0])?;
/// rows.canonicalize(); // columns in order
/// assert_eq!(rows.row(1), (&[0, 1][..], &[3.0, 1.0][..]));
/// # Ok::<(), evenpath_distributed::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RowBlock<V> {
    /// Start of each row; one more than rows.
    pub(super) row_offsets: Vec<usize>,
    pub(super) columns: Vec<u64>,
    pub(super) values: Vec<V>,
}

impl<V: Value> RowBlock<V> {
    /// Creates rows from arrays: the entries of row `i` are at positions `row_offsets[i]..row_offsets[i + 1]`
    /// of the others. Columns may be in any order, with duplicates.
    ///
    /// # Errors
    ///
    /// If the offsets do not run from 0 to the number of columns without decreasing, or the numbers of values
    /// and columns differ.
    pub fn new(row_offsets: Vec<usize>, columns: Vec<u64>, values: Vec<V>) -> Result<Self> {
        use evenpath::error::MatrixError;
        let nnz = columns.len();
        if nnz != values.len() {
            return Err(MatrixError::ValuesLength { columns: nnz, values: values.len() }.into());
        }
        match (row_offsets.first(), row_offsets.last()) {
            (Some(0), Some(&last)) if last == nnz => {}
            (Some(0), Some(&last)) => {
                return Err(MatrixError::LastRowOffset { found: last as u64, nnz }.into());
            }
            (Some(&first), _) => return Err(MatrixError::FirstRowOffset { found: first as u64 }.into()),
            (None, _) => return Err(MatrixError::RowOffsetsLength { rows: 0, found: 0 }.into()),
        }
        if let Some(row) = row_offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            let (start, end) = (row_offsets[row] as u64, row_offsets[row + 1] as u64);
            return Err(MatrixError::RowOffsetsDecrease { row, start, end }.into());
        }
        Ok(Self { row_offsets, columns, values })
    }

    /// Creates a block without rows.
    pub fn empty() -> Self {
        Self { row_offsets: vec![0], columns: Vec::new(), values: Vec::new() }
    }

    /// Appends a row.
    pub fn push(&mut self, entries: impl IntoIterator<Item = (u64, V)>) {
        for (column, value) in entries {
            self.columns.push(column);
            self.values.push(value);
        }
        self.row_offsets.push(self.columns.len());
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.row_offsets.len() - 1
    }

    /// Number of entries.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// Start of each row; one more than rows.
    pub fn row_offsets(&self) -> &[usize] {
        &self.row_offsets
    }

    /// Column of each entry, row by row.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// Value of each entry, row by row.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Columns and values of a row; empty if `row` is out of range.
    pub fn row(&self, row: usize) -> (&[u64], &[V]) {
        match self.row_offsets.get(row..row.saturating_add(2)) {
            Some(&[start, end]) => (&self.columns[start..end], &self.values[start..end]),
            _ => (&[], &[]),
        }
    }

    /// Returns the block as a matrix of `cols` columns, which 32 bits count.
    pub(crate) fn to_csr(&self, cols: usize) -> Result<Csr<V, u64>> {
        let row_offsets = self.row_offsets.iter().map(|&offset| offset as u64).collect();
        let columns = self.columns.iter().map(|&column| column as u32).collect();
        Ok(Csr::try_new(self.nrows(), cols, row_offsets, columns, self.values.clone())?)
    }

    /// Entries of a row.
    pub(crate) fn entries(&self, row: usize) -> impl Iterator<Item = (u64, V)> {
        let (columns, values) = self.row(row);
        columns.iter().copied().zip(values.iter().copied())
    }

    /// Sorts every row by column and sums entries of the same column, in storage order.
    pub fn canonicalize(&mut self) {
        let is_canonical = |row: usize| self.row(row).0.is_sorted_by(|a, b| a < b);
        if (0..self.nrows()).all(is_canonical) {
            return;
        }
        let mut result = Self::empty();
        let mut entries: Vec<(u64, V)> = Vec::new();
        for row in 0..self.nrows() {
            entries.clear();
            entries.extend(self.entries(row));
            canonicalize(&mut entries);
            result.push(entries.iter().copied());
        }
        *self = result;
    }

    /// Appends the rows of another block.
    pub(crate) fn append(&mut self, other: &Self) {
        let base = self.columns.len();
        self.row_offsets.extend(other.row_offsets[1..].iter().map(|offset| base + offset));
        self.columns.extend_from_slice(&other.columns);
        self.values.extend_from_slice(&other.values);
    }

    /// Concatenates the rows of two blocks, row by row, and makes them canonical.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        let mut result = Self::empty();
        for row in 0..self.nrows() {
            result.push(self.entries(row).chain(other.entries(row)));
        }
        result.canonicalize();
        result
    }
}

/// Sorts the entries of a row by column and sums those of the same column, in the given order.
pub(crate) fn canonicalize<V: Value>(row: &mut Vec<(u64, V)>) {
    if row.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    row.sort_by_key(|entry| entry.0);
    row.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_checked() {
        let refused = |offsets: &[usize], columns: &[u64], values: &[f64]| {
            RowBlock::new(offsets.to_vec(), columns.to_vec(), values.to_vec()).unwrap_err().to_string()
        };
        assert!(refused(&[], &[], &[]).contains("row_offsets has length 0"));
        assert!(refused(&[1, 1], &[3], &[1.0]).contains("starts with 1"));
        assert!(refused(&[0, 2], &[3], &[1.0]).contains("ends with 2"));
        assert!(refused(&[0, 2, 1], &[3], &[1.0]).contains("decreases from 2 to 1"));
        assert!(refused(&[0, 1], &[3], &[]).contains("values has length 0"));
        let rows = RowBlock::new(vec![0, 1, 3], vec![1, 0, 7], vec![1.0; 3]).unwrap();
        assert_eq!(rows.row(2), (&[][..], &[][..]));
    }

    #[test]
    fn duplicates_are_summed_in_order() {
        let big = 1e16;
        let mut rows = RowBlock::new(vec![0, 4, 4], vec![5, 2, 5, 5], vec![big, 1.0, 1.0, -big]).unwrap();
        rows.canonicalize();
        assert_eq!((rows.row_offsets(), rows.columns()), (&[0, 2, 2][..], &[2, 5][..]));
        assert_eq!(rows.values(), [1.0, (big + 1.0) - big]);
    }
}
