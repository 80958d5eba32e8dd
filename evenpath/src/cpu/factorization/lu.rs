use super::rows::FactorizedRows;
use crate::{Offset, Scalar};

/// Factorizes a matrix into LU without fill: `factors` has its values before, with the diagonals multiplied by `diagonal`, and those of L
/// and U after. Returns the first row with a pivot of zero.
pub(crate) fn factorize_lu<V: Scalar, O: Offset>(
    rows: &FactorizedRows<'_, O>,
    diagonal: V,
    factors: &mut [V],
) -> Option<usize> {
    rows.factorize(factors, |row, before, own| {
        let (entries, own_diagonal) = (rows.entries(row), rows.diagonal(row));
        let start = entries.start;
        own[own_diagonal - start] = own[own_diagonal - start] * diagonal;
        for entry in start..own_diagonal {
            let above = rows.column_indices[entry] as usize;
            let pivot = rows.diagonal(above);
            let factor = own[entry - start].divided_by(before[pivot]);
            own[entry - start] = factor;
            for (at, &value) in before[..rows.entries(above).end].iter().enumerate().skip(pivot + 1) {
                if let Some(found) = rows.find(rows.column_indices[at], entry + 1..entries.end) {
                    own[found - start] = own[found - start] - factor * value;
                }
            }
        }
        own[own_diagonal - start] != V::ZERO
    })
}
