//! Reading a file or its contents in one call.

use std::path::Path;

use super::error::MatrixMarketError;
use super::options::ReadOptions;
use super::reader::MatrixMarketReader;
use crate::{Coo, Csr, Offset, Scalar};

/// Reads a Matrix Market file, with the default [`ReadOptions`]: complex matrices are refused for real values, and duplicates
/// are summed. The result is canonical.
///
/// ```
/// use evenpath::{Csr, io};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 0.5\n2 1 4.0\n")?;
/// let a: Csr<f64> = io::read_matrix_market(&path)?; // 2 x 3; the file counts from 1
/// assert_eq!(a.to_dense()?, [0.0, 0.0, 0.5, 4.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read or is not a valid Matrix Market file. The error names the file and the line.
pub fn read_matrix_market<V: Scalar, O: Offset>(
    path: impl AsRef<Path>,
) -> Result<Csr<V, O>, MatrixMarketError> {
    MatrixMarketReader::open(path, ReadOptions::default())?.read_csr()
}

/// Reads a Matrix Market file into COO, in the order of the file, with the default [`ReadOptions`].
///
/// ```
/// use evenpath::io;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 4.0\n1 2 0.5\n")?;
/// let a = io::read_coo::<f64>(&path)?;
/// assert_eq!((a.row_indices(), a.column_indices()), (&[1, 0][..], &[0, 1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`read_matrix_market`].
pub fn read_coo<V: Scalar>(path: impl AsRef<Path>) -> Result<Coo<V>, MatrixMarketError> {
    MatrixMarketReader::open(path, ReadOptions::default())?.read_coo()
}

/// Reads the contents of a Matrix Market file, with the default [`ReadOptions`].
///
/// ```
/// use evenpath::{Csr, io};
///
/// let text = b"%%MatrixMarket matrix array real general\n2 2\n1.0\n0.0\n2.0\n3.0\n"; // by columns
/// let a: Csr<f64> = io::parse_matrix_market(text)?;
/// assert_eq!(a.to_dense()?, [1.0, 2.0, 0.0, 3.0]);
/// assert_eq!(a.nnz(), 3); // without the zero
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`read_matrix_market`].
pub fn parse_matrix_market<V: Scalar, O: Offset>(bytes: &[u8]) -> Result<Csr<V, O>, MatrixMarketError> {
    MatrixMarketReader::from_bytes(bytes, ReadOptions::default())?.read_csr()
}
