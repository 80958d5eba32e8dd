//! Matrices that have factorizations, made of any square ones.

use evenpath::{Csr, Value};

/// Returns a matrix with the entries beside the diagonal, and a diagonal of 1 plus their magnitudes in the row. It has incomplete
/// factorizations, whose factors do not grow; times do not depend on values.
///
/// # Errors
///
/// If the matrix is not square, or 32 bits do not count its entries, as text.
pub(super) fn dominant<V: Value>(matrix: &Csr<V>) -> Result<Csr<V>, String> {
    let (rows, cols) = matrix.shape();
    if rows != cols {
        return Err(format!("the matrix of a factorization must be square, but is {rows} x {cols}"));
    }
    let most = matrix.nnz() + rows;
    let (mut offsets, mut columns, mut values) =
        (vec![0], Vec::with_capacity(most), Vec::with_capacity(most));
    for (row, entries) in matrix.iter_rows().enumerate() {
        let before = entries.columns().partition_point(|&column| (column as usize) < row);
        let mut diagonal = V::ONE;
        let place = columns.len() + before;
        for (column, value) in entries.iter().filter(|&(column, _)| column as usize != row) {
            if columns.len() == place {
                columns.push(row as u32);
                values.push(V::ZERO);
            }
            columns.push(column);
            values.push(value);
            diagonal += value.abs();
        }
        if columns.len() == place {
            columns.push(row as u32);
            values.push(V::ZERO);
        }
        values[place] = diagonal;
        offsets.push(u32::try_from(columns.len()).map_err(|_| format!("{most} entries are too many"))?);
    }
    Csr::try_new(rows, rows, offsets, columns, values).map_err(|error| error.to_string())
}

/// Returns the symmetric matrix of the entries below the diagonal and a [dominant](dominant) diagonal, which is positive definite.
///
/// # Errors
///
/// Those of [`dominant`], or if there is no memory for the transpose.
pub(super) fn positive_definite<V: Value>(matrix: &Csr<V>) -> Result<Csr<V>, String> {
    let lower = matrix.tril(-1);
    let upper = lower.transpose().map_err(|error| error.to_string())?;
    if lower.shape() != upper.shape() {
        return dominant(matrix);
    }
    let both = (&lower + &upper).map_err(|error| error.to_string())?;
    dominant(&both)
}

/// Returns the number of levels of a triangle: of rows that need each other, one after the other.
pub(super) fn levels<V: Value>(matrix: &Csr<V>, is_upper: bool) -> usize {
    let rows = matrix.nrows();
    let mut levels = vec![0; rows];
    for index in 0..rows {
        let row = if is_upper { rows - 1 - index } else { index };
        let columns = matrix.row(row).map_or(&[][..], |row| row.columns());
        let needed = columns.iter().map(|&column| column as usize);
        let needed = needed.filter(|&column| if is_upper { column > row } else { column < row });
        levels[row] = 1 + needed.map(|column| levels[column]).max().unwrap_or(0);
    }
    levels.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Csr<f64> {
        let entries = [(0, 2, -3.0), (1, 1, 5.0), (2, 0, 2.0), (2, 1, 4.0), (2, 2, -1.0), (3, 1, 0.5)];
        Csr::from_triplets(4, 4, entries).unwrap()
    }

    #[test]
    fn diagonals_dominate() {
        let found = dominant(&matrix()).unwrap();
        let expected = [4.0, 0.0, -3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 4.0, 7.0, 0.0, 0.0, 0.5, 0.0, 1.5];
        assert_eq!((found.to_dense().unwrap(), found.nnz()), (expected.to_vec(), 8));
        assert!(found.is_canonical());
        let wide: Csr<f64> = Csr::from_triplets(1, 2, [(0, 1, 1.0)]).unwrap();
        assert!(dominant(&wide).unwrap_err().contains("1 x 2"));
        assert!(positive_definite(&wide).unwrap_err().contains("1 x 2"));
    }

    #[test]
    fn entries_below_the_diagonal_are_mirrored() {
        let found = positive_definite(&matrix()).unwrap();
        let expected = [3.0, 0.0, 2.0, 0.0, 0.0, 5.5, 4.0, 0.5, 2.0, 4.0, 7.0, 0.0, 0.0, 0.5, 0.0, 1.5];
        assert_eq!(found.to_dense().unwrap(), expected);
    }

    #[test]
    fn levels_follow_each_other() {
        assert_eq!([levels(&matrix(), false), levels(&matrix(), true)], [2, 2]);
        let chain: Csr<f64> = Csr::from_triplets(3, 3, [(1, 0, 1.0), (2, 1, 1.0)]).unwrap();
        assert_eq!([levels(&chain, false), levels(&chain, true)], [3, 1]);
    }
}
