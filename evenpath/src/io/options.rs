//! How a file is read.

use std::fmt;
use std::sync::Arc;

use super::MatrixMarketErrorKind as Kind;
use crate::Duplicates;

/// How a complex matrix is read.
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
    /// It is an error.
    #[default]
    Refuse,
    /// Its real part is read.
    RealPart,
}

/// What the reader is doing.
///
/// ```
/// use evenpath::io::{MatrixMarketReader, ReadOptions, Stage};
///
/// let options = ReadOptions::default().with_progress(|progress| match progress.stage {
///     Stage::Decompress => eprintln!("decompressing"),
///     Stage::Parse => eprintln!("reading"),
/// });
/// let file = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 0.5\n";
/// MatrixMarketReader::from_bytes(file, options)?.read_coo::<f64>()?;
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Decompressing; bytes are those of the file.
    Decompress,
    /// Parsing; bytes are those of the text.
    Parse,
}

/// The progress of a reader.
///
/// ```
/// use evenpath::io::{MatrixMarketReader, ReadOptions};
///
/// let options = ReadOptions::default().with_progress(|progress| eprintln!("{} of {}", progress.done, progress.total));
/// let file = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 0.5\n";
/// MatrixMarketReader::from_bytes(file, options)?.read_coo::<f64>()?;
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// Bytes done in this stage.
    pub done: u64,
    /// Bytes of this stage in all.
    pub total: u64,
}

type Callback = Arc<dyn Fn(Progress) + Send + Sync>;

/// How to read.
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
    /// What becomes of complex matrices; they are refused by default.
    pub complex: Complex,
    /// What becomes of entries that are stored more than once, in CSR form; they are added up by default.
    pub duplicates: Duplicates,
    /// Most rows that a file shorter than one byte per row may announce; 2²⁷ by default. It bounds what a few bytes of header
    /// can make the reader allocate for row offsets.
    pub row_limit: usize,
    /// Most bytes that a file may have, compressed where it is. By default a regular file may be as long as there is memory,
    /// and a pipe or a device, whose end only reading finds, has 2³⁰.
    pub file_limit: Option<usize>,
    /// Most bytes that a compressed file may decompress to; by default 1 GiB or 256 times its size, whichever is more.
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
    /// The same with another treatment of complex matrices.
    #[must_use]
    pub fn with_complex(self, complex: Complex) -> Self {
        Self { complex, ..self }
    }

    /// The same with another treatment of duplicates.
    #[must_use]
    pub fn with_duplicates(self, duplicates: Duplicates) -> Self {
        Self { duplicates, ..self }
    }

    /// The same with another limit on the rows that a short file announces.
    #[must_use]
    pub fn with_row_limit(self, rows: usize) -> Self {
        Self { row_limit: rows, ..self }
    }

    /// The same with a limit on the bytes of the file.
    #[must_use]
    pub fn with_file_limit(self, bytes: impl Into<Option<usize>>) -> Self {
        Self { file_limit: bytes.into(), ..self }
    }

    /// The same with a limit on the bytes that a compressed file decompresses to.
    #[must_use]
    pub fn with_decompressed_limit(self, bytes: impl Into<Option<usize>>) -> Self {
        Self { decompressed_limit: bytes.into(), ..self }
    }

    /// The same with a function to call now and then while a file is read, to draw a progress bar. Threads call it
    /// concurrently, so `done` may arrive out of order.
    #[must_use]
    pub fn with_progress(self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { progress: Some(Arc::new(callback)), ..self }
    }

    pub(super) fn report(&self, progress: Progress) {
        if let Some(callback) = &self.progress {
            callback(progress);
        }
    }

    /// The length of a regular file, where that is allowed.
    pub(super) fn checked_len(&self, len: u64) -> Result<usize, Kind> {
        let limit = self.file_limit.unwrap_or(usize::MAX);
        usize::try_from(len).ok().filter(|&len| len <= limit).ok_or(Kind::FileLimit { limit })
    }

    /// The most bytes that a file without a length may have.
    pub(super) fn stream_limit(&self) -> usize {
        self.file_limit.unwrap_or(1 << 30)
    }

    pub(super) fn decompressed_limit_of(&self, compressed: usize) -> usize {
        self.decompressed_limit.unwrap_or(compressed.saturating_mul(256).max(1 << 30))
    }
}

/// Two callbacks are equal if they are the same one.
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
