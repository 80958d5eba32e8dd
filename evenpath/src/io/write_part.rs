//! Writing of a file in parts, for writers that share the work.

use std::io::{self, Write};

use super::writer::Plan;
use super::{Format, MatrixMarketError, Symmetry, WriteOptions};
use crate::{CsrView, Offset, Scalar};

/// Writes the beginning of a Matrix Market file in coordinate format, up to the size line: for a matrix of `shape` with `entries` entries.
/// The lines of the entries follow; see [`write_matrix_market_part_to`].
///
/// # Errors
///
/// If writing fails; if the options have a symmetry or array format, which need the whole matrix, or the format does not define them.
pub fn write_matrix_market_header_to(
    writer: &mut impl Write,
    shape: (usize, usize),
    entries: u64,
    options: &WriteOptions,
) -> Result<(), MatrixMarketError> {
    check(options)?;
    options.write_banner(writer)?;
    Ok(writeln!(writer, "{} {} {entries}", shape.0, shape.1)?)
}

/// Writes consecutive rows of a matrix as lines of a Matrix Market file in coordinate format: row i of `rows` is row `first_row` + i of
/// the matrix, and columns are those of the matrix. The header, followed by the lines of all rows, is the file.
/// [`read_matrix_market_part`](super::read_matrix_market_part) is the counterpart.
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{self, WriteOptions};
///
/// let (top, bottom) = (Csr::from_triplets(1, 3, [(0, 2, 0.5)])?, Csr::from_triplets(1, 3, [(0, 0, 4.5)])?);
/// let (mut text, options) = (Vec::new(), WriteOptions::default());
/// io::write_matrix_market_header_to(&mut text, (2, 3), 2, &options)?;
/// io::write_matrix_market_part_to(&mut text, top.view(), 0, &options)?;
/// io::write_matrix_market_part_to(&mut text, bottom.view(), 1, &options)?;
/// assert_eq!(text, b"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 0.5\n2 1 4.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If writing fails; if values do not match the options: they are not integers, or complex; if the options have a symmetry or array
/// format, which need the whole matrix.
pub fn write_matrix_market_part_to<V: Scalar, O: Offset>(
    writer: &mut impl Write,
    rows: CsrView<'_, V, O>,
    first_row: usize,
    options: &WriteOptions,
) -> Result<(), MatrixMarketError> {
    check(options)?;
    Ok(Plan::of_rows(rows, first_row, options.clone())?.write_entries(writer)?)
}

/// Refuses options that need the whole matrix.
fn check(options: &WriteOptions) -> Result<(), MatrixMarketError> {
    let WriteOptions { format, symmetry, .. } = *options;
    if (format, symmetry) == (Format::Coordinate, Symmetry::General) {
        return Ok(());
    }
    let reason =
        format!("a file written in parts is coordinate general, but the options say {format} {symmetry}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason).into())
}
