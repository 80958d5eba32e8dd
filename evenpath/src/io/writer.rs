//! The Matrix Market writer.

use std::io::Write;
use std::path::Path;

use super::destination;
use super::header::check_combination;
use super::{Field, Format, MatrixMarketError, MatrixMarketErrorKind as Kind, Symmetry};
use crate::matrix::check_threads;
use crate::scalar::Decimal;
use crate::{Csr, CsrView, Offset, RealStorage, Scalar, parallel};

/// Entries or rows per task.
const BLOCK: usize = 1 << 14;

/// Options for writing. Default: coordinate format, real and general, which fits every matrix.
///
/// ```
/// use evenpath::io::{self, Symmetry, WriteOptions};
///
/// let a: evenpath::Csr<f64> = evenpath::Csr::from_triplets(2, 2, [(0, 1, 0.5), (1, 0, 0.5)])?;
/// let mut text = Vec::new();
/// io::write_matrix_market_to(&mut text, a.view(), WriteOptions::default().with_symmetry(Symmetry::Symmetric))?;
/// assert_eq!(text, b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 0.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Listing of entries. Default: as coordinates. Array format cannot distinguish stored zeros from absent
    /// entries.
    pub format: Format,
    /// Type of the values. Default: real numbers. With integers, all values must be integers; with a pattern,
    /// values are omitted; with complex numbers, imaginary parts of real values are 0. Complex values need complex numbers, unless
    /// all imaginary parts are 0.
    pub field: Field,
    /// The symmetry to use. Default: general. The matrix must have it exactly; only the lower triangle is written.
    pub symmetry: Symmetry,
    /// Text for comment lines after the banner. Default: empty.
    pub comment: String,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            format: Format::Coordinate,
            field: Field::Real,
            symmetry: Symmetry::General,
            comment: String::new(),
        }
    }
}

impl WriteOptions {
    /// Sets the format.
    #[must_use]
    pub fn with_format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Sets the type of the values.
    #[must_use]
    pub fn with_field(self, field: Field) -> Self {
        Self { field, ..self }
    }

    /// Sets the symmetry.
    #[must_use]
    pub fn with_symmetry(self, symmetry: Symmetry) -> Self {
        Self { symmetry, ..self }
    }

    /// Sets the text for comment lines.
    #[must_use]
    pub fn with_comment(self, comment: impl Into<String>) -> Self {
        Self { comment: comment.into(), ..self }
    }

    /// Writes the banner and the comment.
    pub(super) fn write_banner(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        let Self { format, field, symmetry, comment } = self;
        writeln!(writer, "%%MatrixMarket matrix {format} {field} {symmetry}")?;
        // Some programs treat a carriage return as the end of a line, and would read the rest of it as data.
        for line in comment.lines().flat_map(|line| line.split('\r')) {
            writeln!(writer, "% {line}")?;
        }
        Ok(())
    }
}

/// Writes a Matrix Market file, compressed with gzip if its name ends in `.gz`.
///
/// Values have enough digits to be read back exactly. The text is written to a temporary file in the same folder, which is
/// then renamed; if writing fails, an existing file is left unchanged. An existing file keeps its permissions. Symbolic
/// links are followed, and pipes and devices are written to directly.
///
/// ```
/// use evenpath::io::{self, WriteOptions};
/// use evenpath::Csr;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx");
/// let a = Csr::from_triplets(2, 3, [(0, 2, 0.5), (1, 0, 4.5)])?;
/// io::write_matrix_market(&path, a.view(), WriteOptions::default().with_comment("by hand"))?;
/// let text = std::fs::read_to_string(&path)?;
/// assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n% by hand\n2 3 2\n1 3 0.5\n2 1 4.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file cannot be written, or the matrix does not match the options: it is not symmetric, has values that are not
/// integers, or is not canonical, which symmetries and array format require.
pub fn write_matrix_market<V: Scalar, O: Offset>(
    path: impl AsRef<Path>,
    matrix: CsrView<'_, V, O>,
    options: WriteOptions,
) -> Result<(), MatrixMarketError> {
    let path = path.as_ref();
    write_file(path, matrix, options).map_err(|error| error.in_file(Some(path)))
}

fn write_file<V: Scalar, O: Offset>(
    path: &Path,
    matrix: CsrView<'_, V, O>,
    options: WriteOptions,
) -> Result<(), MatrixMarketError> {
    let plan = Plan::new(matrix, options)?;
    Ok(destination::write_text(path, |writer| plan.write(writer))?)
}

/// Writes a matrix as Matrix Market text; see [`write_matrix_market`].
///
/// ```
/// use evenpath::io::{self, Field, WriteOptions};
/// use evenpath::Csr;
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 1.0), (1, 0, 1.0)])?;
/// let mut text = Vec::new();
/// io::write_matrix_market_to(&mut text, a.view(), WriteOptions::default().with_field(Field::Pattern))?;
/// assert_eq!(text, b"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If writing fails, or the matrix does not match the options.
pub fn write_matrix_market_to<V: Scalar, O: Offset>(
    writer: &mut impl Write,
    matrix: CsrView<'_, V, O>,
    options: WriteOptions,
) -> Result<(), MatrixMarketError> {
    Ok(Plan::new(matrix, options)?.write(writer)?)
}

/// A matrix and options that have been checked against each other.
pub(super) struct Plan<'a, V, O> {
    matrix: CsrView<'a, V, O>,
    options: WriteOptions,
    /// The number that the first row has in the file, counted from 0.
    first_row: usize,
    /// Transpose, for array format, which lists columns, and for checks of symmetry.
    transpose: Option<Csr<V, O>>,
}

impl<'a, V: Scalar, O: Offset> Plan<'a, V, O> {
    fn new(matrix: CsrView<'a, V, O>, options: WriteOptions) -> Result<Self, MatrixMarketError> {
        Self::of_rows(matrix, 0, options)
    }

    /// Plans to write the rows of a matrix that begin with this one.
    pub(super) fn of_rows(
        matrix: CsrView<'a, V, O>,
        first_row: usize,
        options: WriteOptions,
    ) -> Result<Self, MatrixMarketError> {
        check_threads()?;
        check_combination(options.format, options.field, options.symmetry)?;
        if options.field == Field::Integer {
            check_integers(matrix, first_row, options.symmetry)?;
        }
        if V::IS_COMPLEX && options.field == Field::Real {
            check_real(matrix, first_row)?;
        }
        let (symmetry, rows, cols) = (options.symmetry, matrix.nrows(), matrix.ncols());
        if symmetry != Symmetry::General && rows != cols {
            return Err(Kind::NotSquare { symmetry, rows, cols }.into());
        }
        let mut transpose = None;
        let is_array = options.format == Format::Array;
        // Without rows there are no lines.
        if symmetry != Symmetry::General || is_array && rows > 0 {
            matrix.check_canonical()?;
            transpose = Some(matrix.transpose()?);
        }
        if let (Some(transpose), true) = (&transpose, options.symmetry != Symmetry::General) {
            check_symmetry(matrix, transpose.view(), options.symmetry)?;
        }
        Ok(Self { matrix, options, first_row, transpose })
    }

    fn write(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        self.options.write_banner(writer)?;
        let (rows, cols) = self.matrix.shape();
        if self.options.format == Format::Array {
            writeln!(writer, "{rows} {cols}")?;
            let Some(transpose) = &self.transpose else { return Ok(()) };
            let columns_at_once = 1 + BLOCK / rows.max(1);
            return write_blocks(writer, cols, columns_at_once, |column, text| {
                self.array_column(transpose.view(), column, text);
            });
        }
        writeln!(writer, "{rows} {cols} {}", self.stored_entries())?;
        self.write_entries(writer)
    }

    /// Writes the lines of the entries in coordinate format.
    pub(super) fn write_entries(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        let rows = self.matrix.nrows();
        let rows_at_once = 1 + rows * BLOCK / (rows + self.matrix.nnz()).max(1);
        write_blocks(writer, rows, rows_at_once, |row, text| {
            self.coordinate_row(row, text);
        })
    }

    /// Returns whether an entry is written, rather than implied by symmetry. The diagonal of a skew-symmetric
    /// matrix may have stored zeros, which array format omits.
    fn is_stored(&self, row: usize, column: usize) -> bool {
        let WriteOptions { format, symmetry, .. } = self.options;
        match (symmetry, format) {
            (Symmetry::General, _) => true,
            (Symmetry::SkewSymmetric, Format::Array) => row > column,
            (Symmetry::Symmetric | Symmetry::Hermitian | Symmetry::SkewSymmetric, _) => row >= column,
        }
    }

    fn stored_entries(&self) -> usize {
        if self.options.symmetry == Symmetry::General {
            return self.matrix.nnz();
        }
        self.matrix.iter().filter(|&(row, column, _)| self.is_stored(row, column)).count()
    }

    fn coordinate_row(&self, row: usize, text: &mut Vec<u8>) {
        let mut number = itoa::Buffer::new();
        for (column, value) in self.matrix.row(row).iter().flat_map(crate::csr::Row::iter) {
            if !self.is_stored(row, column as usize) {
                continue;
            }
            text.extend_from_slice(number.format(self.first_row + row + 1).as_bytes());
            text.push(b' ');
            text.extend_from_slice(number.format(u64::from(column) + 1).as_bytes());
            if self.options.field != Field::Pattern {
                text.push(b' ');
                push_value(self.options.field, value, text);
            }
            text.push(b'\n');
        }
    }

    fn array_column(&self, transpose: CsrView<'_, V, O>, column: usize, text: &mut Vec<u8>) {
        let mut stored = transpose.row(column).into_iter().flat_map(|row| row.iter()).peekable();
        for row in 0..self.matrix.nrows() {
            let value = stored.next_if(|&(at, _)| at as usize == row).map_or(V::ZERO, |(_, value)| value);
            if self.is_stored(row, column) {
                push_value(self.options.field, value, text);
                text.push(b'\n');
            }
        }
    }
}

/// Appends a value as the field has it.
pub(super) fn push_value<V: Scalar>(field: Field, value: V, text: &mut Vec<u8>) {
    let (re, im) = value.parts();
    match field {
        Field::Real => re.push_shortest(text),
        Field::Integer => {
            // Checked to be an integer in range. 2⁶⁴ becomes 2⁶⁴ - 1, which is read as 2⁶⁴.
            let (whole, mut number) = (re.to_f64(), itoa::Buffer::new());
            let digits = if whole < 0.0 { number.format(whole as i64) } else { number.format(whole as u64) };
            text.extend_from_slice(digits.as_bytes());
        }
        Field::Complex => {
            re.push_shortest(text);
            text.push(b' ');
            if V::IS_COMPLEX {
                im.push_shortest(text);
            } else {
                text.push(b'0');
            }
        }
        Field::Pattern => {}
    }
}

/// Formats `count` lines, or groups of lines, in parallel in blocks of `step`, and writes them in order.
pub(super) fn write_blocks(
    writer: &mut dyn Write,
    count: usize,
    step: usize,
    format: impl Fn(usize, &mut Vec<u8>) + Sync,
) -> std::io::Result<()> {
    let blocks = count.div_ceil(step);
    // Keep just enough text in memory to occupy all threads.
    let window = 4 * rayon::current_num_threads();
    for first in (0..blocks).step_by(window) {
        let texts = parallel::map(window.min(blocks - first), 1, |at| {
            let block = first + at;
            let mut text = Vec::new();
            for item in block * step..count.min((block + 1) * step) {
                format(item, &mut text);
            }
            text
        });
        for text in texts {
            writer.write_all(&text)?;
        }
    }
    Ok(())
}

fn unrepresentable(row: usize, column: usize, reason: &'static str) -> MatrixMarketError {
    Kind::Unrepresentable { row: row + 1, column: column + 1, reason }.into()
}

/// Checks that the written entries are integers of 64 bits, signed or unsigned.
fn check_integers<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    first_row: usize,
    symmetry: Symmetry,
) -> Result<(), MatrixMarketError> {
    const POWER_63: f64 = 9_223_372_036_854_775_808.0;
    let whole = |value: f64| {
        let is_negative_zero = value == 0.0 && value.is_sign_negative();
        value.fract() == 0.0 && (-POWER_63..=2.0 * POWER_63).contains(&value) && !is_negative_zero
    };
    let is_implied = |row, column| symmetry != Symmetry::General && row < column;
    let is_whole =
        |(re, im): (V::Real, V::Real)| whole(re.to_f64()) && whole(im.to_f64()) && im.to_f64() == 0.0;
    let not_whole = |row, column, value: V| !is_implied(row, column) && !is_whole(value.parts());
    match matrix.iter().find(|&(row, column, value)| not_whole(row, column, value)) {
        None => Ok(()),
        Some((row, column, _)) => Err(unrepresentable(first_row + row, column, "is not a 64-bit integer")),
    }
}

/// Checks that no value has an imaginary part.
fn check_real<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    first_row: usize,
) -> Result<(), MatrixMarketError> {
    match matrix.iter().find(|&(_, _, value)| value.parts().1.to_f64() != 0.0) {
        None => Ok(()),
        Some((row, column, _)) => {
            let reason = "has an imaginary part: write the matrix with Field::Complex";
            Err(unrepresentable(first_row + row, column, reason))
        }
    }
}

/// Compares a square, canonical matrix with its transpose.
fn check_symmetry<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    transpose: CsrView<'_, V, O>,
    symmetry: Symmetry,
) -> Result<(), MatrixMarketError> {
    let skew = symmetry == Symmetry::SkewSymmetric;
    let hermitian = symmetry == Symmetry::Hermitian;
    // The sum of duplicates can be NaN with either sign, or a zero whose mirror image is a zero of the same sign.
    let is_same_part = |part: V::Real, image: V::Real, is_negated: bool| {
        let (part, image) = (part.to_f64(), if is_negated { -image.to_f64() } else { image.to_f64() });
        part.to_bits() == image.to_bits()
            || part.is_nan() && image.is_nan()
            || is_negated && part == 0.0 && image == 0.0
    };
    let is_same = |value: V, image: V| {
        let ((re, im), (image_re, image_im)) = (value.parts(), image.parts());
        is_same_part(re, image_re, skew) && is_same_part(im, image_im, skew || hermitian)
    };
    for (row, (ours, theirs)) in matrix.iter_rows().zip(transpose.iter_rows()).enumerate() {
        for ((column, value), (mirrored, image)) in ours.iter().zip(theirs.iter()) {
            if column != mirrored {
                let column = column.min(mirrored) as usize;
                return Err(unrepresentable(row, column, "or its mirror image is missing"));
            }
            if skew && column as usize == row && value != V::ZERO {
                return Err(unrepresentable(row, row, "is on the diagonal of a skew-symmetric matrix"));
            }
            if hermitian && column as usize == row && value.parts().1.to_f64() != 0.0 {
                let reason = "is on the diagonal of a Hermitian matrix, and has an imaginary part";
                return Err(unrepresentable(row, row, reason));
            }
            if !is_same(value, image) {
                return Err(unrepresentable(row, column as usize, "differs from its mirror image"));
            }
        }
        if ours.len() != theirs.len() {
            let longer = if ours.len() > theirs.len() { ours } else { theirs };
            let column = longer.columns()[ours.len().min(theirs.len())] as usize;
            return Err(unrepresentable(row, column, "or its mirror image is missing"));
        }
    }
    Ok(())
}
