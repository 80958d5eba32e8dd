//! The text of a file: read, mapped, or decompressed.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use flate2::bufread::GzDecoder;
use memmap2::{Mmap, MmapMut};
use rayon::prelude::*;

use super::options::{Progress, ReadOptions, Stage};
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind};
use crate::matrix::check_threads;

/// The magic number of gzip.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes read before the first check of the content, and between checks of a limit.
const STEP: usize = 1 << 20;

/// Bytes of a regular file per task.
const PIECE: usize = 1 << 23;

/// A check of the first bytes of a text, which may be cut anywhere.
pub(super) type StartCheck = fn(&[u8]) -> Result<(), MatrixMarketError>;

/// Bytes of text, in one of several kinds of memory.
pub(super) enum TextSource<'a> {
    Borrowed(&'a [u8]),
    /// A mapped file.
    Mapped(Mmap),
    /// The contents of a regular file, in anonymous pages.
    Read(MmapMut),
    Owned(Vec<u8>),
}

impl Deref for TextSource<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Mapped(map) => map,
            Self::Read(pages) => pages,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl TextSource<'_> {
    /// Reads a file into memory.
    pub(super) fn read(
        path: &Path,
        options: &ReadOptions,
        check: StartCheck,
    ) -> Result<Self, MatrixMarketError> {
        let mut file = File::open(path)?;
        if let Some(len) = regular_len(&file)? {
            return Ok(Self::Read(read_regular(&file, options.checked_len(len)?, check)?));
        }
        let limit = options.stream_limit();
        Ok(Self::Owned(read_to_limit(&mut file, (limit, Kind::FileLimit { limit }), check, |_| {})?))
    }

    /// Maps a file, or reads it if it is a pipe or a device.
    ///
    /// # Safety
    /// The file must not be written to or truncated while the source exists.
    pub(super) unsafe fn map(
        path: &Path,
        options: &ReadOptions,
        check: StartCheck,
    ) -> Result<Self, MatrixMarketError> {
        let file = File::open(path)?;
        let Some(len) = regular_len(&file)? else { return Self::read(path, options, check) };
        options.checked_len(len)?;
        // SAFETY: the caller guarantees that the file does not change.
        let map = unsafe { Mmap::map(&file)? };
        #[cfg(unix)]
        // This is only advice. Without it, reading is slower.
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Self::Mapped(map))
    }

    /// Decompresses gzip data, regardless of the file name.
    pub(super) fn decompressed(
        self,
        options: &ReadOptions,
        check: StartCheck,
    ) -> Result<Self, MatrixMarketError> {
        if is_gzip(&self) { Ok(Self::Owned(gunzip(&self, options, check)?)) } else { Ok(self) }
    }
}

/// Returns whether bytes begin like gzip data.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP_MAGIC)
}

/// The length of a regular file; `None` for pipes, devices and generated files, whose length is unknown.
pub(super) fn regular_len(file: &File) -> io::Result<Option<u64>> {
    let metadata = file.metadata()?;
    Ok(Some(metadata.len()).filter(|&len| metadata.is_file() && len > 0))
}

/// Reads the first `len` bytes, on all threads after a check of the first bytes.
fn read_regular(file: &File, len: usize, check: StartCheck) -> Result<MmapMut, MatrixMarketError> {
    check_threads()?;
    let no_memory =
        |error: io::Error| io::Error::new(error.kind(), format!("not enough memory for {len} bytes"));
    let mut bytes = MmapMut::map_anon(len).map_err(no_memory)?;
    #[cfg(target_os = "linux")]
    // This is only advice. With small pages, page faults take as long as reading.
    let _ = bytes.advise(memmap2::Advice::HugePage);
    let (start, rest) = bytes.split_at_mut(len.min(STEP));
    read_at(file, start, 0)?;
    check_file_start(start, check)?;
    let begin = start.len();
    let pieces = rest.par_chunks_mut(PIECE).enumerate();
    pieces.try_for_each(|(piece, bytes)| read_at(file, bytes, (begin + piece * PIECE) as u64))?;
    Ok(bytes)
}

/// Fills `bytes` from a position of the file.
pub(super) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    let read = std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset);
    #[cfg(not(unix))]
    let read = {
        use std::io::{Seek, SeekFrom};
        // Cloned handles share one file position, so only one thread may read at a time.
        static ONE_READER: parking_lot::Mutex<()> = parking_lot::Mutex::new(());
        let _one = ONE_READER.lock();
        let mut file = file;
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(bytes))
    };
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "the file was truncated while it was read")
        }
        _ => error,
    })
}

/// Refuses data that is neither gzip nor begins like the format, before reading more.
fn check_file_start(bytes: &[u8], check: StartCheck) -> Result<(), MatrixMarketError> {
    if is_gzip(bytes) { Ok(()) } else { check(bytes) }
}

/// Reads to the end, at most `limit` bytes. Calls `step` from time to time.
fn read_to_limit<R: Read>(
    reader: &mut R,
    (limit, beyond): (usize, Kind),
    check: StartCheck,
    mut step: impl FnMut(&R),
) -> Result<Vec<u8>, MatrixMarketError> {
    let mut bytes = Vec::new();
    loop {
        // The vector grows with the bytes read, not with the size that a stream claims.
        let left = limit.saturating_sub(bytes.len()).saturating_add(1).min(STEP);
        let read = reader.by_ref().take(left as u64).read_to_end(&mut bytes)?;
        if bytes.len() > limit {
            return Err(beyond.into());
        }
        if bytes.len() == read {
            check_file_start(&bytes, check)?;
        }
        step(reader);
        if read < left {
            return Ok(bytes);
        }
    }
}

/// Decompresses all members of a gzip stream. Zeros may follow the last, such as padding by a tape or a block
/// device.
fn gunzip(compressed: &[u8], options: &ReadOptions, check: StartCheck) -> Result<Vec<u8>, MatrixMarketError> {
    let limit = options.decompressed_limit_of(compressed.len());
    let total = compressed.len();
    let mut members = Members { member: GzDecoder::new(compressed), is_done: false };
    let text = read_to_limit(&mut members, (limit, Kind::DecompressedLimit { limit }), check, |members| {
        let done = (total - members.rest().len()) as u64;
        options.report(Progress { stage: Stage::Decompress, done, total: total as u64 });
    })?;
    let trailer = members.rest();
    if trailer.iter().any(|&byte| byte != 0) {
        return Err(Kind::GzipTrailer { position: total - trailer.len(), bytes: trailer.len() }.into());
    }
    Ok(text)
}

/// The members of a gzip stream, one after another. Ends at the first byte that does not start a member.
struct Members<'a> {
    member: GzDecoder<&'a [u8]>,
    is_done: bool,
}

impl<'a> Members<'a> {
    /// Bytes that have not been decompressed.
    fn rest(&self) -> &'a [u8] {
        self.member.get_ref()
    }
}

impl Read for Members<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !bytes.is_empty() {
            let read = self.member.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            let rest = self.rest();
            if is_gzip(rest) {
                self.member = GzDecoder::new(rest);
            } else {
                self.is_done = true;
            }
        }
        Ok(0)
    }
}
