//! Canonical form: the column indices of every row increase strictly.

use super::MatrixError;
use super::blocks::{local_ranges, row_blocks, split_both};
use crate::{Entry, Offset, Scalar, parallel};

/// Treatment of entries with the same row and column.
///
/// ```
/// use evenpath::coo::Duplicates;
/// use evenpath::{Coo, Csr};
///
/// let twice = Coo::from_triplets(1, 2, [(0, 1, 1.0), (0, 1, 2.0)])?;
/// let summed: Csr<f64> = twice.to_csr(Duplicates::Sum)?;
/// assert_eq!((summed.nnz(), summed.get(0, 1)), (1, Some(3.0)));
/// assert_eq!(twice.to_csr(Duplicates::Keep)?.nnz(), 2);
/// assert!(twice.to_csr(Duplicates::Refuse).is_err());
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Summed in storage order. The result is canonical.
    #[default]
    Sum,
    /// Kept, in storage order. Rows are not sorted.
    Keep,
    /// An error. Otherwise the result is canonical.
    Refuse,
}

/// The first row that is not canonical, as (row, previous column, column) of the first column in it that does not exceed the
/// previous one.
pub(crate) fn first_descent<O: Offset>(row_offsets: &[O], columns: &[u32]) -> Option<(usize, u32, u32)> {
    let descent = |row: usize| {
        let columns = &columns[row_offsets[row].to_usize()..row_offsets[row + 1].to_usize()];
        let at = columns.windows(2).position(|pair| pair[0] >= pair[1])?;
        Some((row, columns[at], columns[at + 1]))
    };
    let rows = row_offsets.len().saturating_sub(1);
    parallel::first(rows, 1 << 12, |mut rows| rows.find_map(descent))
}

/// The arrays of a valid CSR matrix, borrowed for changes that keep it valid.
pub(super) struct CsrArraysMut<'a, V, O> {
    pub(super) row_offsets: &'a mut Vec<O>,
    pub(super) column_indices: &'a mut Vec<u32>,
    pub(super) values: &'a mut Vec<V>,
}

impl<V: Entry, O: Offset> CsrArraysMut<'_, V, O> {
    /// Sorts every row by column, stably. Returns the row and column of the first duplicate.
    pub(super) fn sort_rows(&mut self) -> Option<(usize, u32)> {
        let row_offsets = &*self.row_offsets;
        let blocks = row_blocks(row_offsets);
        let parts = split_both(&blocks, row_offsets, self.column_indices, self.values);
        let duplicates = parallel::map_each(parts, |(block, columns, values)| {
            let mut scratch = Vec::new();
            let mut duplicate = None;
            for (row, range) in local_ranges(row_offsets, block) {
                let (columns, values) = (&mut columns[range.clone()], &mut values[range]);
                if columns.windows(2).all(|pair| pair[0] < pair[1]) {
                    continue;
                }
                sort_row(columns, values, &mut scratch);
                duplicate = duplicate.or_else(|| {
                    let at = columns.windows(2).position(|pair| pair[0] == pair[1])?;
                    Some((row, columns[at]))
                });
            }
            duplicate
        });
        // All blocks are sorted, also those after the first duplicate.
        duplicates.into_iter().flatten().next()
    }
}

impl<V: Scalar, O: Offset> CsrArraysMut<'_, V, O> {
    /// Brings the rows into the form selected by `duplicates`.
    ///
    /// Fails only on duplicates with `Refuse`; the rows are sorted even then.
    pub(super) fn canonicalize(&mut self, duplicates: Duplicates) -> Result<(), MatrixError> {
        if duplicates == Duplicates::Keep {
            return Ok(());
        }
        match self.sort_rows() {
            None => Ok(()),
            Some((row, column)) if duplicates == Duplicates::Refuse => {
                Err(MatrixError::Duplicate { row, column })
            }
            Some(_) => {
                self.sum_duplicates();
                Ok(())
            }
        }
    }

    /// Sums adjacent nonzeros with equal columns.
    fn sum_duplicates(&mut self) {
        let row_offsets = &*self.row_offsets;
        let blocks = row_blocks(row_offsets);
        let parts = split_both(&blocks, row_offsets, self.column_indices, self.values);
        // Each block compacts its nonzeros and counts them per row.
        let packed = parallel::map_each(parts, |(block, columns, values)| {
            let mut end = 0;
            let pack = |(_, range): (usize, std::ops::Range<usize>)| {
                let start = end;
                for from in range {
                    if end > start && columns[end - 1] == columns[from] {
                        let value = values[from];
                        values[end - 1] += value;
                    } else {
                        (columns[end], values[end]) = (columns[from], values[from]);
                        end += 1;
                    }
                }
                end - start
            };
            local_ranges(row_offsets, block).map(pack).collect::<Vec<_>>()
        });
        self.close_gaps(&blocks, &packed);
    }

    /// Closes the gaps between the compacted blocks and sets the row offsets; `packed` has the nonzeros per row.
    fn close_gaps(&mut self, blocks: &[std::ops::Range<usize>], packed: &[Vec<usize>]) {
        let mut end = 0;
        for (block, lengths) in blocks.iter().zip(packed) {
            let from = self.row_offsets[block.start].to_usize();
            let len: usize = lengths.iter().sum();
            self.column_indices.copy_within(from..from + len, end);
            self.values.copy_within(from..from + len, end);
            end += len;
        }
        self.column_indices.truncate(end);
        self.values.truncate(end);
        let mut offset = 0;
        for (slot, length) in self.row_offsets[1..].iter_mut().zip(packed.iter().flatten()) {
            offset += length;
            *slot = O::try_from_usize(offset).expect("fewer nonzeros than before");
        }
    }
}

/// Sorts one row by column, stably.
fn sort_row<V: Entry>(columns: &mut [u32], values: &mut [V], scratch: &mut Vec<(u32, V)>) {
    if columns.is_sorted() {
        return;
    }
    scratch.clear();
    scratch.extend(columns.iter().copied().zip(values.iter().copied()));
    scratch.sort_by_key(|&(column, _)| column);
    for (slot, &(column, value)) in columns.iter_mut().zip(values).zip(&*scratch) {
        (*slot.0, *slot.1) = (column, value);
    }
}
