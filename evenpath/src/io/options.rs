//! Options of the reader.

use std::fmt;
use std::sync::Arc;

use super::MatrixMarketErrorKind as Kind;
use crate::Duplicates;

/// Treatment of complex matrices.
///
/// ```
/// use evenpath::io::{Complex, MatrixMarketReader, ReadOptions};
///
/// let file = b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.5 -1.0\n";
/// let options = ReadOptions::default().with_complex(Complex::RealPart);
/// let a = MatrixMarketReader::from_bytes(file, options)?.read_csr::<f64, u32>()?;
/// assert_eq!(a.get(0, 0), Some(2.5));
/// assert!(MatrixMarketReader::from_bytes(file, ReadOptions::default())?.read_coo::<f64>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Complex {
    /// Refused with an error.
    #[default]
    Refuse,
    /// The real part is read.
    RealPart,
}

/// Current stage of the reader.
///
/// ```
/// use evenpath::io::{MatrixMarketReader, ReadOptions, Stage};
///
/// let options = ReadOptions::default().with_progress(|progress| {
///     assert_eq!(progress.stage, Stage::Parse); // the file is not compressed
/// });
/// let file = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 0.5\n";
/// MatrixMarketReader::from_bytes(file, options)?.read_coo::<f64>()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Decompressing. Progress counts bytes of the file.
    Decompress,
    /// Parsing. Progress counts bytes of the text.
    Parse,
}

/// The progress of a reader.
///
/// ```
/// use evenpath::io::{MatrixMarketReader, ReadOptions};
///
/// let options = ReadOptions::default().with_progress(|progress| {
///     eprintln!("{} of {} bytes", progress.done, progress.total);
///     assert!(progress.done <= progress.total);
/// });
/// let file = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 0.5\n";
/// MatrixMarketReader::from_bytes(file, options)?.read_coo::<f64>()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Bytes processed in this stage.
    pub done: u64,
    /// Total bytes of this stage.
    pub total: u64,
}

type Callback = Arc<dyn Fn(Progress) + Send + Sync>;

/// Options for reading.
///
/// ```
/// use evenpath::io::{Complex, MatrixMarketReader, ReadOptions};
///
/// let text = b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2.5 -1\n";
/// let options = ReadOptions::default().with_complex(Complex::RealPart);
/// let a: evenpath::Csr<f64> = MatrixMarketReader::from_bytes(text, options)?.read_csr()?;
/// assert_eq!(a.values(), [2.5]);
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Treatment of complex matrices that are read into real values. Default: refused. Complex values take both parts.
    pub complex: Complex,
    /// Treatment of duplicates when reading into CSR. Default: summed.
    pub duplicates: Duplicates,
    /// Maximum number of rows for a file with less than one byte per row. Default: 2²⁷. It limits the memory
    /// for row offsets that a short header can request.
    pub row_limit: usize,
    /// The maximum size of a file in bytes, before decompression. By default a regular file may be as long as memory allows;
    /// a pipe or a device, whose length is unknown, is limited to 2³⁰ bytes.
    pub file_limit: Option<usize>,
    /// The maximum size in bytes that a compressed file may decompress to. Default: 1 GiB or 256 times its size, whichever
    /// is more.
    pub decompressed_limit: Option<usize>,
    progress: Option<Callback>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            complex: Complex::default(),
            duplicates: Duplicates::default(),
            row_limit: 1 << 27,
            file_limit: None,
            decompressed_limit: None,
            progress: None,
        }
    }
}

impl ReadOptions {
    /// Sets the treatment of complex matrices.
    #[must_use]
    pub fn with_complex(self, complex: Complex) -> Self {
        Self { complex, ..self }
    }

    /// Sets the treatment of duplicates.
    #[must_use]
    pub fn with_duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// Sets the limit on the number of rows in a short file.
    #[must_use]
    pub fn with_row_limit(self, rows: usize) -> Self {
        Self { row_limit: rows, ..self }
    }

    /// Sets the limit on the size of the file, in bytes.
    #[must_use]
    pub fn with_file_limit(self, bytes: impl Into<Option<usize>>) -> Self {
        Self { file_limit: bytes.into(), ..self }
    }

    /// Sets the limit on the decompressed size of a file, in bytes.
    #[must_use]
    pub fn with_decompressed_limit(self, bytes: impl Into<Option<usize>>) -> Self {
        Self { decompressed_limit: bytes.into(), ..self }
    }

    /// Sets a function that is called from time to time while a file is read, for instance to draw a progress bar. Several
    /// threads call it concurrently, so `done` may arrive out of order.
    #[must_use]
    pub fn with_progress(self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(callback)), ..self }
    }

    pub(super) fn report(&self, progress: Progress) {
        if let Some(callback) = &self.progress {
            callback(progress);
        }
    }

    /// The length of a regular file, if it is within the limit.
    pub(super) fn checked_len(&self, len: u64) -> Result<usize, Kind> {
        let limit = self.file_limit.unwrap_or(usize::MAX);
        usize::try_from(len).ok().filter(|&len| len <= limit).ok_or(Kind::FileLimit { limit })
    }

    /// The limit in bytes for input of unknown length.
    pub(super) fn stream_limit(&self) -> usize {
        self.file_limit.unwrap_or(1 << 30)
    }

    pub(super) fn decompressed_limit_of(&self, compressed: usize) -> usize {
        self.decompressed_limit.unwrap_or(compressed.saturating_mul(256).max(1 << 30))
    }
}

/// Two callbacks are equal if they are the same object.
impl PartialEq for ReadOptions {
    fn eq(&self, other: &Self) -> bool {
        let Self { complex, duplicates, row_limit, file_limit, decompressed_limit, progress } = self;
        let same_callback = match (progress, &other.progress) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        };
        same_callback
            && (*complex, *duplicates) == (other.complex, other.duplicates)
            && (*row_limit, *file_limit) == (other.row_limit, other.file_limit)
            && *decompressed_limit == other.decompressed_limit
    }
}

impl fmt::Debug for ReadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOptions")
            .field("complex", &self.complex)
            .field("duplicates", &self.duplicates)
            .field("row_limit", &self.row_limit)
            .field("file_limit", &self.file_limit)
            .field("decompressed_limit", &self.decompressed_limit)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
