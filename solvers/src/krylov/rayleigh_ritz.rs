//! The small eigenproblem of LOBPCG, on the host.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Approximations from a space: the smallest eigenvalues, and the coefficients of their vectors in its basis.
pub(crate) struct Ritz {
    pub(crate) values: Vec<f64>,
    /// One row for each vector of the basis, one column for each value.
    pub(crate) vectors: DMatrix<f64>,
    /// The largest absolute value of all in the space.
    pub(crate) largest: f64,
}

/// Why there are no approximations.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRitz {
    NotANumber,
    /// The basis has fewer independent vectors than values are wanted.
    Dependent,
}

/// Number of iterations of the eigenvalue method for each row.
const ITERATIONS: usize = 100;

/// Finds the smallest `count` values of Hy = θGy, where G is the Gram matrix of a basis, and H that of its products with A. Directions
/// of which a part of `least` or less is independent of the others are dropped: they would be mostly rounding.
pub(crate) fn rayleigh_ritz(
    gram: &DMatrix<f64>,
    products: &DMatrix<f64>,
    count: usize,
    least: f64,
) -> Result<Ritz, NoRitz> {
    let scale = products.amax();
    if !scale.is_finite() || !gram.iter().all(|element| element.is_finite()) {
        return Err(NoRitz::NotANumber);
    }
    let inverse_norm = |square: f64| if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 };
    let norms = DMatrix::from_diagonal(&gram.diagonal().map(inverse_norm));
    let (squares, directions) = eigen(&(&norms * gram * &norms))?;
    let largest = squares.amax();
    let kept: Vec<usize> = (0..squares.len()).filter(|&at| squares[at] > least * largest).collect();
    if kept.len() < count {
        return Err(NoRitz::Dependent);
    }
    let mut basis = norms * directions.select_columns(&kept);
    for (mut column, &at) in basis.column_iter_mut().zip(&kept) {
        column /= squares[at].sqrt();
    }
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let (values, vectors) = eigen(&(basis.transpose() * (products / scale) * &basis))?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order.truncate(count);
    Ok(Ritz {
        values: order.iter().map(|&at| scale * values[at]).collect(),
        vectors: basis * vectors.select_columns(&order),
        largest: scale * values.amax(),
    })
}

/// Eigenvalues and eigenvectors of a matrix that is symmetric but for rounding.
fn eigen(matrix: &DMatrix<f64>) -> Result<(DVector<f64>, DMatrix<f64>), NoRitz> {
    let symmetric = (matrix + matrix.transpose()) / 2.0;
    let iterations = ITERATIONS * symmetric.nrows();
    let found = SymmetricEigen::try_new(symmetric, f64::EPSILON, iterations).ok_or(NoRitz::NotANumber)?;
    Ok((found.eigenvalues, found.eigenvectors))
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, dmatrix};

    use super::{NoRitz, rayleigh_ritz};

    #[test]
    fn the_basis_does_not_matter() {
        // A = diag(3, −1, 5) in the basis (1, 1, 0), (0, 2, 0), (0, 0, 1e-3), and one that depends on them.
        let basis = dmatrix![1.0, 0.0, 0.0, 1.0; 1.0, 2.0, 0.0, 3.0; 0.0, 0.0, 1e-3, 0.0];
        let a = DMatrix::from_diagonal(&nalgebra::dvector![3.0, -1.0, 5.0]);
        let (gram, products) = (basis.transpose() * &basis, basis.transpose() * &a * &basis);
        let ritz = rayleigh_ritz(&gram, &products, 2, 1e-8).ok().unwrap();
        assert!((ritz.values[0] + 1.0).abs() < 1e-12 && (ritz.values[1] - 3.0).abs() < 1e-12);
        assert!((ritz.largest - 5.0).abs() < 1e-12);
        let vectors = basis * ritz.vectors;
        assert!((vectors[(1, 0)].abs() - 1.0).abs() < 1e-12 && vectors[(0, 0)].abs() < 1e-12);
        assert!((vectors[(0, 1)].abs() - 1.0).abs() < 1e-12);
        assert_eq!(rayleigh_ritz(&gram, &products, 4, 1e-8).err(), Some(NoRitz::Dependent));
        assert_eq!(rayleigh_ritz(&gram, &(products * f64::NAN), 1, 1e-8).err(), Some(NoRitz::NotANumber));
    }

    #[test]
    fn a_space_of_zeros_has_nothing() {
        let zero = DMatrix::zeros(2, 2);
        assert_eq!(rayleigh_ritz(&zero, &zero, 1, 1e-8).err(), Some(NoRitz::Dependent));
        let identity = DMatrix::identity(2, 2);
        assert_eq!(rayleigh_ritz(&identity, &zero, 2, 1e-8).ok().unwrap().values, [0.0, 0.0]);
    }
}
