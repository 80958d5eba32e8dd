//! The dense matrices of a product.

use std::ops::Range;

/// A dense operand.
#[derive(Clone, Copy)]
pub(crate) struct Dense<'a, T> {
    pub(crate) values: &'a [T],
    /// Distance in elements from one row to the next, and from one column to the next.
    pub(crate) strides: (usize, usize),
}

/// The dense result, with as many rows as the sparse matrix.
pub(crate) struct DenseMut<'a, T> {
    pub(crate) values: &'a mut [T],
    pub(crate) columns: usize,
    pub(crate) by_columns: bool,
    /// Distance in elements between consecutive rows or columns, depending on the layout.
    pub(crate) leading_dimension: usize,
}

/// A range of rows of C.
pub(super) enum DenseRowsMut<'a, T> {
    /// Elements starting at the first row.
    Rows(&'a mut [T], usize),
    /// The part of each column in these rows.
    Columns(Vec<&'a mut [T]>),
}

impl<'a, T> DenseMut<'a, T> {
    /// Splits the matrix by blocks that cover its rows.
    pub(super) fn split(self, blocks: &[Range<usize>], rows: usize) -> Vec<DenseRowsMut<'a, T>> {
        let Self { values, columns, by_columns, leading_dimension } = self;
        if columns == 0 {
            return blocks.iter().map(|_| DenseRowsMut::Columns(Vec::new())).collect();
        }
        if by_columns {
            let mut parts: Vec<Vec<&mut [T]>> = blocks.iter().map(|_| Vec::with_capacity(columns)).collect();
            for column in values.chunks_mut(leading_dimension.max(1)).take(columns) {
                let mut rest = &mut column[..rows];
                for (block, part) in blocks.iter().zip(&mut parts) {
                    let own;
                    (own, rest) = rest.split_at_mut(block.len());
                    part.push(own);
                }
            }
            return parts.into_iter().map(DenseRowsMut::Columns).collect();
        }
        let mut rest = values;
        let mut parts = Vec::with_capacity(blocks.len());
        for block in blocks {
            let own;
            // The last row may be shorter than the leading dimension.
            (own, rest) = rest.split_at_mut((block.len() * leading_dimension).min(rest.len()));
            parts.push(DenseRowsMut::Rows(own, leading_dimension));
        }
        parts
    }
}
