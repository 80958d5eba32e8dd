//! Lines of a text, in chunks for all threads.

use std::sync::atomic::{AtomicU64, Ordering};

use super::cursor::{Cursor, line_at};
use super::options::{Progress, ReadOptions, Stage};
use super::{MatrixMarketError, MatrixMarketErrorKind as Kind};
use crate::parallel;

/// Bytes per task, rounded up to the end of a line.
const CHUNK: usize = 1 << 19;

/// An error and its position in the text.
pub(super) struct LineFault {
    pub(super) position: usize,
    pub(super) kind: Kind,
}

/// Splits the text from `start` into chunks of whole lines, each with its position.
pub(super) fn chunks(text: &[u8], mut start: usize) -> Vec<(usize, &[u8])> {
    let mut chunks = Vec::new();
    while start < text.len() {
        let least = text.len().min(start + CHUNK);
        let end = memchr::memchr(b'\n', &text[least..]).map_or(text.len(), |at| least + at + 1);
        chunks.push((start, &text[start..end]));
        start = end;
    }
    chunks
}

/// Parses each line from `start` that is neither blank nor a comment. Returns the results of the chunks, in the order of the text.
pub(super) fn parse_lines<T: Send>(
    text: &[u8],
    start: usize,
    options: &ReadOptions,
    is_comment: impl Fn(&[u8]) -> bool + Sync,
    parse: impl Fn(&mut Cursor<'_>) -> Result<T, Kind> + Sync,
) -> Result<Vec<Vec<T>>, MatrixMarketError> {
    let done = AtomicU64::new(start as u64);
    let parse_chunk = |(start, chunk): (usize, &[u8])| {
        let (mut cursor, mut results) = (Cursor::new(chunk), Vec::new());
        while cursor.skip_to_line(&is_comment) {
            let result = parse(&mut cursor).and_then(|result| cursor.end_of_line().map(|()| result));
            let fault = |kind| LineFault { position: start + cursor.position(), kind };
            results.push(result.map_err(fault)?);
            cursor.skip_line_end();
        }
        let (len, total) = (chunk.len() as u64, text.len() as u64);
        let done = done.fetch_add(len, Ordering::Relaxed) + len;
        options.report(Progress { stage: Stage::Parse, done, total });
        Ok(results)
    };
    let chunks = parallel::map_each(chunks(text, start), parse_chunk);
    chunks
        .into_iter()
        .collect::<Result<_, LineFault>>()
        .map_err(|LineFault { position, kind }| MatrixMarketError::at_line(line_at(text, position), kind))
}
