//! Reads and writes of a connection with a deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::transport::frame::{Frame, HEADER, Header};
use crate::transport::message::Tag;

/// Maximum payload in bytes that is sent together with its header.
const SMALL: usize = 1 << 16;
/// Maximum bytes of a payload that are read at once.
const PIECE: u64 = 1 << 20;

/// Writing end of a connection.
pub(super) struct Writer {
    stream: TcpStream,
    /// True if a frame was sent in part. Later bytes would be read as the rest of its payload, so nothing
    /// more is written.
    is_cut: bool,
}

impl Writer {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, is_cut: false }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Writes a whole frame by the deadline. If a frame was sent in part, later writes fail.
    pub(super) fn write(&mut self, frame: Frame, deadline: Instant) -> io::Result<()> {
        if self.is_cut {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "an earlier message was sent in part"));
        }
        let (header, payload) = frame.into_parts();
        let mut first = header.to_vec();
        let rest = if payload.len() > SMALL { &payload[..] } else { &[] };
        first.extend_from_slice(if rest.is_empty() { &payload } else { &[] });
        let mut written = 0;
        let result = [&first, rest]
            .into_iter()
            .try_for_each(|bytes| write_all(&self.stream, bytes, deadline, &mut written));
        self.is_cut = result.is_err() && written > 0;
        result
    }
}

/// Writes all bytes by the deadline, in any number of calls, and counts them.
pub(super) fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    deadline: Instant,
    written: &mut usize,
) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left_until(deadline)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => {
                *written += more;
                bytes = &bytes[more..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Time until a deadline; fails if it has passed.
fn left_until(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Reads from a connection until a deadline, in any number of calls.
pub(super) struct Timed<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) deadline: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        stream.set_read_timeout(Some(left_until(self.deadline)?))?;
        stream.read(buffer)
    }
}

/// Error of reading a frame.
#[derive(Debug)]
pub(super) enum ReadError {
    Io(io::Error),
    /// The connection ended in the middle of a frame.
    Cut,
    /// The bytes are not a frame.
    Frame(String),
}

/// Reads the next frame; `None` at the end of the bytes. Calls `admit` before each piece of a message is
/// read, with its size.
pub(super) fn read_frame(
    stream: &mut impl Read,
    mut admit: impl FnMut(Tag, u64),
) -> Result<Option<Frame>, ReadError> {
    let mut bytes = [0; HEADER];
    match read_up_to(stream, &mut bytes).map_err(ReadError::Io)? {
        0 => return Ok(None),
        HEADER => {}
        _ => return Err(ReadError::Cut),
    }
    let header = Header::from_bytes(&bytes);
    let tag = header.check().map_err(ReadError::Frame)?;
    // The vector grows with the received bytes, not with the announced length.
    let mut payload = Vec::new();
    let mut left = header.len;
    while left > 0 {
        let piece = left.min(PIECE);
        if let Some(tag) = tag {
            admit(tag, piece);
        }
        let read = stream.by_ref().take(piece).read_to_end(&mut payload).map_err(ReadError::Io)?;
        if (read as u64) < piece {
            return Err(ReadError::Cut);
        }
        left -= piece;
    }
    header.frame(payload).map(Some).map_err(ReadError::Frame)
}

/// Fills a buffer, unless the bytes end earlier. Returns the number of bytes read.
fn read_up_to(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
