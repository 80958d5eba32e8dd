//! Dense vectors and matrices: reading every element, and writing array files.

use std::io::Write;
use std::path::Path;

use super::options::ReadOptions;
use super::writer::{push_value, write_blocks};
use super::{Field, MatrixMarketError, MatrixMarketErrorKind as Kind, MatrixMarketReader, destination};
use crate::Scalar;
use crate::matrix::{check_dimensions, check_threads};

/// Elements per task.
const BLOCK: usize = 1 << 14;

/// Reads a vector from a Matrix Market file of one column or one row, with the default [`ReadOptions`]. In a coordinate file,
/// elements without an entry are zero.
///
/// [`MatrixMarketReader::read_dense`] reads several columns, such as many right-hand sides.
///
/// ```
/// use evenpath::io;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("b.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix array real general\n3 1\n1.5\n0\n-2D-1\n")?;
/// let b: Vec<f64> = io::read_vector(&path)?;
/// assert_eq!(b, [1.5, 0.0, -0.2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the matrix has several rows and several columns; otherwise the same as for [`read_matrix_market`](super::read_matrix_market).
pub fn read_vector<V: Scalar>(path: impl AsRef<Path>) -> Result<Vec<V>, MatrixMarketError> {
    let path = path.as_ref();
    let reader = MatrixMarketReader::open(path, ReadOptions::default())?;
    let (rows, cols) = (reader.header().nrows, reader.header().ncols);
    if rows != 1 && cols != 1 {
        return Err(MatrixMarketError::from(Kind::NotVector { rows, cols }).in_file(Some(path)));
    }
    reader.read_dense()
}

/// Writes a vector as a Matrix Market file in array format, of one column, compressed with gzip if its name ends in `.gz`.
///
/// Values have enough digits to be read back exactly. The file is replaced as a whole, like by
/// [`write_matrix_market`](super::write_matrix_market).
///
/// ```
/// use evenpath::io;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.mtx");
/// io::write_vector(&path, &[0.5, 4.0])?;
/// assert_eq!(std::fs::read_to_string(&path)?, "%%MatrixMarket matrix array real general\n2 1\n0.5\n4.0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be written, or there are 2³² elements or more.
pub fn write_vector<V: Scalar>(path: impl AsRef<Path>, vector: &[V]) -> Result<(), MatrixMarketError> {
    write_dense(path, vector, vector.len(), 1)
}

/// Writes a dense matrix of `rows` rows and `cols` columns, whose `values` are column by column, as a Matrix Market file in array
/// format. Otherwise like [`write_vector`].
///
/// # Errors
///
/// If there are not `rows` · `cols` values; otherwise the same as for [`write_vector`].
pub fn write_dense<V: Scalar>(
    path: impl AsRef<Path>,
    values: &[V],
    rows: usize,
    cols: usize,
) -> Result<(), MatrixMarketError> {
    let path = path.as_ref();
    check(values.len(), rows, cols)
        .and_then(|()| Ok(destination::write_text(path, |writer| write_array(writer, values, rows, cols))?))
        .map_err(|error| error.in_file(Some(path)))
}

fn check(len: usize, rows: usize, cols: usize) -> Result<(), MatrixMarketError> {
    check_threads()?;
    check_dimensions(rows, cols)?;
    if len as u128 == rows as u128 * cols as u128 {
        return Ok(());
    }
    Err(Kind::DenseLength { rows, cols, len }.into())
}

fn write_array<V: Scalar>(
    writer: &mut dyn Write,
    values: &[V],
    rows: usize,
    cols: usize,
) -> std::io::Result<()> {
    let field = if V::IS_COMPLEX { Field::Complex } else { Field::Real };
    writeln!(writer, "%%MatrixMarket matrix array {field} general\n{rows} {cols}")?;
    write_blocks(writer, values.len(), BLOCK, |element, text| {
        push_value(field, values[element], text);
        text.push(b'\n');
    })
}
