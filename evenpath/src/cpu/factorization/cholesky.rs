use super::rows::{FactorizedRows, sum};
use crate::{Offset, Scalar};

/// Factorizes a Hermitian matrix into L·Lᴴ without fill. `rows` are those of L, `factor` has the values of the lower triangle before, with
/// the diagonals multiplied by `diagonal`, and those of L after. Returns the first row whose pivot is not positive.
pub(crate) fn factorize_cholesky<V: Scalar, O: Offset>(
    rows: &FactorizedRows<'_, O>,
    diagonal: V,
    factor: &mut [V],
) -> Option<usize> {
    rows.factorize(factor, |row, before, own| {
        let (begin, own_diagonal) = (rows.entries(row).start, rows.diagonal(row));
        for entry in begin..own_diagonal {
            let above = rows.column_indices[entry] as usize;
            let (start, pivot) = (rows.entries(above).start, rows.diagonal(above));
            let product = sum(pivot - start, |at| {
                let found = rows.find(rows.column_indices[start + at], begin..entry);
                found.map_or(V::ZERO, |found| before[start + at].conj() * own[found - begin])
            });
            own[entry - begin] = (own[entry - begin] - product).divided_by(before[pivot]);
        }
        let squares = sum(own_diagonal - begin, |at| own[at] * own[at].conj());
        let pivot = diagonal * own[own_diagonal - begin] - squares;
        own[own_diagonal - begin] = pivot.real_root();
        // Not for NaN either.
        pivot.is_positive()
    })
}
