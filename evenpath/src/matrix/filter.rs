//! Matrices of some of the entries of another.

use evenpath_simt::Element;

use super::{Csr, CsrView, row_blocks};
use crate::{Offset, Scalar, Storage, parallel};

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns a matrix of the same shape with the entries for which `keep` returns true, in their order. It is called
    /// with the row, the column and the value of each entry, on several threads at once.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, -2.0), (1, 0, 3.0)])?;
    /// let positive = a.filter(|_, _, value| value > 0.0);
    /// assert_eq!(positive.to_dense()?, [1.0, 0.0, 3.0, 0.0]);
    /// assert_eq!(a.triu(1).to_dense()?, [0.0, -2.0, 0.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn filter(&self, keep: impl Fn(usize, usize, V) -> bool + Sync) -> Self {
        self.view().filtered(|_, row, column, value| keep(row, column as usize, value))
    }

    /// Returns the entries on diagonal `k` and below it: those whose column is at most their row plus `k`.
    #[must_use]
    pub fn tril(&self, k: i64) -> Self {
        self.filter(|row, column, _| column as i64 - row as i64 <= k)
    }

    /// Returns the entries on diagonal `k` and above it: those whose column is at least their row plus `k`.
    #[must_use]
    pub fn triu(&self, k: i64) -> Self {
        self.filter(|row, column, _| column as i64 - row as i64 >= k)
    }
}

/// Entries of some consecutive rows.
struct Part<V> {
    row_lengths: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<V>,
}

impl<V: Storage, O: Offset> CsrView<'_, V, O> {
    /// Returns the entries for which `keep` returns true, from their position, row, column and value.
    pub(crate) fn filtered(self, keep: impl Fn(usize, usize, u32, V) -> bool + Sync) -> Csr<V, O> {
        let (columns, values) = (self.column_indices(), self.values());
        let parts = parallel::map_each(row_blocks(self.row_offsets()), |rows| {
            let mut part =
                Part { row_lengths: Vec::with_capacity(rows.len()), columns: Vec::new(), values: Vec::new() };
            for row in rows {
                let before = part.columns.len();
                for position in self.range(row).filter(|&at| keep(at, row, columns[at], values[at])) {
                    part.columns.push(columns[position]);
                    part.values.push(values[position]);
                }
                part.row_lengths.push(part.columns.len() - before);
            }
            part
        });
        let kept = parts.iter().map(|part| part.columns.len()).sum();
        let mut row_offsets = Vec::with_capacity(self.nrows() + 1);
        let (mut columns, mut values) = (Vec::with_capacity(kept), Vec::with_capacity(kept));
        let mut end = 0;
        row_offsets.push(O::ZERO);
        for part in parts {
            row_offsets.extend(part.row_lengths.into_iter().map(|len| {
                end += len as u64;
                O::from_bits(end)
            }));
            columns.extend(part.columns);
            values.extend(part.values);
        }
        Csr::from_valid(self.nrows(), self.ncols(), row_offsets, columns, values)
    }
}

impl<V: Scalar, O: Offset> CsrView<'_, V, O> {
    /// Marks the entries with the largest absolute values of each row, `count` at most, of equal ones those stored
    /// first. NaN is larger than any number.
    pub(crate) fn marks_of_largest(self, count: usize) -> Vec<bool> {
        let blocks = row_blocks(self.row_offsets());
        let parts = parallel::map_each(blocks, |rows| {
            let first = self.row_offsets()[rows.start].to_usize();
            let mut marks = vec![false; self.row_offsets()[rows.end].to_usize() - first];
            for row in rows {
                let mut order: Vec<usize> = self.range(row).collect();
                // The bits of absolute values have their order. The sort is stable.
                order.sort_by_key(|&at| std::cmp::Reverse(self.values()[at].absolute().to_bits()));
                order.into_iter().take(count).for_each(|at| marks[at - first] = true);
            }
            marks
        });
        parts.concat()
    }
}
