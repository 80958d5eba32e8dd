//! Reading a file or its contents in one call.

use std::path::Path;

use super::error::MatrixMarketError;
use super::options::ReadOptions;
use super::reader::MatrixMarketReader;
use crate::{Coo, Csr, Offset, Value};

/// Reads a Matrix Market file, with the default [`ReadOptions`]: complex matrices are refused, and duplicates are summed.
/// The result is canonical.
///
/// ```no_run
/// let a: evenpath::Csr<f64> = evenpath::io::read_matrix_market("a.mtx")?;
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read or is not a valid Matrix Market file. The error names the file and the line.
pub fn read_matrix_market<V: Value, O: Offset>(
    path: impl AsRef<Path>,
) -> Result<Csr<V, O>, MatrixMarketError> {
    MatrixMarketReader::open(path, ReadOptions::default())?.read_csr()
}

/// Reads a Matrix Market file into COO, in the order of the file, with the default [`ReadOptions`].
///
/// # Errors
///
/// The same as for [`read_matrix_market`].
pub fn read_coo<V: Value>(path: impl AsRef<Path>) -> Result<Coo<V>, MatrixMarketError> {
    MatrixMarketReader::open(path, ReadOptions::default())?.read_coo()
}

/// Reads the contents of a Matrix Market file, with the default [`ReadOptions`].
///
/// # Errors
///
/// The same as for [`read_matrix_market`].
pub fn parse_matrix_market<V: Value, O: Offset>(bytes: &[u8]) -> Result<Csr<V, O>, MatrixMarketError> {
    MatrixMarketReader::from_bytes(bytes, ReadOptions::default())?.read_csr()
}
