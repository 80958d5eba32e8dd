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
/// let options = ReadOptions::new().complex(Complex::RealPart);
/// let a = MatrixMarketReader::from_bytes(file, options)?.read_csr::<f64, u32>()?;
/// assert_eq!(a.get(0, 0), Some(2.5));
/// assert!(MatrixMarketReader::from_bytes(file, ReadOptions::new())?.read_coo::<f64>().is_err());
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
/// let options = ReadOptions::new().progress(|progress| match progress.stage {
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
/// let options = ReadOptions::new().progress(|progress| eprintln!("{} of {}", progress.done, progress.total));
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
/// let options = ReadOptions::new().complex(Complex::RealPart);
/// let a: evenpath::Csr<f64> = MatrixMarketReader::from_bytes(text, options)?.read_csr()?;
/// assert_eq!(a.values(), [2.5]);
/// # Ok::<(), evenpath::io::MatrixMarketError>(())
/// ```
#[derive(Clone)]
pub struct ReadOptions {
    pub(super) complex: Complex,
    pub(super) duplicates: Duplicates,
    pub(super) row_limit: usize,
    file_limit: Option<usize>,
    decompressed_limit: Option<usize>,
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
    /// Complex matrices are refused and duplicates added up.
    pub fn new() -> Self {
        Self::default()
    }

    /// How complex matrices are read.
    #[must_use]
    pub fn complex(mut self, complex: Complex) -> Self {
        self.complex = complex;
        self
    }

    /// How entries that are stored more than once are combined, in CSR form.
    #[must_use]
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// The most rows that a file with less than one byte per row may announce; 2²⁷ unless set. It bounds what a
    /// few bytes of header can make the reader allocate for row offsets.
    #[must_use]
    pub fn row_limit(mut self, rows: usize) -> Self {
        self.row_limit = rows;
        self
    }

    /// The most bytes that a file may have, compressed where it is. Unless set, a regular file may be as long as there is
    /// memory, and a pipe or a device, whose end only reading finds, has 2³⁰.
    #[must_use]
    pub fn file_limit(mut self, bytes: usize) -> Self {
        self.file_limit = Some(bytes);
        self
    }

    /// The most bytes that a compressed file may decompress to; unless set, 1 GiB or 256 times its size,
    /// whichever is more.
    #[must_use]
    pub fn decompressed_limit(mut self, bytes: usize) -> Self {
        self.decompressed_limit = Some(bytes);
        self
    }

    /// A function that is called from time to time while a file is read, to draw a progress bar. Threads call it
    /// concurrently, so `done` may arrive out of order.
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
        self
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
