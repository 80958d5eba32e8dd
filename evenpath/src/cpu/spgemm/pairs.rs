//! Products sorted by column, for rows of C that are much wider than their number of products.

use crate::Scalar;

/// The products of a row with their columns.
#[derive(Default)]
pub(super) struct Pairs<V>(Vec<(u32, V)>);

impl<V: Scalar> Pairs<V> {
    pub(super) fn bytes(&self) -> usize {
        size_of::<(u32, V)>() * self.0.capacity()
    }

    /// Adds the products of a number and a row of B.
    pub(super) fn add(&mut self, left: V, columns: &[u32], values: &[V]) {
        self.0.extend(columns.iter().zip(values).map(|(&column, &right)| (column, left * right)));
    }

    /// Writes the columns, ascending, and the sums of their products in the order in which they were added,
    /// and clears them. Returns the number of columns.
    pub(super) fn drain(&mut self, columns: &mut [u32], values: &mut [V]) -> usize {
        // A stable sort keeps the products of a column in order.
        self.0.sort_by_key(|&(column, _)| column);
        let mut found = 0;
        for products in self.0.chunk_by(|a, b| a.0 == b.0) {
            if let Some((first, rest)) = products.split_first() {
                columns[found] = first.0;
                values[found] = rest.iter().fold(first.1, |sum, &(_, product)| sum + product);
                found += 1;
            }
        }
        self.0.clear();
        found
    }
}
