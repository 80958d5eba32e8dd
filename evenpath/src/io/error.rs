//! Errors about Matrix Market files.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::banner::Symmetry;
use crate::MatrixError;

/// Error of reading or writing a file, with its position.
///
/// ```
/// use evenpath::io::{MatrixMarketReader, ReadOptions};
///
/// let file = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 0.5\n";
/// let error = MatrixMarketReader::from_bytes(file, ReadOptions::default())?.read_coo::<f64>().unwrap_err();
/// assert_eq!(error.line(), Some(3));
/// assert_eq!(error.to_string(), "line 3: row 3 is out of range: expected 1 to 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixMarketError(Box<Inner>);

struct Inner {
    path: Option<PathBuf>,
    line: Option<usize>,
    kind: MatrixMarketErrorKind,
}

/// Kind of error. Rows and columns count from 1 here, as in the file.
///
/// ```
/// use evenpath::io::{MatrixMarketErrorKind, MatrixMarketReader, ReadOptions};
///
/// let error = MatrixMarketReader::from_bytes(b"no matrix", ReadOptions::default()).unwrap_err();
/// assert!(matches!(error.kind(), MatrixMarketErrorKind::Banner { .. }));
/// ```
#[derive(Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum MatrixMarketErrorKind {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("not a Matrix Market file: expected `%%MatrixMarket`, found {found}")]
    Banner { found: String },
    #[error("expected {expected}, found {found}")]
    Expected { expected: &'static str, found: String },
    #[error("a line ends in a carriage return alone: end lines in a line feed, or in both")]
    CarriageReturn,
    #[error(
        "{bytes} bytes after the gzip data, at byte {position}: neither another gzip member nor only zeros"
    )]
    GzipTrailer { position: usize, bytes: usize },
    #[error("a {0} is not defined by the format")]
    Undefined(&'static str),
    #[error(
        "the values are complex; read them as Complex<f32> or Complex<f64>, or the real part with ReadOptions::complex"
    )]
    Complex,
    #[error("a matrix in array format cannot be read in parts")]
    ArrayPart,
    #[error("a {symmetry} matrix must be square, but this one is {rows} x {cols}")]
    NotSquare { symmetry: Symmetry, rows: usize, cols: usize },
    #[error("{what} {found} is out of range: expected 1 to {bound}")]
    IndexOutOfRange { what: &'static str, found: String, bound: usize },
    #[error("{found} is too large for {value}")]
    ValueOverflow { found: String, value: &'static str },
    #[error("the file ends after {found} of {expected} entries")]
    Truncated { expected: u128, found: usize },
    #[error("more entries than the {expected} announced")]
    TooManyEntries { expected: u128 },
    #[error("row {row}, column {column} and its mirror image are both stored in a {symmetry} matrix")]
    BothTriangles { symmetry: Symmetry, row: usize, column: usize },
    #[error("the diagonal of a skew-symmetric matrix is 0, but row {row} has an entry there")]
    SkewDiagonal { row: usize },
    #[error("the diagonal of a Hermitian matrix is real, but row {row} has an imaginary part there")]
    HermitianDiagonal { row: usize },
    #[error(
        "a skew-symmetric matrix in array format has the {expected} values below the diagonal, but the file has {found}, as with the diagonal"
    )]
    SkewArrayDiagonal { expected: u128, found: usize },
    #[error(
        "{rows} rows in a file of {bytes} bytes: the limit is {limit} rows or one row per byte; raise it with ReadOptions::row_limit"
    )]
    RowLimit { rows: usize, bytes: usize, limit: usize },
    #[error("more than {limit} bytes; raise the limit with ReadOptions::file_limit")]
    FileLimit { limit: usize },
    #[error(
        "more than {limit} bytes after decompression; raise the limit with ReadOptions::decompressed_limit"
    )]
    DecompressedLimit { limit: usize },
    #[error(
        "vertex {vertex} is too large: there are at most {limit} vertices; GraphOptions::vertices numbers them anew"
    )]
    VertexTooLarge { vertex: u64, limit: usize },
    #[error("a vector has one row or one column, but this matrix is {rows} x {cols}")]
    NotVector { rows: usize, cols: usize },
    #[error("{len} values are not those of a {rows} x {cols} matrix")]
    DenseLength { rows: usize, cols: usize, len: usize },
    #[error("array `{array}`: {reason}")]
    Npz { array: &'static str, reason: String },
    #[error("row {row}, column {column} {reason}")]
    Unrepresentable { row: usize, column: usize, reason: &'static str },
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

evenpath_simt::debug_as_message!(MatrixMarketError, MatrixMarketErrorKind);

impl MatrixMarketError {
    /// The path of the file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of the error, counted from 1, if it is in a line.
    pub fn line(&self) -> Option<usize> {
        self.0.line
    }

    /// Kind of the error.
    pub fn kind(&self) -> &MatrixMarketErrorKind {
        &self.0.kind
    }

    pub(super) fn at_line(line: usize, kind: MatrixMarketErrorKind) -> Self {
        Self(Box::new(Inner { path: None, line: Some(line), kind }))
    }

    /// Moves the error to a text that starts after `lines` lines of the file.
    pub(super) fn after_lines(mut self, lines: usize) -> Self {
        self.0.line = self.0.line.map(|line| line + lines);
        self
    }

    pub(super) fn in_file(mut self, path: Option<&Path>) -> Self {
        self.0.path = path.map(Path::to_owned);
        self
    }
}

impl<K: Into<MatrixMarketErrorKind>> From<K> for MatrixMarketError {
    fn from(kind: K) -> Self {
        Self(Box::new(Inner { path: None, line: None, kind: kind.into() }))
    }
}

impl fmt::Display for MatrixMarketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.path, self.0.line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", path.display())?,
            (Some(path), None) => write!(f, "{}: ", path.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        self.0.kind.fmt(f)
    }
}

impl std::error::Error for MatrixMarketError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.kind)
    }
}

/// Quotes a word of the file for messages: escaped and shortened.
pub(super) fn quote(word: &[u8]) -> String {
    const LONGEST: usize = 40;
    if word.is_empty() {
        return "the end of the line".into();
    }
    let shown = &word[..word.len().min(LONGEST)];
    let dots = if shown.len() < word.len() { "..." } else { "" };
    format!("`{}{dots}`", shown.escape_ascii())
}
