//! Connections of one process to all others, and the transport over them.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::stream::{ReadError, Writer, read_frame};
use crate::error::{Cause, Failure, Result};
use crate::transport::frame::{Frame, LONGEST_MESSAGE};
use crate::transport::interface::Transport;
use crate::transport::mailbox::Mailbox;
use crate::transport::message::{Missing, Report, Tag, Wait};

/// Time that a broken connection waits for the cause, which another rank may send.
const NEWS: Duration = Duration::from_secs(1);

/// Time for writing notes after a failure. The receiver may no longer read.
pub(super) const NOTE: Duration = Duration::from_secs(1);

/// Connections of a process. A thread per connection reads messages into the mailbox, without delay for
/// operations that this rank has started, so that writes between ranks complete.
struct Mesh {
    index: usize,
    /// Writers by rank; none for this rank itself.
    peers: Vec<Option<Mutex<Writer>>>,
    mailbox: Mailbox,
    /// Maximum time to write the end of a run.
    limit: Duration,
}

/// Leaves the cluster on drop.
pub(super) struct Tcp(Arc<Mesh>);

impl Tcp {
    /// Creates the mesh from connections to all other ranks.
    pub(super) fn new(index: usize, streams: Vec<Option<TcpStream>>, limit: Duration) -> io::Result<Self> {
        let mut readers = Vec::new();
        for (rank, stream) in streams.iter().enumerate() {
            let Some(stream) = stream else { continue };
            stream.set_nonblocking(false)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(None)?;
            readers.push((rank, stream.try_clone()?));
        }
        let writer = |stream: Option<TcpStream>| stream.map(|stream| Mutex::new(Writer::new(stream)));
        let peers = streams.into_iter().map(writer).collect();
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
    /// Leaves, after telling all ranks of a known failure. The readers end when the others have left too.
    fn drop(&mut self) {
        let failure = self.0.mailbox.failure();
        let limit = if failure.is_some() { NOTE } else { self.0.limit };
        if let Some(failure) = failure {
            self.0.tell_all(&failure);
        }
        self.0.mailbox.close();
        for (rank, peer) in self.0.peers.iter().enumerate() {
            if let Some(peer) = peer {
                let _ = self.0.write(rank, Frame::Goodbye, Instant::now() + limit);
                let _ = peer.lock().stream().shutdown(Shutdown::Write);
            }
        }
    }
}

impl Mesh {
    /// Reads frames until the connection ends.
    fn read_all(&self, from: usize, mut stream: TcpStream) {
        let mut has_left = false;
        loop {
            let frame = read_frame(&mut stream, |tag, bytes| self.mailbox.admit(from, tag, bytes));
            match frame {
                Ok(Some(Frame::Data(tag, bytes))) => {
                    if !self.mailbox.deliver(from, tag, bytes) {
                        let reason = format!("a second message in one `{}`", tag.operation);
                        return self.lose(from, Cause::Protocol(reason));
                    }
                }
                Ok(Some(Frame::Finished { run })) => self.mailbox.finish(from, run),
                Ok(Some(Frame::Goodbye)) => {
                    has_left = true;
                    self.mailbox.finish(from, u64::MAX);
                }
                Ok(Some(Frame::Abort(failure))) => _ = self.mailbox.fail(failure),
                Ok(Some(Frame::Ask)) => {
                    // Without an answer, the asking rank takes this one for the cause.
                    let _ = self.write_note(from, Frame::Answer(self.mailbox.report()));
                }
                Ok(Some(Frame::Answer(report))) => self.mailbox.answer(from, report),
                Ok(None) | Err(_) if has_left => return,
                Ok(None) => return self.lose(from, Cause::Disconnected("it was closed".into())),
                Err(ReadError::Cut) => {
                    // A rank that could not send a whole message has told others why.
                    self.mailbox.wait_for_failure(Instant::now() + NEWS);
                    let reason = "it ended in the middle of a message".into();
                    return self.lose(from, Cause::Disconnected(reason));
                }
                Err(ReadError::Io(error)) => return self.lose(from, Cause::Disconnected(error.to_string())),
                Err(ReadError::Frame(reason)) => return self.lose(from, Cause::Protocol(reason)),
            }
        }
    }

    /// Records that a rank is lost, and tells the others unless they know of a failure.
    fn lose(&self, rank: usize, cause: Cause) {
        let (failure, is_first) = self.mailbox.fail(Failure { rank, cause });
        if is_first {
            self.tell_all(&failure);
        }
    }

    fn tell_all(&self, failure: &Failure) {
        for rank in 0..self.peers.len() {
            // If the write fails, that rank notices the closed connection.
            let _ = self.write_note(rank, Frame::Abort(failure.clone()));
        }
    }

    fn write_note(&self, to: usize, frame: Frame) -> io::Result<()> {
        self.write(to, frame, Instant::now() + NOTE)
    }

    /// Writes a frame to a rank by the deadline; nothing to itself.
    fn write(&self, to: usize, frame: Frame, deadline: Instant) -> io::Result<()> {
        let Some(peer) = &self.peers[to] else { return Ok(()) };
        let Some(mut writer) = peer.try_lock_until(deadline) else {
            return Err(io::ErrorKind::TimedOut.into());
        };
        writer.write(frame, deadline)
    }

    /// Converts the error of a write.
    fn explain(&self, to: usize, tag: Tag, error: &io::Error) -> Missing {
        if let Some(failure) = self.mailbox.wait_for_failure(Instant::now() + NEWS) {
            Missing::Failed(failure)
        } else if self.mailbox.is_finished(to, tag.run) {
            Missing::Finished
        } else if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            Missing::Timeout
        } else {
            Missing::Lost(error.to_string())
        }
    }
}

impl Transport for Tcp {
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>, deadline: Instant) -> Result<(), Missing> {
        let mesh = &self.0;
        if let Some(failure) = mesh.mailbox.failure() {
            return Err(Missing::Failed(failure));
        }
        let len = bytes.len() as u64;
        if len > LONGEST_MESSAGE {
            return Err(Missing::TooLong { bytes: len, limit: LONGEST_MESSAGE });
        }
        mesh.mailbox.set_wait(Some(Wait::Send { to, tag }));
        mesh.write(to, Frame::Data(tag, bytes), deadline).map_err(|error| mesh.explain(to, tag, &error))?;
        mesh.mailbox.set_wait(None);
        Ok(())
    }

    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        self.0.mailbox.take(from, tag, deadline)
    }

    fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing> {
        self.0.mailbox.has(from, tag)
    }

    fn set_wait(&self, wait: Option<Wait>) {
        self.0.mailbox.set_wait(wait);
    }

    fn ask(&self, rank: usize, deadline: Instant) -> Option<Report> {
        if rank == self.0.index {
            return self.0.mailbox.report();
        }
        self.0.write(rank, Frame::Ask, deadline).ok()?;
        self.0.mailbox.take_answer(rank, deadline).flatten()
    }

    fn finish(&self, run: u64) {
        for rank in 0..self.0.peers.len() {
            // A rank that has left does not need the message.
            let _ = self.0.write(rank, Frame::Finished { run }, Instant::now() + self.0.limit);
        }
    }

    /// Sends the first failure to all, even if another rank caused it. This rank may leave next, and a rank
    /// that notices that before it receives the failure would report this rank as the cause.
    fn abort(&self, failure: Failure) -> Failure {
        let (first, _) = self.0.mailbox.fail(failure);
        self.0.tell_all(&first);
        first
    }

    fn failure(&self) -> Option<Failure> {
        self.0.mailbox.failure()
    }
}
