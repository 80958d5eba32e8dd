//! Errors of solvers.

use evenpath::error::{DeviceError, MatrixError, OpError};

/// An error of a solver or a preconditioner. That a method did not converge is no error: the
/// [report](crate::Report) says so.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation was refused or failed.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A device failed, or has too little memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A rank failed.
    #[cfg(feature = "distributed")]
    #[error(transparent)]
    Distributed(#[from] evenpath_distributed::Error),
    /// A matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A matrix is not square.
    #[error("the matrix is {rows} x {cols}, but must be square")]
    NotSquare {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
    },
    /// An operand has the wrong number of elements.
    #[error("{operand} has {found} elements, but must have {needed}")]
    Length {
        /// The operand's name.
        operand: &'static str,
        /// Its number of elements.
        found: usize,
        /// The required number.
        needed: usize,
    },
    /// An operand has the wrong shape.
    #[error("{operand} is {} x {}, but must be {} x {}", found.0, found.1, needed.0, needed.1)]
    Shape {
        /// The operand's name.
        operand: &'static str,
        /// Its numbers of rows and columns.
        found: (usize, usize),
        /// The required numbers.
        needed: (usize, usize),
    },
    /// A row has no usable entry on the diagonal.
    #[error("row {row} has no {needed} entry on the diagonal")]
    Diagonal {
        /// The row.
        row: usize,
        /// The required property, such as `nonzero`.
        needed: &'static str,
    },
    /// An option is out of range.
    #[error("{option} is {value}, but must be {needed}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        needed: &'static str,
    },
    /// A name is not that of a method.
    #[error("unknown method `{name}`; known names are {known}")]
    UnknownMethod {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// Values are infinite or not numbers.
    #[error("{operand} has values that are not finite")]
    NotFinite {
        /// The operand's name.
        operand: &'static str,
    },
    /// One block was asked for, but cannot do the steps.
    #[error(
        "one block cannot do the steps: that needs an operator with a real matrix, a preconditioner that is diagonal or the identity, and neither a profile nor a flexible method"
    )]
    NoOneBlock,
    /// New values are those of another pattern.
    #[error("the matrix has another pattern than that of the set-up")]
    OtherPattern,
    /// A factorization found no pivot.
    #[error("{} has no pivot: the matrix is singular", name(*row))]
    ZeroPivot {
        /// The row, where the library tells it.
        row: Option<usize>,
    },
    /// A Cholesky factorization found a pivot that is not positive.
    #[error("the pivot of {} is not positive: the matrix is not positive definite", name(*row))]
    NotPositiveDefinite {
        /// The row, where the library tells it.
        row: Option<usize>,
    },
    /// A matrix that must be symmetric is not.
    #[error("the entries at ({row}, {col}) and ({col}, {row}) differ, but the matrix must be symmetric")]
    NotSymmetric {
        /// The row of the first such entry.
        row: usize,
        /// Its column.
        col: usize,
    },
    /// A factorization solves no system.
    #[error(
        "the matrix is singular to working precision, or the factorization is unstable: a test system has the relative residual {residual:.1e}, and refinement changed its solution by {correction:.1e}"
    )]
    Singular {
        /// The relative residual after a step of iterative refinement.
        residual: f64,
        /// The relative change of the solution by that step.
        correction: f64,
    },
    /// The last update of a factorization failed.
    #[error("there is no factorization, because the last update failed")]
    NotFactorized,
    /// A dense matrix has the wrong layout.
    #[error("{operand} is row-major, but must be column-major")]
    RowMajor {
        /// The operand's name.
        operand: &'static str,
    },
    /// A library that is opened at run time was not found.
    #[error("{library} was not found: {reason}. {remedy}")]
    NoLibrary {
        /// The library's name.
        library: &'static str,
        /// The reason.
        reason: String,
        /// How to get it, or do without.
        remedy: &'static str,
    },
    /// Another library failed.
    #[error("{library}: {reason}")]
    Library {
        /// The library's name.
        library: &'static str,
        /// Its error.
        reason: String,
    },
    /// A preconditioner is not linear, but the method needs one that is.
    #[error(
        "{method} needs a preconditioner that is linear, such as a V-cycle; take FGMRES, or CG with the option `flexible`"
    )]
    NotLinear {
        /// The method.
        method: &'static str,
    },
    /// The operator cannot multiply by its transpose.
    #[error("the operator has no transpose")]
    NoTranspose,
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// A row in a message.
fn name(row: Option<usize>) -> String {
    row.map_or_else(|| "a row".to_owned(), |row| format!("row {row}"))
}

/// A result whose error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Checks the length of a vector.
pub(crate) fn check_len(operand: &'static str, found: usize, needed: usize) -> Result<()> {
    if found == needed { Ok(()) } else { Err(Error::Length { operand, found, needed }) }
}

/// Checks that a matrix of this shape is square.
pub(crate) fn check_square((rows, cols): (usize, usize)) -> Result<()> {
    if rows == cols { Ok(()) } else { Err(Error::NotSquare { rows, cols }) }
}

/// Checks a factor of over-relaxation.
pub(crate) fn check_relaxation(factor: f64) -> Result<()> {
    if factor > 0.0 && factor < 2.0 {
        return Ok(());
    }
    let (option, needed) = ("the relaxation factor", "more than 0 and less than 2");
    Err(Error::Option { option, value: factor.to_string(), needed })
}
