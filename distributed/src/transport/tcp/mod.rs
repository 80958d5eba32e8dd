//! Ranks that are processes, with a TCP connection between each two.

mod start;

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub(crate) use start::{TcpAddress, connect};

use super::frame::{Frame, HEADER, Header};
use super::mailbox::Mailbox;
use super::{Missing, Tag, Transport};
use crate::error::{Cause, Failure, Result};

/// Payloads of up to this many bytes are sent with their header at once.
const SMALL: usize = 1 << 16;

/// How long a broken connection waits for the news of why it broke, which may come from another rank.
const NEWS: Duration = Duration::from_secs(1);

/// One process's connections. A thread for each reads all that comes into the mailbox, so writes always come to an end.
struct Mesh {
    index: usize,
    /// By rank; none to itself.
    peers: Vec<Option<Mutex<TcpStream>>>,
    mailbox: Mailbox,
    /// How long a write may take.
    limit: Duration,
}

/// Leaves the cluster when it is dropped.
struct Tcp(Arc<Mesh>);

impl Tcp {
    /// Of connections to all other ranks.
    fn new(index: usize, streams: Vec<Option<TcpStream>>, limit: Duration) -> io::Result<Self> {
        let mut readers = Vec::new();
        for (rank, stream) in streams.iter().enumerate() {
            let Some(stream) = stream else { continue };
            stream.set_nodelay(true)?;
            stream.set_read_timeout(None)?;
            stream.set_write_timeout(Some(limit))?;
            readers.push((rank, stream.try_clone()?));
        }
        let peers = streams.into_iter().map(|stream| stream.map(Mutex::new)).collect();
        let mesh = Arc::new(Mesh { index, peers, mailbox: Mailbox::default(), limit });
        for (rank, stream) in readers {
            let mesh = Arc::clone(&mesh);
            let name = format!("from rank {rank}");
            std::thread::Builder::new().name(name).spawn(move || mesh.read_all(rank, stream))?;
        }
        Ok(Self(mesh))
    }
}

impl Drop for Tcp {
    /// Leaves, after it has told all of a failure that it knows of. The readers end when the others have left too.
    fn drop(&mut self) {
        if let Some(failure) = self.0.mailbox.failure() {
            self.0.tell_all(&failure);
        }
        for (rank, peer) in self.0.peers.iter().enumerate() {
            if let Some(peer) = peer {
                let _ = self.0.write(rank, Frame::Goodbye);
                let _ = peer.lock().shutdown(Shutdown::Write);
            }
        }
    }
}

impl Mesh {
    /// Reads frames until the connection ends.
    fn read_all(&self, from: usize, mut stream: TcpStream) {
        let mut has_left = false;
        loop {
            match read_frame(&mut stream) {
                Ok(Some(Frame::Data(tag, bytes))) => self.mailbox.deliver(from, tag, bytes),
                Ok(Some(Frame::Finished { run })) => self.mailbox.finish(from, run),
                Ok(Some(Frame::Goodbye)) => {
                    has_left = true;
                    self.mailbox.finish(from, u64::MAX);
                }
                Ok(Some(Frame::Abort(failure))) => _ = self.mailbox.fail(failure),
                Ok(None) | Err(_) if has_left => return,
                Ok(None) => return self.lose(from, Cause::Disconnected("it was closed".into())),
                Err(ReadError::Io(error)) => return self.lose(from, Cause::Disconnected(error.to_string())),
                Err(ReadError::Frame(reason)) => return self.lose(from, Cause::Protocol(reason)),
            }
        }
    }

    /// Notes that a rank is lost, and tells the others unless they know of a failure.
    fn lose(&self, rank: usize, cause: Cause) {
        let (failure, is_first) = self.mailbox.fail(Failure { rank, cause });
        if is_first {
            self.tell_all(&failure);
        }
    }

    fn tell_all(&self, failure: &Failure) {
        for rank in 0..self.peers.len() {
            // If the write fails, that rank notices that the connection is closed.
            let _ = self.write(rank, Frame::Abort(failure.clone()));
        }
    }

    /// Writes a frame to a rank; nothing to itself.
    fn write(&self, to: usize, frame: Frame) -> io::Result<()> {
        let Some(peer) = &self.peers[to] else { return Ok(()) };
        let (header, payload) = frame.into_parts();
        let mut stream = peer.lock();
        if payload.len() > SMALL {
            stream.write_all(&header)?;
            return stream.write_all(&payload);
        }
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&payload);
        stream.write_all(&bytes)
    }

    /// Why a write failed.
    fn cause_of(&self, to: usize, tag: Tag, error: &io::Error) -> Failure {
        if let Some(failure) = self.mailbox.wait_for_failure(Instant::now() + NEWS) {
            return failure;
        }
        let waiting = self.index;
        let cause = if self.mailbox.is_finished(to, tag.run) {
            Cause::Finished { waiting, operation: tag.operation }
        } else if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            Cause::Timeout { waiting, operation: tag.operation, limit: self.limit }
        } else {
            Cause::Disconnected(error.to_string())
        };
        Failure { rank: to, cause }
    }
}

impl Transport for Tcp {
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), Failure> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let sent = self.0.write(to, Frame::Data(tag, bytes));
        sent.map_err(|error| self.abort(self.0.cause_of(to, tag, &error)))
    }

    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        self.0.mailbox.take(from, tag, deadline)
    }

    fn finish(&self, run: u64) {
        for rank in 0..self.0.peers.len() {
            // A rank that has left does not need the message.
            let _ = self.0.write(rank, Frame::Finished { run });
        }
    }

    /// Sends the first failure to all, even if another rank caused it. This rank may leave next, and a rank that notices that before it
    /// receives the failure would report this rank as the cause.
    fn abort(&self, failure: Failure) -> Failure {
        let (first, _) = self.0.mailbox.fail(failure);
        self.0.tell_all(&first);
        first
    }

    fn failure(&self) -> Option<Failure> {
        self.0.mailbox.failure()
    }
}

/// Why a frame cannot be read.
enum ReadError {
    Io(io::Error),
    Frame(String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The next frame; none where the stream ends.
fn read_frame(stream: &mut TcpStream) -> Result<Option<Frame>, ReadError> {
    let mut bytes = [0; HEADER];
    let mut read = 0;
    while read < HEADER {
        match stream.read(&mut bytes[read..]) {
            Ok(0) if read == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let header = Header::from_bytes(&bytes);
    // The vector grows with what arrives, not with what is announced.
    let mut payload = Vec::new();
    let arrived = stream.take(header.len).read_to_end(&mut payload)?;
    if (arrived as u64) < header.len {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    header.frame(payload).map(Some).map_err(ReadError::Frame)
}
