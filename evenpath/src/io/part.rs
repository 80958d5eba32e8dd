//! Reading of a part of a file's entries, for readers that share the work.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use super::body::Body;
use super::cursor::{Cursor, line_at};
use super::header::check_start;
use super::options::{Complex, ReadOptions};
use super::source::{TextSource, is_gzip, read_at, regular_len};
use super::{Field, Format, MatrixMarketError, MatrixMarketErrorKind as Kind, MatrixMarketHeader, expand};
use crate::memory::try_zeroed;
use crate::{Coo, Scalar};

/// Number of bytes read at once to find the end of a line or of the header.
const STEP: u64 = 1 << 16;

/// A part of a coordinate file, read by [`read_matrix_market_part`].
///
/// ```
/// use evenpath::io::{ReadOptions, read_matrix_market_part};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0.5\n2 1 4.5\n")?;
/// let first = read_matrix_market_part::<f64>(&path, &ReadOptions::default(), 0, 2)?;
/// let second = read_matrix_market_part::<f64>(&path, &ReadOptions::default(), 1, 2)?;
/// assert_eq!(first.header.entries, 2);
/// assert_eq!((first.stored.values(), second.stored.values()), (&[0.5][..], &[4.5][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct MatrixMarketPart<V: Scalar> {
    /// The header of the whole file.
    pub header: MatrixMarketHeader,
    /// Size of the whole file's text in bytes. A reader that allocates memory per row compares it with the
    /// number of rows in the header.
    pub text_bytes: u64,
    /// Entries of the part, in the order of the file, without those that symmetry implies.
    pub stored: Coo<V>,
}

/// Reads part `part` of `parts` of a Matrix Market file in coordinate format. The bytes of the entries are
/// divided into `parts` ranges of equal length; a line belongs to the range in which it starts. The parts
/// together have every stored entry once, in the order of the file, and each reads little more than its own
/// range. A compressed file is decompressed as a whole for each part.
///
/// Two checks of the ordinary reader need all parts and are left to the caller: that the number of entries is
/// that of the header, and that only one of two mirrored positions is stored in a symmetric matrix.
///
/// # Errors
///
/// The same as for [`read_coo`](super::read_coo), with the line in the whole file; if the file is in array
/// format, or `part` is not below `parts`.
pub fn read_matrix_market_part<V: Scalar>(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    part: usize,
    parts: usize,
) -> Result<MatrixMarketPart<V>, MatrixMarketError> {
    let path = path.as_ref();
    read(path, options, part, parts).map_err(|error| error.in_file(Some(path)))
}

fn read<V: Scalar>(
    path: &Path,
    options: &ReadOptions,
    part: usize,
    parts: usize,
) -> Result<MatrixMarketPart<V>, MatrixMarketError> {
    if part >= parts {
        let reason = format!("part {part} does not exist: there are {parts} parts, counted from 0");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason).into());
    }
    let text = Text::open(path, options)?;
    let (header, start) = text.header()?;
    if header.format == Format::Array {
        return Err(MatrixMarketError::at_line(1, Kind::ArrayPart));
    }
    if header.field == Field::Complex && !V::IS_COMPLEX && options.complex == Complex::Refuse {
        return Err(MatrixMarketError::at_line(1, Kind::Complex));
    }
    let length = text.len() - start;
    let cut = |part: usize| start + (u128::from(length) * part as u128 / parts as u128) as u64;
    let begin = text.next_line(cut(part), start)?;
    let end = text.next_line(cut(part + 1), start)?;
    let stretch = text.read(begin, end)?;
    let stored = entries(&stretch, &header, options);
    match stored {
        Ok(stored) => Ok(MatrixMarketPart { header, text_bytes: text.len(), stored }),
        Err(error) => Err(error.after_lines(text.lines_before(begin)?)),
    }
}

/// Parses the stored entries of a range. Lines in an error count from the range's first.
fn entries<V: Scalar>(
    stretch: &[u8],
    header: &MatrixMarketHeader,
    options: &ReadOptions,
) -> Result<Coo<V>, MatrixMarketError> {
    let body = Body { text: stretch, start: 0, header, options };
    let stored = body.coordinates_of_part()?;
    expand::check_diagonal(&body, &stored)?;
    Ok(Coo::from_valid(header.nrows, header.ncols, stored.rows, stored.columns, stored.values))
}

/// Text of a file: in memory, or read on demand.
enum Text {
    Memory(TextSource<'static>),
    File { file: File, len: u64 },
}

impl Text {
    fn open(path: &Path, options: &ReadOptions) -> Result<Self, MatrixMarketError> {
        let file = File::open(path)?;
        if let Some(len) = regular_len(&file)? {
            options.checked_len(len)?;
            let text = Self::File { file, len };
            if !is_gzip(&text.read(0, len.min(2))?) {
                return Ok(text);
            }
        }
        Ok(Self::Memory(TextSource::read(path, options, check_start)?.decompressed(options, check_start)?))
    }

    fn len(&self) -> u64 {
        match self {
            Self::Memory(text) => text.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// Reads the bytes from `begin` to `end`, which are within the text.
    fn read(&self, begin: u64, end: u64) -> Result<Cow<'_, [u8]>, MatrixMarketError> {
        match self {
            Self::Memory(text) => Ok(Cow::Borrowed(&text[begin as usize..end as usize])),
            Self::File { file, .. } => {
                let len = (end - begin) as usize;
                let no_memory = |()| {
                    io::Error::new(io::ErrorKind::OutOfMemory, format!("not enough memory for {len} bytes"))
                };
                let mut bytes = try_zeroed(len).map_err(no_memory)?;
                read_at(file, &mut bytes, begin)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Parses the header, and returns its length in bytes.
    fn header(&self) -> Result<(MatrixMarketHeader, u64), MatrixMarketError> {
        let mut len = STEP;
        loop {
            let text = self.read(0, len.min(self.len()))?;
            check_start(&text)?;
            if len >= self.len() || has_size_line(&text) {
                let mut cursor = Cursor::new(&text);
                let header = MatrixMarketHeader::parse(&mut cursor)?;
                return Ok((header, cursor.position() as u64));
            }
            len = len.saturating_mul(2);
        }
    }

    /// Position of the first line that starts at `at` or later; one starts at `first`, which is not after
    /// `at`.
    fn next_line(&self, at: u64, first: u64) -> Result<u64, MatrixMarketError> {
        if at <= first {
            return Ok(first);
        }
        let mut from = at - 1;
        while from < self.len() {
            let text = self.read(from, self.len().min(from + STEP))?;
            if let Some(end) = memchr::memchr(b'\n', &text) {
                return Ok(from + end as u64 + 1);
            }
            from += text.len() as u64;
        }
        Ok(self.len())
    }

    /// Number of lines that end before `position`.
    fn lines_before(&self, position: u64) -> Result<usize, MatrixMarketError> {
        let (mut lines, mut from) = (0, 0);
        while from < position {
            let text = self.read(from, position.min(from + STEP))?;
            lines += line_at(&text, text.len()) - 1;
            from += text.len() as u64;
        }
        Ok(lines)
    }
}

/// Returns whether the first line that is neither the banner nor blank nor a comment ends in the text.
fn has_size_line(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text);
    cursor.skip_line();
    cursor.skip_to_entry() && memchr::memchr(b'\n', &text[cursor.position()..]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read_coo;

    /// Creates a file in a folder that is removed with it.
    fn file(text: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mtx");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn part(path: &Path, part: usize, parts: usize) -> Result<MatrixMarketPart<f64>, MatrixMarketError> {
        read_matrix_market_part(path, &ReadOptions::default(), part, parts)
    }

    #[test]
    fn parts_have_every_line_once() {
        // Lines of every length, blank ones, comments, both kinds of line ends, and none after the last entry.
        let mut text = b"%%MatrixMarket matrix coordinate real general\n% a comment\n\n50 7 90\n".to_vec();
        for entry in 0..90_u32 {
            let line =
                format!("{}{} {} {}.5", " ".repeat(entry as usize % 9), entry % 50 + 1, entry % 7 + 1, entry);
            text.extend_from_slice(line.as_bytes());
            text.extend_from_slice(match entry % 5 {
                0 => b"\r\n",
                1 => b"\n\n",
                2 => b"\n%\n% 1 1 1.0\n",
                _ => b"\n",
            });
        }
        text.pop();
        let (_folder, path) = file(&text);
        let whole = read_coo::<f64>(&path).unwrap();
        for parts in [1, 2, 3, 4, 7, 89, 5000] {
            let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for number in 0..parts {
                let part = part(&path, number, parts).unwrap();
                assert_eq!((part.header.nrows, part.header.entries), (50, 90));
                let (part_rows, part_columns, part_values) = part.stored.into_parts();
                rows.extend(part_rows);
                columns.extend(part_columns);
                values.extend(part_values);
            }
            assert_eq!(rows, whole.row_indices(), "{parts} parts");
            assert_eq!(columns, whole.column_indices(), "{parts} parts");
            assert_eq!(values, whole.values(), "{parts} parts");
        }
    }

    #[test]
    fn an_error_names_the_line_in_the_file() {
        let line = |row| if row == 71 { format!("{row} 101 1.0\n") } else { format!("{row} 1 1.0\n") };
        let lines: Vec<String> = (1..=100).map(line).collect();
        let text = format!("%%MatrixMarket matrix coordinate real general\n100 100 100\n{}", lines.concat());
        let (_folder, path) = file(text.as_bytes());
        for parts in [1, 3, 7] {
            let errors: Vec<_> = (0..parts).filter_map(|number| part(&path, number, parts).err()).collect();
            assert_eq!(errors.len(), 1, "{parts} parts");
            assert_eq!(errors[0].line(), Some(73), "{parts} parts: {}", errors[0]);
            assert_eq!(errors[0].path(), Some(&*path));
        }
    }

    #[test]
    fn long_headers_and_files_that_have_no_parts() {
        let comments = format!("% {}\n", "x".repeat(1000)).repeat(300);
        let text = format!("%%MatrixMarket matrix coordinate pattern symmetric\n{comments}3 3 1\n3 1\n");
        let (_folder, path) = file(text.as_bytes());
        let stored: Vec<usize> = (0..3).map(|number| part(&path, number, 3).unwrap().stored.nnz()).collect();
        assert_eq!(stored.iter().sum::<usize>(), 1);

        let refused = |text: &str, number: usize| {
            let (_folder, path) = file(text.as_bytes());
            part(&path, number, 2).unwrap_err()
        };
        let array = "%%MatrixMarket matrix array real general\n1 1\n1.0\n";
        assert!(matches!(refused(array, 0).kind(), Kind::ArrayPart));
        assert!(matches!(refused("no matrix", 0).kind(), Kind::Banner { .. }));
        let complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 1.0\n";
        assert!(matches!(refused(complex, 0).kind(), Kind::Complex));
        let skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1.0\n";
        assert!(matches!(refused(skew, 0).kind(), Kind::SkewDiagonal { row: 2 }));
        let one = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.0\n";
        assert!(refused(one, 2).to_string().contains("part 2 does not exist: there are 2 parts"));
        let cut = "%%MatrixMarket matrix coordinate real general\n";
        assert!(refused(cut, 1).to_string().contains("the end of the file"));
    }
}
