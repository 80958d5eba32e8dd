use thiserror::Error;

/// A string that is not the name of a matrix kind.
///
/// ```
/// use evenpath::generate::{Kind, ParseKindError};
///
/// let error = "stencil6:100".parse::<Kind>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown kind of matrix `stencil6`; known kinds are stencil5, "));
/// assert!(matches!(error, ParseKindError::Unknown { .. }));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseKindError {
    /// The word before the colon.
    #[error("unknown kind of matrix `{name}`; known kinds are {known}")]
    Unknown {
        /// The word.
        name: String,
        /// All words.
        known: String,
    },
    /// The size after the colon.
    #[error("`{size}` is not a valid size for `{name}`: expected {expected}")]
    Size {
        /// The kind.
        name: String,
        /// The size.
        size: String,
        /// The expected form of a size.
        expected: &'static str,
    },
    /// The published matrix after the colon.
    #[error("unknown stand-in `{name}`; known stand-ins are {known}")]
    Matrix {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
}

evenpath_simt::debug_as_message!(ParseKindError);
