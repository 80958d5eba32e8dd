//! Softmax of the rows of a matrix.

use crate::matrix::{row_blocks, split};
use crate::{Offset, Value, parallel};

/// Replaces each value by its exponential divided by the sum of those of its row, all relative to the maximum of the row. Blocks of
/// rows are computed in parallel.
pub(crate) fn softmax_rows<V: Value, O: Offset>(row_offsets: &[O], values: &mut [V]) {
    let parts = split(&row_blocks(row_offsets), row_offsets, values);
    parallel::for_each(parts, |(rows, values)| {
        let mut rest = values;
        for row in rows {
            let own;
            (own, rest) = rest.split_at_mut(row_offsets[row + 1].to_usize() - row_offsets[row].to_usize());
            softmax(own);
        }
    });
}

fn softmax<V: Value>(row: &mut [V]) {
    // NaN is never greater.
    let greatest = row.iter().fold(-V::INFINITE, |most, &value| if value > most { value } else { most });
    let mut sum = V::ZERO;
    for value in &mut *row {
        *value = (*value - greatest).natural_exp();
        sum += *value;
    }
    for value in row {
        *value = *value / sum;
    }
}
