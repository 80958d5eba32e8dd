//! One row of a CSR matrix, and the iterator over all of them.

use std::fmt;
use std::iter::FusedIterator;

use super::CsrView;
use crate::{Entry, Offset};

/// One row: its nonzeros, as two slices of equal length.
///
/// ```
/// let a: evenpath::Csr<f64> = evenpath::Csr::from_triplets(1, 9, [(0, 2, 1.0), (0, 5, 3.0)])?;
/// let row = a.iter_rows().next().expect("a row");
/// assert_eq!((row.columns(), row.values()), (&[2, 5][..], &[1.0, 3.0][..]));
/// assert_eq!(row.iter().map(|(_, value)| value).sum::<f64>(), 4.0);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<'a, V> {
    columns: &'a [u32],
    values: &'a [V],
}

impl<'a, V: Entry> Row<'a, V> {
    pub(super) fn new(columns: &'a [u32], values: &'a [V]) -> Self {
        Self { columns, values }
    }

    /// The number of nonzeros.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns whether the row has no nonzeros.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The column of each nonzero.
    pub fn columns(&self) -> &'a [u32] {
        self.columns
    }

    /// The value of each nonzero.
    pub fn values(&self) -> &'a [V] {
        self.values
    }

    /// The column and value of each nonzero, in storage order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, V)> + use<'a, V> {
        self.columns.iter().copied().zip(self.values.iter().copied())
    }
}

/// Iterator over the rows of a matrix, from the first to the last.
///
/// ```
/// let a: evenpath::Csr<f64> = evenpath::Csr::from_triplets(3, 9, [(0, 2, 1.0), (0, 5, 3.0), (2, 0, 1.0)])?;
/// let lengths: Vec<usize> = a.iter_rows().map(|row| row.len()).collect();
/// assert_eq!(lengths, [2, 0, 1]);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone)]
pub struct Rows<'a, V, O = u32> {
    view: CsrView<'a, V, O>,
    remaining: std::ops::Range<usize>,
}

impl<'a, V: Entry, O: Offset> Rows<'a, V, O> {
    pub(super) fn new(view: CsrView<'a, V, O>) -> Self {
        Self { view, remaining: 0..view.nrows() }
    }
}

impl<'a, V: Entry, O: Offset> Iterator for Rows<'a, V, O> {
    type Item = Row<'a, V>;

    fn next(&mut self) -> Option<Self::Item> {
        self.view.row(self.remaining.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.remaining.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.view.row(self.remaining.nth(n)?)
    }
}

impl<V: Entry, O: Offset> DoubleEndedIterator for Rows<'_, V, O> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.view.row(self.remaining.next_back()?)
    }
}

impl<V: Entry, O: Offset> ExactSizeIterator for Rows<'_, V, O> {}
impl<V: Entry, O: Offset> FusedIterator for Rows<'_, V, O> {}

impl<V: Entry, O: Offset> fmt::Debug for Rows<'_, V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows {:?} of {:?}", self.remaining, self.view)
    }
}

impl<'a, V: Entry, O: Offset> CsrView<'a, V, O> {
    /// Returns the nonzeros of one row, counted from 0; `None` if there is no such row.
    pub fn row(&self, row: usize) -> Option<Row<'a, V>> {
        if row >= self.nrows() {
            return None;
        }
        let range = self.range(row);
        Some(Row::new(&self.column_indices()[range.clone()], &self.values()[range]))
    }

    /// All rows, from the first to the last.
    pub fn iter_rows(&self) -> Rows<'a, V, O> {
        Rows::new(*self)
    }

    /// Iterates over the nonzeros, row by row, as (row, column, value). Rows and columns count from 0.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, V)> + use<'a, V, O> {
        self.iter_rows().enumerate().flat_map(|(row, nonzeros)| {
            nonzeros.iter().map(move |(column, value)| (row, column as usize, value))
        })
    }
}
