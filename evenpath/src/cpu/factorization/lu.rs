use super::rows::FactorizedRows;
use crate::{Offset, Scalar};

/// Factorizes a matrix into LU without fill: `factors` has its values before, with the diagonals multiplied by `diagonal`, and those of L
/// and U after. Returns the first row with a pivot of zero.
pub(crate) fn factorize_lu<V: Scalar, O: Offset>(
    rows: &FactorizedRows<'_, O>,
    diagonal: V,
    factors: &mut [V],
) -> Option<usize> {
    let mut breakdown = None;
    for row in 0..rows.count() {
        let (entries, own) = (rows.entries(row), rows.diagonal(row));
        factors[own] = factors[own] * diagonal;
        for entry in entries.start..own {
            let above = rows.column_indices[entry] as usize;
            let pivot = rows.diagonal(above);
            let factor = factors[entry].divided_by(factors[pivot]);
            factors[entry] = factor;
            for at in pivot + 1..rows.entries(above).end {
                if let Some(found) = rows.find(rows.column_indices[at], entry + 1..entries.end) {
                    factors[found] = factors[found] - factor * factors[at];
                }
            }
        }
        if factors[own] == V::ZERO && breakdown.is_none() {
            breakdown = Some(row);
        }
    }
    breakdown
}
