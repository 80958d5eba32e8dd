//! The text of a file: mapped, read, or decompressed.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use memmap2::Mmap;

use super::reader::{Progress, ReadOptions, Stage};
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind};

/// The first bytes of every gzip stream.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes of text, wherever they are.
pub(super) enum Source<'a> {
    Borrowed(&'a [u8]),
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Deref for Source<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Source<'_> {
    /// Maps a file, or reads it where it is a pipe or a device.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() > 0 {
            // SAFETY: the mapping is private and read only. Nothing relies on two reads of a byte giving the
            // same: should another program change the file meanwhile, which the documentation asks not to do,
            // the parser sees other text, but stays inside the map.
            let map = unsafe { Mmap::map(&file)? };
            #[cfg(unix)]
            // Advice only: without it, reading is merely slower.
            let _ = map.advise(memmap2::Advice::Sequential);
            return Ok(Self::Mapped(map));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::Owned(bytes))
    }

    /// Decompresses what is gzip, whatever it is called.
    pub(super) fn decompressed(self, options: &ReadOptions) -> Result<Self, MatrixMarketError> {
        if self.starts_with(&GZIP_MAGIC) { Ok(Self::Owned(gunzip(&self, options)?)) } else { Ok(self) }
    }
}

/// Decompresses all members of a gzip stream.
fn gunzip(compressed: &[u8], options: &ReadOptions) -> Result<Vec<u8>, MatrixMarketError> {
    const STEP: usize = 1 << 20;
    let limit = options.decompressed_limit_of(compressed.len());
    let mut decoder = MultiGzDecoder::new(compressed);
    let mut text = Vec::new();
    loop {
        // The vector grows with what was decompressed, not with what the stream says of itself.
        let read = (&mut decoder).take(STEP as u64).read_to_end(&mut text)?;
        if text.len() > limit {
            return Err(Kind::DecompressedLimit { limit }.into());
        }
        let done = compressed.len() - decoder.get_ref().len();
        options.report(Progress {
            stage: Stage::Decompress,
            done: done as u64,
            total: compressed.len() as u64,
        });
        if read < STEP {
            return Ok(text);
        }
    }
}
