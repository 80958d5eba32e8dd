//! Generated matrices by name.

use std::fmt;
use std::str::FromStr;

use evenpath::error::MatrixError;
use evenpath::generate::{Kind, ParseKindError, generate};
use evenpath::{Csr, Offset, Value};
use thiserror::Error;

use crate::full_rows::{FullRows, ParseFullRowsError};
use crate::random::{
    ParseRandomError, ParseShapeError, ParseTreeError, RandomMatrix, ShapeMatrix, TreeMatrix,
};

/// A generated matrix: of a kind and size, such as `stencil5:2000`, the same with full rows, such as `full-rows:3:fem:9000`,
/// of a structure drawn at random, such as `random:1:7`, of a published tree, such as `tree:special`,
/// or of a further shape, such as `band:1500000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generated {
    /// A kind and size.
    Kind(Kind),
    /// The same with full rows.
    FullRows(FullRows),
    /// A random structure.
    Random(RandomMatrix),
    /// A published tree.
    Tree(TreeMatrix),
    /// A further shape.
    Shape(ShapeMatrix),
}

/// Text that is not the name of a generated matrix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseGeneratedError {
    /// A kind and size.
    #[error(transparent)]
    Kind(#[from] ParseKindError),
    /// The same with full rows.
    #[error(transparent)]
    FullRows(#[from] ParseFullRowsError),
    /// A random structure.
    #[error(transparent)]
    Random(#[from] ParseRandomError),
    /// A published tree.
    #[error(transparent)]
    Tree(#[from] ParseTreeError),
    /// A further shape.
    #[error(transparent)]
    Shape(#[from] ParseShapeError),
}

impl Generated {
    /// Generates the matrix. The name of a random structure has a seed of its own.
    ///
    /// # Errors
    ///
    /// Those of [`generate`].
    pub fn generate<V: Value, O: Offset>(&self, seed: u64) -> Result<Csr<V, O>, MatrixError> {
        match self {
            Self::Kind(kind) => generate(*kind, seed),
            Self::FullRows(matrix) => matrix.generate(seed),
            Self::Random(matrix) => matrix.generate(),
            Self::Tree(matrix) => matrix.generate(seed),
            Self::Shape(matrix) => matrix.generate(seed),
        }
    }
}

impl From<Kind> for Generated {
    fn from(kind: Kind) -> Self {
        Self::Kind(kind)
    }
}

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => kind.fmt(f),
            Self::FullRows(matrix) => matrix.fmt(f),
            Self::Random(matrix) => matrix.fmt(f),
            Self::Tree(matrix) => matrix.fmt(f),
            Self::Shape(matrix) => matrix.fmt(f),
        }
    }
}

impl FromStr for Generated {
    type Err = ParseGeneratedError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if RandomMatrix::is_name(text) {
            return Ok(Self::Random(text.parse()?));
        }
        if FullRows::is_name(text) {
            return Ok(Self::FullRows(text.parse()?));
        }
        if ShapeMatrix::is_name(text) {
            return Ok(Self::Shape(text.parse()?));
        }
        Ok(if TreeMatrix::is_name(text) { Self::Tree(text.parse()?) } else { Self::Kind(text.parse()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_every_generator() {
        for name in ["stencil5:30", "full-rows:2:fem:90", "random:3:4", "tree:lp:0.5", "kron:7"] {
            assert_eq!(name.parse::<Generated>().unwrap().to_string(), name);
        }
        assert!("stencil6".parse::<Generated>().unwrap_err().to_string().contains("stencil5"));
        assert!("random:x".parse::<Generated>().unwrap_err().to_string().contains("SEED"));
        assert!("kron:x".parse::<Generated>().unwrap_err().to_string().contains("SIZE"));
        assert!("tree:x".parse::<Generated>().unwrap_err().to_string().contains("special"));
    }
}
