//! Factors of the product.

use evenpath::{Csr, Scalar};

/// A product with a matrix A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Factors {
    /// A·A, or A·Aᵀ if A is not square.
    SquareOrOuter,
    /// A·A.
    Square,
    /// A·Aᵀ.
    Outer,
    /// Aᵀ·A.
    Inner,
    /// A·P; P has aggregates of four neighboring unknowns.
    Prolonged,
    /// Pᵀ·(A·P), the coarse matrix of algebraic multigrid.
    Coarse,
}

impl Factors {
    /// Its name in results; empty for the usual one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SquareOrOuter => "",
            Self::Square => "A x A",
            Self::Outer => "A x transpose",
            Self::Inner => "transpose x A",
            Self::Prolonged => "A x P",
            Self::Coarse => "transposed P x (A x P)",
        }
    }

    /// Both factors.
    ///
    /// # Errors
    ///
    /// If the matrix must be square and is not, or there is no memory for another one, as text.
    pub(crate) fn of<V: Scalar>(self, a: &Csr<V>) -> Result<(Csr<V>, Csr<V>), String> {
        let (rows, cols) = a.shape();
        if rows != cols && matches!(self, Self::Square | Self::Prolonged | Self::Coarse) {
            return Err(format!("the matrix must be square, but is {rows} x {cols}; use --product outer"));
        }
        let transpose = |a: &Csr<V>| a.transpose().map_err(|error| error.to_string());
        let prolongation = || -> Result<Csr<V>, String> {
            let entries = (0..rows).map(|row| (row, row / 4, V::ONE));
            Csr::from_triplets(rows, rows.div_ceil(4), entries).map_err(|error| error.to_string())
        };
        match self {
            Self::SquareOrOuter if rows == cols => Ok((a.clone(), a.clone())),
            Self::Square => Ok((a.clone(), a.clone())),
            Self::SquareOrOuter | Self::Outer => Ok((a.clone(), transpose(a)?)),
            Self::Inner => Ok((transpose(a)?, a.clone())),
            Self::Prolonged => Ok((a.clone(), prolongation()?)),
            Self::Coarse => {
                let p = prolongation()?;
                let ap = (a * &p).map_err(|error| error.to_string())?;
                Ok((transpose(&p)?, ap))
            }
        }
    }
}
