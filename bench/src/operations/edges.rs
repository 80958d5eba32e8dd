//! Undirected graphs made of matrices.

use evenpath::{Csr, Value};

/// The graph whose edges are the nonzeros of a square matrix: both directions of each edge are stored, in order, and no vertex has an
/// edge to itself. Values are not negative, and the same in both directions.
///
/// # Errors
///
/// If the matrix is not square, or there is no memory for another one.
pub(super) fn undirected<V: Value>(matrix: &Csr<V>) -> Result<Csr<V>, String> {
    let (rows, cols) = matrix.shape();
    if rows != cols {
        return Err(format!("the matrix of a graph must be square, but is {rows} x {cols}"));
    }
    let mut lengths = matrix.clone();
    lengths.values_mut().iter_mut().for_each(|value| *value = value.abs());
    let transpose = lengths.transpose().map_err(|error| error.to_string())?;
    let both = (&lengths + &transpose).map_err(|error| error.to_string())?;
    entries_where(&both, |row, column| row != column)
}

/// The entries below the diagonal.
pub(super) fn below_diagonal<V: Value>(matrix: &Csr<V>) -> Result<Csr<V>, String> {
    entries_where(matrix, |row, column| row > column)
}

fn entries_where<V: Value>(
    matrix: &Csr<V>,
    is_kept: impl Fn(usize, usize) -> bool,
) -> Result<Csr<V>, String> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for (row, entries) in matrix.iter_rows().enumerate() {
        for (column, value) in entries.iter().filter(|&(column, _)| is_kept(row, column as usize)) {
            columns.push(column);
            values.push(value);
        }
        offsets.push(columns.len() as u32);
    }
    let kept = Csr::try_new(matrix.nrows(), matrix.ncols(), offsets, columns, values);
    kept.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_have_both_directions_and_no_loops() {
        let matrix: Csr<f64> =
            Csr::from_triplets(3, 3, [(0, 0, 5.0), (0, 2, -1.0), (2, 0, 2.0), (2, 1, 4.0)]).unwrap();
        let edges = undirected(&matrix).unwrap();
        assert_eq!(edges.to_dense().unwrap(), [0.0, 0.0, 3.0, 0.0, 0.0, 4.0, 3.0, 4.0, 0.0]);
        assert_eq!((edges.nnz(), edges.is_canonical()), (4, true));
        assert_eq!(below_diagonal(&edges).unwrap().column_indices(), [0, 1]);
        let wide: Csr<f64> = Csr::from_triplets(1, 2, [(0, 1, 1.0)]).unwrap();
        assert!(undirected(&wide).unwrap_err().contains("1 x 2"));
    }
}
