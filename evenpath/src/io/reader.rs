//! The Matrix Market reader.

use std::fmt;
use std::path::{Path, PathBuf};

use super::body::Body;
use super::cursor::Cursor;
use super::header::check_start;
use super::options::{Complex, ReadOptions};
use super::source::TextSource;
use super::{
    Field, Format, MatrixMarketError, MatrixMarketErrorKind as Kind, MatrixMarketHeader, Symmetry, expand,
};
use crate::memory::try_zeroed;
use crate::{Coo, Csr, MatrixError, Offset, Scalar};

/// An open Matrix Market file. Its header has been parsed, its entries have not been read.
///
/// ```
/// use evenpath::Csr;
/// use evenpath::io::{MatrixMarketReader, ReadOptions, Symmetry};
///
/// let file = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4.0\n2 1 -1.5\n";
/// let reader = MatrixMarketReader::from_bytes(file, ReadOptions::default())?; // or `open`, for a path
/// assert_eq!((reader.header().nrows, reader.header().symmetry), (2, Symmetry::Symmetric));
/// let a: Csr<f32, u64> = reader.read_csr()?;
/// assert_eq!(a.to_dense()?, [4.0, -1.5, -1.5, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixMarketReader<'a> {
    path: Option<PathBuf>,
    text: TextSource<'a>,
    body_start: usize,
    header: MatrixMarketHeader,
    options: ReadOptions,
}

impl MatrixMarketReader<'static> {
    /// Reads a file into memory, decompresses gzip, and parses the header. Later changes to the file have no effect.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, exceeds [`file_limit`](ReadOptions::file_limit), or its header is not
    /// valid.
    pub fn open(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self, MatrixMarketError> {
        let path = path.as_ref();
        Self::in_file(path, TextSource::read(path, &options, check_start), options)
    }

    /// Like [`open`](Self::open), but maps the file instead of copying it, for files that do not fit in
    /// memory beside the matrix. Compressed files, pipes and devices are read like by `open`.
    ///
    /// ```no_run
    /// use evenpath::io::{MatrixMarketReader, ReadOptions};
    ///
    /// // SAFETY: the file is on a disk that is mounted read-only.
    /// let reader = unsafe { MatrixMarketReader::open_mapped("/data/large.mtx", ReadOptions::default())? };
    /// let a: evenpath::Csr<f64, u64> = reader.read_csr()?;
    /// # Ok::<(), evenpath::io::MatrixMarketError>(())
    /// ```
    ///
    /// # Safety
    /// While the reader exists, no program may write to the file or truncate it. The text would change while it is
    /// parsed, and access to a truncated page kills the process with a signal.
    ///
    /// # Errors
    ///
    /// The same as for [`open`](Self::open).
    pub unsafe fn open_mapped(
        path: impl AsRef<Path>,
        options: ReadOptions,
    ) -> Result<Self, MatrixMarketError> {
        let path = path.as_ref();
        // SAFETY: the caller's guarantee holds for the lifetime of the reader, which owns the source.
        Self::in_file(path, unsafe { TextSource::map(path, &options, check_start) }, options)
    }

    fn in_file(
        path: &Path,
        source: Result<TextSource<'static>, MatrixMarketError>,
        options: ReadOptions,
    ) -> Result<Self, MatrixMarketError> {
        let reader = source.and_then(|source| Self::new(Some(path.into()), source, options));
        reader.map_err(|error| error.in_file(Some(path)))
    }
}

impl<'a> MatrixMarketReader<'a> {
    /// Parses the header of a file in memory, text or gzip.
    ///
    /// # Errors
    ///
    /// If the header is not valid, or the bytes cannot be decompressed.
    pub fn from_bytes(bytes: &'a [u8], options: ReadOptions) -> Result<Self, MatrixMarketError> {
        Self::new(None, TextSource::Borrowed(bytes), options)
    }

    fn new(
        path: Option<PathBuf>,
        source: TextSource<'a>,
        options: ReadOptions,
    ) -> Result<Self, MatrixMarketError> {
        let text = source.decompressed(&options, check_start)?;
        let mut cursor = Cursor::new(&text);
        let header = MatrixMarketHeader::parse(&mut cursor)?;
        let body_start = cursor.position();
        Ok(Self { path, text, body_start, header, options })
    }

    /// The header of the file.
    pub fn header(&self) -> &MatrixMarketHeader {
        &self.header
    }

    /// Reads the entries: first the stored ones in the order of the file, then those implied by symmetry. Duplicates are
    /// kept.
    ///
    /// # Errors
    ///
    /// If an entry is invalid; the error names its line. If there are more or fewer entries than stated.
    pub fn read_coo<V: Scalar>(&self) -> Result<Coo<V>, MatrixMarketError> {
        self.coo().map_err(|error| error.in_file(self.path.as_deref()))
    }

    /// Reads the entries into CSR. The result is canonical unless the options keep duplicates.
    ///
    /// # Errors
    ///
    /// If an entry is invalid; the error names its line. If there are more or fewer entries than stated, `O`
    /// cannot count them, or there is a duplicate and the options refuse duplicates.
    pub fn read_csr<V: Scalar, O: Offset>(&self) -> Result<Csr<V, O>, MatrixMarketError> {
        let csr = self.coo().and_then(|coo| {
            self.check_rows()?;
            Ok(coo.to_csr_with_offsets(self.options.duplicates)?)
        });
        csr.map_err(|error| error.in_file(self.path.as_deref()))
    }

    /// Reads every element, column by column: as many as rows times columns. Elements that a coordinate file has no entry for are zero,
    /// those with several are their sum; entries implied by symmetry are there too.
    ///
    /// ```
    /// use evenpath::io::{MatrixMarketReader, ReadOptions};
    ///
    /// let file = b"%%MatrixMarket matrix array real general\n2 2\n1.0\n2.0\n3.0\n4.0\n"; // two right-hand sides
    /// let reader = MatrixMarketReader::from_bytes(file, ReadOptions::default())?;
    /// assert_eq!(reader.read_dense::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as for [`read_coo`](Self::read_coo). If a coordinate file has less than a byte for every two elements, and these exceed
    /// [`row_limit`](ReadOptions::row_limit), or there is too little memory.
    pub fn read_dense<V: Scalar>(&self) -> Result<Vec<V>, MatrixMarketError> {
        self.dense().map_err(|error| error.in_file(self.path.as_deref()))
    }

    fn dense<V: Scalar>(&self) -> Result<Vec<V>, MatrixMarketError> {
        let MatrixMarketHeader { format, field, symmetry, nrows: rows, ncols: cols, .. } = self.header;
        if (field != Field::Complex || V::IS_COMPLEX)
            && (format, symmetry) == (Format::Array, Symmetry::General)
        {
            return Ok(self.body().array()?.values);
        }
        let coo = self.coo()?;
        let (bytes, limit) = (self.text.len(), self.options.row_limit);
        let len = rows.checked_mul(cols).ok_or(MatrixError::DenseTooLarge { rows, cols })?;
        // An array file of a symmetric matrix has at least a byte for every two elements.
        if len > limit && len / 2 > bytes {
            return Err(Kind::RowLimit { rows: len, bytes, limit }.into());
        }
        let too_large = |()| MatrixError::DenseTooLarge { rows, cols };
        let mut values: Vec<V> = try_zeroed(len).map_err(too_large)?;
        for ((&row, &column), &value) in coo.row_indices().iter().zip(coo.column_indices()).zip(coo.values())
        {
            values[column as usize * rows + row as usize] += value;
        }
        Ok(values)
    }

    fn body(&self) -> Body<'_> {
        Body { text: &self.text, start: self.body_start, header: &self.header, options: &self.options }
    }

    fn coo<V: Scalar>(&self) -> Result<Coo<V>, MatrixMarketError> {
        if self.header.field == Field::Complex && !V::IS_COMPLEX && self.options.complex == Complex::Refuse {
            return Err(MatrixMarketError::at_line(1, Kind::Complex));
        }
        let body = self.body();
        match self.header.format {
            Format::Coordinate => expand::coordinates(&body, body.coordinates()?),
            Format::Array => expand::array(&body, &body.array()?.values),
        }
    }

    fn check_rows(&self) -> Result<(), MatrixMarketError> {
        let (rows, bytes, limit) = (self.header.nrows, self.text.len(), self.options.row_limit);
        if rows > limit && rows > bytes {
            return Err(Kind::RowLimit { rows, bytes, limit }.into());
        }
        Ok(())
    }
}

impl fmt::Debug for MatrixMarketReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatrixMarketReader")
            .field("path", &self.path)
            .field("header", &self.header)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
