//! Reading and writing matrices: the Matrix Market exchange format.
//!
//! [`read_matrix_market`] and [`write_matrix_market`] are the short way; [`ReadOptions`] and
//! [`WriteOptions`] say more. The reader takes every header of the format: coordinate and array; real,
//! integer, pattern and complex; general, symmetric, skew-symmetric and hermitian; as text or compressed
//! with gzip, whatever the file is called. It reads the file into memory and parses it on all threads.
//!
//! ```
//! use evenpath::{Csr, io};
//!
//! let text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4.0\n2 1 -1.5\n";
//! let a: Csr<f64> = io::parse_matrix_market(text)?;
//! assert_eq!(a.get(0, 1), Some(-1.5));
//! # Ok::<(), io::MatrixMarketError>(())
//! ```
//!
//! # What is accepted
//!
//! Stricter than most readers, because a matrix that is read wrong is worse than one that is refused:
//! * exactly the announced number of entries, and nothing more on a line than its entry;
//! * symmetric, skew-symmetric and hermitian matrices are square; of two mirrored places only one may be
//!   stored, in either triangle; a skew-symmetric matrix has a zero diagonal and is not a pattern;
//! * a number too large for the value type is an error; infinity must be written as `inf`;
//! * integers are integers, of at most 64 bits.
//!
//! More lenient than the format's definition, because such files exist and mean one thing only:
//! * blank lines and comments anywhere after the banner, spaces and tabs before and between numbers, and
//!   either kind of line end;
//! * a banner in any case, indented, with one percent sign; `double` for `real` and `unsigned-integer`
//!   for `integer`; `hermitian` for matrices that are not complex, where it means symmetric;
//! * `+` before a number.
//!
//! Entries of a coordinate file are kept even where they are 0; those of an array file are not.
//!
//! # Limits
//!
//! [`ReadOptions`] limits the bytes of a pipe or a device, the bytes that a compressed file decompresses to, and the rows
//! that a short file announces, so that a few bytes do not take all memory. The error names the limit and the option that
//! raises it. What does not begin as a Matrix Market file is refused by its first megabyte.

mod body;
mod cursor;
mod destination;
mod error;
mod expand;
mod header;
mod options;
mod reader;
mod source;
mod writer;

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use error::{MatrixMarketError, MatrixMarketErrorKind};
pub use header::{Field, Format, MatrixMarketHeader, Symmetry};
pub use options::{Complex, Progress, ReadOptions, Stage};
pub use reader::MatrixMarketReader;
pub use writer::{WriteOptions, write_matrix_market, write_matrix_market_to};

use crate::{Coo, Csr, Offset, Value};

/// Reads a Matrix Market file, with the default [`ReadOptions`]: complex matrices are refused, entries
/// that are stored more than once are added up. The result is canonical.
///
/// ```no_run
/// let a: evenpath::Csr<f64> = evenpath::io::read_matrix_market("a.mtx")?;
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read or is not a valid Matrix Market file: with its name and the line.
pub fn read_matrix_market<V: Value, O: Offset>(
    path: impl AsRef<Path>,
) -> Result<Csr<V, O>, MatrixMarketError> {
    MatrixMarketReader::open(path, ReadOptions::default())?.read_csr()
}

/// Reads a Matrix Market file as coordinates in the order of the file, with the default [`ReadOptions`].
///
/// # Errors
///
/// As [`read_matrix_market`].
pub fn read_coo<V: Value>(path: impl AsRef<Path>) -> Result<Coo<V>, MatrixMarketError> {
    MatrixMarketReader::open(path, ReadOptions::default())?.read_coo()
}

/// Reads the contents of a Matrix Market file, with the default [`ReadOptions`].
///
/// # Errors
///
/// As [`read_matrix_market`].
pub fn parse_matrix_market<V: Value, O: Offset>(bytes: &[u8]) -> Result<Csr<V, O>, MatrixMarketError> {
    MatrixMarketReader::from_bytes(bytes, ReadOptions::default())?.read_csr()
}
