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
    Ok(both.filter(|row, column, _| row != column))
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
        assert_eq!(edges.tril(-1).column_indices(), [0, 1]);
        let wide: Csr<f64> = Csr::from_triplets(1, 2, [(0, 1, 1.0)]).unwrap();
        assert!(undirected(&wide).unwrap_err().contains("1 x 2"));
    }
}
