//! Reading and writing matrices: the Matrix Market exchange format.
//!
//! [`read_matrix_market`] and [`write_matrix_market`] cover the common cases; [`ReadOptions`] and [`WriteOptions`] give
//! more control. The reader accepts every header of the format: coordinate and array; real, integer, pattern and complex;
//! general, symmetric, skew-symmetric and hermitian; as text or compressed with gzip, regardless of the file name. It
//! reads the file into memory and parses it on all threads.
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
//! # Accepted files
//!
//! It is stricter than most readers, because a misread matrix is worse than a refused one:
//! * the file must have exactly the announced number of entries, and nothing else on their lines;
//! * symmetric, skew-symmetric and hermitian matrices must be square; only one of two mirrored positions may be stored,
//!   in either triangle; a skew-symmetric matrix must have a zero diagonal and must not be a pattern;
//! * a number that is too large for the value type is an error; infinity must be written as `inf`;
//! * integers must be integers, of at most 64 bits.
//!
//! It is more lenient than the format's definition where files in use deviate from it unambiguously:
//! * blank lines and comments anywhere after the banner, spaces and tabs before and between numbers, and lines that end in
//!   a line feed or in a carriage return and a line feed;
//! * a UTF-8 byte order mark before the banner;
//! * a banner in any case, indented, or with one percent sign; `double` for `real` and `unsigned-integer`
//!   for `integer`; `hermitian` for matrices that are not complex, meaning symmetric;
//! * `+` before a number, and `d` or `D` before the exponent of a real number, as Fortran writes it;
//! * zeros after gzip data.
//!
//! Zeros in a coordinate file are stored; zeros in an array file are dropped.
//!
//! # Limits
//!
//! [`ReadOptions`] limits the bytes read from a pipe or a device, the decompressed size of a file, and the rows that a
//! short file may announce, so that a few bytes cannot exhaust memory. The error names the limit and the option that
//! raises it. Input that does not begin like a Matrix Market file is refused after its first megabyte.

mod body;
mod cursor;
mod destination;
mod error;
mod expand;
#[cfg(test)]
mod file_tests;
mod header;
mod options;
mod part;
mod read;
mod reader;
mod source;
#[cfg(test)]
mod tests;
mod writer;

pub use error::{MatrixMarketError, MatrixMarketErrorKind};
pub use header::{Field, Format, MatrixMarketHeader, Symmetry};
pub use options::{Complex, Progress, ReadOptions, Stage};
pub use part::{MatrixMarketPart, read_matrix_market_part};
pub use read::{parse_matrix_market, read_coo, read_matrix_market};
pub use reader::MatrixMarketReader;
pub use writer::{WriteOptions, write_matrix_market, write_matrix_market_to};
