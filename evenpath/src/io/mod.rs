//! Reading and writing matrices, vectors and graphs: the Matrix Market exchange format, edge lists and DIMACS graphs.
//!
//! [`read_matrix_market`] and [`write_matrix_market`] cover the common cases; [`ReadOptions`] and [`WriteOptions`] give
//! more control. The reader accepts every header of the format: coordinate and array; real, integer, pattern and complex;
//! general, symmetric, skew-symmetric and hermitian; as text or compressed with gzip, regardless of the file name. It
//! reads the file into memory and parses it on all threads. Complex files are read into complex values, or, on request, the real
//! parts into real ones; real files are read into either.
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
//! [`read_vector`], [`write_vector`] and [`write_dense`] are for dense vectors in the same format. [`read_edge_list`] reads the edges of
//! a graph, as in SNAP's collection, and [`read_dimacs`] the graphs of the DIMACS challenges.
//!
//! # Accepted Matrix Market files
//!
//! The reader is stricter than most readers, because a misread matrix is worse than a refused one:
//! * the file must have exactly the announced number of entries, and nothing else on their lines;
//! * symmetric, skew-symmetric and hermitian matrices must be square; only one of two mirrored positions may be stored,
//!   in either triangle; a skew-symmetric matrix must have a zero diagonal and must not be a pattern, and a complex hermitian
//!   matrix must have a real diagonal;
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

mod banner;
mod body;
mod cursor;
mod dense;
mod destination;
mod dimacs;
mod edge_list;
mod error;
mod expand;
#[cfg(test)]
mod file_tests;
mod graph_options;
mod header;
mod lines;
#[cfg(feature = "npz")]
mod npz;
mod options;
mod part;
mod read;
mod reader;
mod source;
#[cfg(test)]
mod tests;
mod write_part;
mod writer;

pub use banner::{Field, Format, Symmetry};
pub use dense::{read_vector, write_dense, write_vector};
pub use dimacs::{parse_dimacs, read_dimacs};
pub use edge_list::{EdgeList, parse_edge_list, read_edge_list};
pub use error::{MatrixMarketError, MatrixMarketErrorKind};
pub use graph_options::{GraphOptions, Vertices};
pub use header::MatrixMarketHeader;
#[cfg(feature = "npz")]
pub use npz::{NpzFormat, read_npz, write_npz};
pub use options::{Complex, Progress, ReadOptions, Stage};
pub use part::{MatrixMarketPart, read_matrix_market_part};
pub use read::{parse_matrix_market, read_coo, read_matrix_market};
pub use reader::MatrixMarketReader;
pub use write_part::{write_matrix_market_header_to, write_matrix_market_part_to};
pub use writer::{WriteOptions, write_matrix_market, write_matrix_market_to};
