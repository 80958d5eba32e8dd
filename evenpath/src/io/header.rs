//! The banner and the size line.

use super::banner::{Field, Format, Symmetry};
use super::cursor::Cursor;
use super::error::quote;
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind};

/// The header of a file: the properties and size of its matrix.
///
/// ```
/// use evenpath::io::{MatrixMarketReader, ReadOptions, Symmetry};
///
/// let file = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 0.5\n";
/// let reader = MatrixMarketReader::from_bytes(file, ReadOptions::default())?;
/// let header = reader.header();
/// assert_eq!((header.nrows, header.entries, header.symmetry), (2, 1, Symmetry::Symmetric));
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatrixMarketHeader {
    /// Listing of entries.
    pub format: Format,
    /// The type of the values.
    pub field: Field,
    /// Implied entries.
    pub symmetry: Symmetry,
    /// Number of rows.
    pub nrows: usize,
    /// Number of columns.
    pub ncols: usize,
    /// The number of entries that the file must have, not counting those implied by symmetry.
    pub entries: u128,
}

impl MatrixMarketHeader {
    /// Parses the header and moves the cursor past it.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, MatrixMarketError> {
        let (format, field, symmetry) = banner(cursor).map_err(|kind| MatrixMarketError::at_line(1, kind))?;
        cursor.skip_line();
        if !cursor.skip_to_entry() {
            let (expected, found) = (size_syntax(format), "the end of the file".into());
            return Err(MatrixMarketError::at_line(cursor.line(), Kind::Expected { expected, found }));
        }
        let line = cursor.line();
        let header =
            sizes(cursor, format, field, symmetry).map_err(|kind| MatrixMarketError::at_line(line, kind))?;
        cursor.skip_line();
        Ok(header)
    }
}

/// Checks that the Matrix Market format defines this combination.
pub(super) fn check_combination(format: Format, field: Field, symmetry: Symmetry) -> Result<(), Kind> {
    match (format, field, symmetry) {
        (Format::Array, Field::Pattern, _) => Err(Kind::Undefined("pattern in array format")),
        (_, Field::Pattern, Symmetry::SkewSymmetric) => Err(Kind::Undefined("skew-symmetric pattern")),
        _ => Ok(()),
    }
}

/// The number of entries in array format, where the header does not give it.
pub(super) fn array_entries(symmetry: Symmetry, rows: usize, cols: usize) -> u128 {
    let (rows, cols) = (rows as u128, cols as u128);
    match symmetry {
        Symmetry::General => rows * cols,
        Symmetry::Symmetric | Symmetry::Hermitian => rows * (rows + 1) / 2,
        Symmetry::SkewSymmetric => rows * rows.saturating_sub(1) / 2,
    }
}

/// The first word of every file. Some have a single percent sign.
const MARK: &[u8] = b"%%MatrixMarket";

/// Refuses a text whose first bytes cannot begin a Matrix Market file.
pub(super) fn check_start(text: &[u8]) -> Result<(), MatrixMarketError> {
    let mut cursor = Cursor::new(text);
    cursor.skip_byte_order_mark();
    let is_cut = cursor.word().len() < MARK.len() && cursor.position() == text.len();
    if is_cut {
        return Ok(());
    }
    mark(&mut Cursor::new(text)).map_err(|kind| MatrixMarketError::at_line(1, kind))
}

fn mark(cursor: &mut Cursor<'_>) -> Result<(), Kind> {
    cursor.skip_byte_order_mark();
    let mark = cursor.word();
    if mark.eq_ignore_ascii_case(MARK) || mark.eq_ignore_ascii_case(&MARK[1..]) {
        return Ok(());
    }
    let found = if mark.is_empty() { "an empty line".into() } else { quote(mark) };
    Err(Kind::Banner { found })
}

fn banner(cursor: &mut Cursor<'_>) -> Result<(Format, Field, Symmetry), Kind> {
    mark(cursor)?;
    word(cursor, "`matrix`", &[("matrix", ())])?;
    let format = word(cursor, "`coordinate` or `array`", Format::ALL)?;
    let synonyms = [("double", Field::Real), ("unsigned-integer", Field::Integer)];
    let fields: Vec<_> = Field::ALL.iter().copied().chain(synonyms).collect();
    let field = word(cursor, "`real`, `integer`, `pattern` or `complex`", &fields)?;
    let symmetries = "`general`, `symmetric`, `skew-symmetric` or `hermitian`";
    let symmetry = word(cursor, symmetries, Symmetry::ALL)?;
    cursor.end_of_line()?;
    check_combination(format, field, symmetry)?;
    Ok((format, field, symmetry))
}

/// Parses one of the known words, ignoring case.
fn word<T: Copy>(cursor: &mut Cursor<'_>, expected: &'static str, known: &[(&str, T)]) -> Result<T, Kind> {
    let found = cursor.word();
    let known = known.iter().find(|(word, _)| found.eq_ignore_ascii_case(word.as_bytes()));
    known.map(|&(_, value)| value).ok_or_else(|| Kind::Expected { expected, found: quote(found) })
}

fn size_syntax(format: Format) -> &'static str {
    match format {
        Format::Coordinate => "the numbers of rows, columns and entries",
        Format::Array => "the numbers of rows and columns",
    }
}

fn sizes(
    cursor: &mut Cursor<'_>,
    format: Format,
    field: Field,
    symmetry: Symmetry,
) -> Result<MatrixMarketHeader, Kind> {
    let rows = cursor.size("the number of rows")?;
    let cols = cursor.size("the number of columns")?;
    crate::matrix::check_dimensions(rows, cols)?;
    let entries = match format {
        Format::Coordinate => cursor.size("the number of entries")? as u128,
        Format::Array => array_entries(symmetry, rows, cols),
    };
    cursor.end_of_line()?;
    if symmetry != Symmetry::General && rows != cols {
        return Err(Kind::NotSquare { symmetry, rows, cols });
    }
    Ok(MatrixMarketHeader { format, field, symmetry, nrows: rows, ncols: cols, entries })
}
