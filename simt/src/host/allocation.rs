//! An allocation of global memory, with the state of its words.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};
use std::sync::OnceLock;

use super::conflicts::{note_host_write, unordered_writer, How};
use super::fault::AccessKind;
use super::streams::StreamOperation;

#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) bytes: u64,
    pub(super) words: Box<[AtomicU64]>,
    /// One bit for each byte of the word, set once written.
    pub(super) written: Box<[AtomicU8]>,
    /// The block that wrote each word of 4 bytes, see [`Observer`].
    pub(super) writers: Box<[AtomicU64]>,
    /// The operation that last read each word of 4 bytes, and the bytes that it read: 28 and 4 bits. Only on
    /// devices with several streams.
    pub(super) readers: OnceLock<Box<[AtomicU32]>>,
}

impl Allocation {
    pub(super) fn new(bytes: u64) -> Option<Self> {
        let words = usize::try_from(bytes.div_ceil(8)).ok()?;
        Some(Self {
            bytes,
            words: bytemuck::allocation::try_zeroed_slice_box(words).ok()?,
            written: bytemuck::allocation::try_zeroed_slice_box(words).ok()?,
            writers: bytemuck::allocation::try_zeroed_slice_box(words * 2).ok()?,
            readers: OnceLock::new(),
        })
    }

    /// Returns the stream of an operation that is not ordered before this access, and its kind of access;
    /// records a plain read.
    pub(super) fn check_streams(
        &self,
        offset: usize,
        len: usize,
        operation: &StreamOperation,
        how: How,
        this: AccessKind,
    ) -> Result<(), (u32, AccessKind)> {
        let Some(unordered) = &operation.unordered else { return Ok(()) };
        let readers = self.readers.get_or_init(|| self.writers.iter().map(|_| AtomicU32::new(0)).collect());
        for (word, bytes) in words_of(offset, len) {
            if let Some(other) = unordered_writer(&self.writers[word], operation, how, bytes) {
                return Err((other, AccessKind::Write));
            }
            let (note, own) = (readers[word].load(Relaxed), (operation.number as u32) << 4);
            if this != AccessKind::Read {
                let reader = Some(note).filter(|note| *note as u8 & bytes != 0);
                if let Some(other) = reader.and_then(|note| unordered.stream(u64::from(note >> 4))) {
                    return Err((other, AccessKind::Read));
                }
            } else if how == How::Plain {
                let others = if note & !0xf == own { note } else { own };
                readers[word].store(others | u32::from(bytes), Relaxed);
            }
        }
        Ok(())
    }

    /// Records a write of the host, on a device with several streams.
    pub(super) fn note_host_write(&self, offset: usize, len: usize, operation: &StreamOperation) {
        if operation.unordered.is_some() {
            for (word, bytes) in words_of(offset, len) {
                note_host_write(&self.writers[word], operation, bytes);
            }
        }
    }

    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        for (at, len) in parts_of_words(offset, bytes.len()) {
            let mut value = self.words[at / 8].load(Relaxed).to_le_bytes();
            value[at % 8..at % 8 + len].copy_from_slice(&bytes[at - offset..at - offset + len]);
            self.words[at / 8].store(u64::from_le_bytes(value), Relaxed);
            self.written[at / 8].fetch_or((u8::MAX >> (8 - len)) << (at % 8), Relaxed);
        }
    }

    /// Copies written bytes to the host.
    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) {
        for (at, len) in parts_of_words(offset, bytes.len()) {
            let word = self.words[at / 8].load(Relaxed).to_le_bytes();
            bytes[at - offset..at - offset + len].copy_from_slice(&word[at % 8..at % 8 + len]);
        }
    }

    /// Copies the written bytes of another allocation; the others are unchanged.
    pub(super) fn copy_from(&self, offset: usize, source: &Self, source_offset: usize, len: usize) {
        for (at, len) in parts_of_words(source_offset, len) {
            let word = source.words[at / 8].load(Relaxed).to_le_bytes();
            let target = offset + (at - source_offset);
            if source.first_unwritten(at, len).is_none() {
                self.write(target, &word[at % 8..at % 8 + len]);
                continue;
            }
            for i in (0..len).filter(|i| source.first_unwritten(at + i, 1).is_none()) {
                self.write(target + i, &[word[at % 8 + i]]);
            }
        }
    }

    /// Returns the first of `len` bytes that was never written, counted from `offset`.
    pub(super) fn first_unwritten(&self, offset: usize, len: usize) -> Option<usize> {
        parts_of_words(offset, len).find_map(|(at, len)| {
            let missing = !self.written[at / 8].load(Relaxed) & ((u8::MAX >> (8 - len)) << (at % 8));
            (missing != 0).then(|| at - at % 8 + missing.trailing_zeros() as usize - offset)
        })
    }
}

/// Splits a range of bytes at the boundaries of 8-byte words: the first byte of each part, and its length,
/// which is not 0.
fn parts_of_words(offset: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = offset + len;
    let parts = (offset / 8..end.div_ceil(8)).map(move |word| (offset.max(8 * word), end.min(8 * word + 8)));
    parts.filter(|(first, last)| first < last).map(|(first, last)| (first, last - first))
}

/// Returns the 4-byte words of a range of bytes, and the bytes of each, one bit per byte.
fn words_of(offset: usize, len: usize) -> impl Iterator<Item = (usize, u8)> {
    let end = offset + len;
    (offset / 4..end.div_ceil(4)).map(move |word| {
        let (first, last) = (offset.saturating_sub(4 * word), (end - 4 * word).min(4));
        (word, (0xf << first & 0xf) as u8 & 0xf >> (4 - last))
    })
}
