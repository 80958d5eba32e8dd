//! How processes find each other: all go to rank 0, which tells each where the others listen.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stream::{ReadError, read_frame};
use super::{Tcp, Transport};
use crate::error::{Cause, Error, Failure, Operation, Result};
use crate::transport::Tag;
use crate::transport::frame::Frame;

/// What each connection begins with.
const MAGIC: [u8; 8] = *b"evenpath";
/// Changes with the frames.
const VERSION: u32 = 1;
/// The longest address that is taken.
const LONGEST_ADDRESS: u32 = 256;
/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a connection may take to say what it is.
const HELLO: Duration = Duration::from_secs(2);

/// Where a process is in its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TcpAddress {
    pub(crate) index: usize,
    pub(crate) size: usize,
    /// Host and port of rank 0.
    pub(crate) root: String,
}

/// What a process says of itself.
struct Hello {
    index: usize,
    size: usize,
    /// Where it listens for ranks above its own; empty between such.
    address: String,
}

/// Joins the cluster: connections to all other ranks, within the limit, which is then that of each write.
pub(crate) fn connect(own: &TcpAddress, limit: Duration) -> Result<Arc<dyn Transport>> {
    let deadline = Instant::now() + limit;
    let streams = if own.index == 0 { gather(own, deadline)? } else { join(own, deadline)? };
    let tcp = Tcp::new(own.index, streams, limit).map_err(|error| start_error("a connection", &error))?;
    Ok(Arc::new(tcp))
}

fn start_error(what: &str, reason: &dyn Display) -> Error {
    Error::Start { reason: format!("{what}: {reason}") }
}

/// Rank 0: waits for all others, and tells them where each listens.
fn gather(own: &TcpAddress, deadline: Instant) -> Result<Vec<Option<TcpStream>>> {
    let listener = TcpListener::bind(&own.root).map_err(|error| start_error(&own.root, &error))?;
    let mut streams: Vec<Option<TcpStream>> = (0..own.size).map(|_| None).collect();
    let mut addresses = vec![String::new(); own.size];
    let accepted = accept_all(&listener, own, 1..own.size, deadline, |hello, stream| {
        addresses[hello.index] = hello.address;
        streams[hello.index] = Some(stream);
    });
    let reply = match &accepted {
        Ok(()) => {
            let tag = Tag { run: 0, sequence: 0, operation: Operation::Broadcast };
            Frame::Data(tag, addresses.join("\n").into_bytes())
        }
        Err(failure) => Frame::Abort(failure.clone()),
    };
    for stream in streams.iter_mut().flatten() {
        let (header, payload) = reply.clone().into_parts();
        // A process that has ended since is noticed by the reader of its connection.
        let _ = stream.write_all(&header).and_then(|()| stream.write_all(&payload));
    }
    accepted?;
    Ok(streams)
}

/// Another rank: goes to rank 0, then to the ranks below its own; those above come.
fn join(own: &TcpAddress, deadline: Instant) -> Result<Vec<Option<TcpStream>>> {
    let mut root = dial(&own.root, 0, deadline)?;
    let local = root.local_addr().map_err(|error| start_error("own address", &error))?;
    let listener = TcpListener::bind((local.ip(), 0)).map_err(|error| start_error("listening", &error))?;
    let address = listener.local_addr().map_err(|error| start_error("listening", &error))?;
    let lost = |error: io::Error| Failure { rank: 0, cause: Cause::Disconnected(error.to_string()) };
    Hello { index: own.index, size: own.size, address: address.to_string() }
        .write(&mut root)
        .map_err(lost)?;
    let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
    // Rank 0 tells all when its own time is up: give that a moment to arrive.
    root.set_read_timeout(Some(left + HELLO)).map_err(lost)?;
    let addresses = match read_frame(&mut root, |_, _| ()) {
        Ok(Some(Frame::Data(_, bytes))) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(Some(Frame::Abort(failure))) => return Err(failure.into()),
        Ok(Some(_)) => {
            return Err(Failure { rank: 0, cause: Cause::Protocol("no list of ranks".into()) }.into());
        }
        Ok(None) | Err(ReadError::Cut) => return Err(lost(io::ErrorKind::UnexpectedEof.into()).into()),
        Err(ReadError::Io(error)) => return Err(lost(error).into()),
        Err(ReadError::Frame(reason)) => {
            return Err(Failure { rank: 0, cause: Cause::Protocol(reason) }.into());
        }
    };
    let mut streams: Vec<Option<TcpStream>> = (0..own.size).map(|_| None).collect();
    streams[0] = Some(root);
    for (rank, address) in addresses.lines().enumerate().take(own.index).skip(1) {
        let mut stream = dial(address, rank, deadline)?;
        let hello = Hello { index: own.index, size: own.size, address: String::new() };
        hello
            .write(&mut stream)
            .map_err(|error| Failure { rank, cause: Cause::Disconnected(error.to_string()) })?;
        streams[rank] = Some(stream);
    }
    accept_all(&listener, own, own.index + 1..own.size, deadline, |hello, stream| {
        streams[hello.index] = Some(stream);
    })?;
    Ok(streams)
}

/// Connects to a rank, which may not listen yet.
fn dial(address: &str, rank: usize, deadline: Instant) -> Result<TcpStream> {
    let start = Instant::now();
    loop {
        let error = match try_dial(address, deadline) {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        if Instant::now() + PAUSE >= deadline {
            let waited = start.elapsed().as_secs_f64();
            let reason = format!("it did not answer at {address} within {waited:.1} s: {error}");
            return Err(Failure { rank, cause: Cause::Disconnected(reason) }.into());
        }
        std::thread::sleep(PAUSE);
    }
}

fn try_dial(address: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "it has no address");
    let resolved: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    for address in resolved {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Accepts a connection from each of the given ranks. What does not say that it is one of them is ignored.
fn accept_all(
    listener: &TcpListener,
    own: &TcpAddress,
    ranks: std::ops::Range<usize>,
    deadline: Instant,
    mut each: impl FnMut(Hello, TcpStream),
) -> Result<(), Failure> {
    let own_fault = |reason: String| Failure { rank: own.index, cause: Cause::Error(reason) };
    listener.set_nonblocking(true).map_err(|error| own_fault(error.to_string()))?;
    let mut missing: Vec<usize> = ranks.clone().collect();
    while let Some(&first) = missing.first() {
        match listener.accept() {
            Ok((mut stream, _)) => {
                let Ok(hello) = Hello::read(&mut stream) else { continue };
                if hello.size != own.size {
                    let reason = format!(
                        "it is of a cluster of {} ranks, and rank {} of one of {}",
                        hello.size, own.index, own.size
                    );
                    return Err(Failure { rank: hello.index, cause: Cause::Error(reason) });
                }
                let Some(at) = missing.iter().position(|&rank| rank == hello.index) else {
                    let reason = "two processes are this rank".to_owned();
                    return Err(Failure { rank: hello.index, cause: Cause::Error(reason) });
                };
                missing.remove(at);
                each(hello, stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() >= deadline {
                    let reason = format!(
                        "it did not connect to rank {} in time ({} missing)",
                        own.index,
                        missing.len()
                    );
                    return Err(Failure { rank: first, cause: Cause::Disconnected(reason) });
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(own_fault(error.to_string())),
        }
    }
    Ok(())
}

impl Hello {
    fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, self.size as u32, self.index as u32, self.address.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(self.address.as_bytes());
        stream.write_all(&bytes)
    }

    fn read(stream: &mut TcpStream) -> io::Result<Self> {
        let refused = || io::Error::from(io::ErrorKind::InvalidData);
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(HELLO))?;
        let mut magic = [0; 8];
        stream.read_exact(&mut magic)?;
        let mut numbers = [0; 4];
        for number in &mut numbers {
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes)?;
            *number = u32::from_le_bytes(bytes);
        }
        let [version, size, index, len] = numbers;
        if magic != MAGIC || version != VERSION || len > LONGEST_ADDRESS || index >= size {
            return Err(refused());
        }
        let mut address = vec![0; len as usize];
        stream.read_exact(&mut address)?;
        let address = String::from_utf8(address).map_err(|_| refused())?;
        Ok(Self { index: index as usize, size: size as usize, address })
    }
}
