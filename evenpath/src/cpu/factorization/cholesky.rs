use super::rows::{FactorizedRows, sum};
use crate::{Offset, Scalar};

/// Factorizes a Hermitian matrix into L·Lᴴ without fill. `rows` are those of L, `factor` has the values of the lower triangle before, with
/// the diagonals multiplied by `diagonal`, and those of L after. Returns the first row whose pivot is not positive.
pub(crate) fn factorize_cholesky<V: Scalar, O: Offset>(
    rows: &FactorizedRows<'_, O>,
    diagonal: V,
    factor: &mut [V],
) -> Option<usize> {
    let mut breakdown = None;
    for row in 0..rows.count() {
        let (begin, own) = (rows.entries(row).start, rows.diagonal(row));
        for entry in begin..own {
            let above = rows.column_indices[entry] as usize;
            let (start, pivot) = (rows.entries(above).start, rows.diagonal(above));
            let product = sum(pivot - start, |at| {
                let found = rows.find(rows.column_indices[start + at], begin..entry);
                found.map_or(V::ZERO, |found| factor[start + at].conj() * factor[found])
            });
            factor[entry] = (factor[entry] - product).divided_by(factor[pivot]);
        }
        let squares = sum(own - begin, |at| factor[begin + at] * factor[begin + at].conj());
        let pivot = diagonal * factor[own] - squares;
        // Not positive for NaN either.
        if !pivot.is_positive() && breakdown.is_none() {
            breakdown = Some(row);
        }
        factor[own] = pivot.real_root();
    }
    breakdown
}
