//! The connecting side.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::address::{PAUSE, TcpOptions, is_exposed};
use super::hello::{
    ACCEPT_KIND, CHALLENGE, CHALLENGE_KIND, HEAD, Hello, LONGEST_REFUSAL, PROOF, REFUSE_KIND, Refused, Role,
    accept, nonce, number, parse_head,
};
use super::stream::{Timed, write_all};
use crate::error::{Cause, Error, Failure, Result};

/// Maximum time of one attempt.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Failure of an attempt.
enum Attempt {
    /// Another attempt may succeed.
    Again(io::Error),
    /// No other attempt will succeed.
    Never(Error),
}

impl From<io::Error> for Attempt {
    fn from(error: io::Error) -> Self {
        Self::Again(error)
    }
}

impl From<Error> for Attempt {
    fn from(error: Error) -> Self {
        Self::Never(error)
    }
}

/// Connects to a rank, which may not listen yet, and introduces this one. `listens_at` returns the address to
/// announce, if any.
pub(super) fn dial(
    address: &str,
    rank: usize,
    own: &TcpOptions,
    deadline: Instant,
    mut listens_at: impl FnMut(&TcpStream) -> Result<Option<SocketAddr>>,
) -> Result<TcpStream> {
    let start = Instant::now();
    loop {
        let until = deadline.min(Instant::now() + ATTEMPT);
        let error = match attempt(address, rank, own, until, &mut listens_at) {
            Ok(stream) => return Ok(stream),
            Err(Attempt::Never(error)) => return Err(error),
            Err(Attempt::Again(error)) => error,
        };
        if Instant::now() + PAUSE >= deadline {
            let (waited, variable) =
                (start.elapsed().as_secs_f64(), if rank == 0 { " (EVENPATH_ADDRESS)" } else { "" });
            let reason = format!("it did not answer at {address}{variable} within {waited:.1} s: {error}");
            return Err(Failure { rank, cause: Cause::Disconnected(reason) }.into());
        }
        std::thread::sleep(PAUSE);
    }
}

fn attempt(
    address: &str,
    rank: usize,
    own: &TcpOptions,
    deadline: Instant,
    listens_at: &mut impl FnMut(&TcpStream) -> Result<Option<SocketAddr>>,
) -> Result<TcpStream, Attempt> {
    let stream = open(address, deadline)?;
    let peer = stream.peer_addr()?;
    if own.secret.is_none() && is_exposed(peer.ip()) {
        let reason =
            format!("rank {rank} is at {peer}, on another host: set EVENPATH_SECRET or EVENPATH_SECRET_FILE");
        return Err(Error::Start { reason }.into());
    }
    let own_address = listens_at(&stream)?;
    stream.set_nodelay(true)?;
    greet(&stream, rank, own, own_address, deadline).map_err(|attempt| match attempt {
        Attempt::Never(Error::Start { reason }) => {
            Error::Start { reason: format!("rank {rank} at {address}: {reason}") }.into()
        }
        attempt => attempt,
    })?;
    Ok(stream)
}

fn open(address: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "it has no address");
    for address in address.to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        match TcpStream::connect_timeout(&address, left).and_then(of_another) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the connection, unless both ends are the same: on one host, a socket that connects to an unused
/// port may get that port as its own, and connect to itself.
fn of_another(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "none listens there"));
    }
    Ok(stream)
}

/// Announces this rank, and proves that it has the secret.
fn greet(
    stream: &TcpStream,
    rank: usize,
    own: &TcpOptions,
    address: Option<SocketAddr>,
    deadline: Instant,
) -> Result<(), Attempt> {
    let hello = Hello { size: own.size as u32, index: own.index as u32, nonce: nonce()?, address }.to_bytes();
    write_all(stream, &hello, deadline, &mut 0)?;
    let mut input = Timed { stream, deadline };
    let challenge = answer::<CHALLENGE>(&mut input, CHALLENGE_KIND)?;
    let found = number(&challenge, HEAD + 4);
    if found as usize != rank {
        return Err(never(format!("rank {found} answers")));
    }
    write_all(stream, &own.secret.proof(Role::Connects, &hello, &challenge), deadline, &mut 0)?;
    let accepted = answer::<PROOF>(&mut input, ACCEPT_KIND)?;
    if accepted != accept(&own.secret.proof(Role::Listens, &hello, &challenge)) {
        return Err(never(
            "it does not have this rank's secret (EVENPATH_SECRET or EVENPATH_SECRET_FILE)".into(),
        ));
    }
    Ok(())
}

fn never(reason: String) -> Attempt {
    Attempt::Never(Error::Start { reason })
}

/// Reads a message of a kind: its head and `N` more bytes, or the text of a refusal.
fn answer<const N: usize>(input: &mut impl Read, kind: u32) -> Result<Vec<u8>, Attempt> {
    let mut head = [0; HEAD];
    input.read_exact(&mut head)?;
    let found = parse_head(&head).map_err(|refused| match refused {
        Refused::Because(words) => never(words),
        Refused::Stranger => other_protocol(),
    })?;
    if found == Some(REFUSE_KIND) {
        let mut len = [0; 4];
        input.read_exact(&mut len)?;
        let mut words = Vec::new();
        input.take(u64::from(u32::from_le_bytes(len)).min(LONGEST_REFUSAL as u64)).read_to_end(&mut words)?;
        let words: String = String::from_utf8_lossy(&words).replace(char::is_control, " ");
        return Err(never(format!("this rank is refused: {words}")));
    }
    if found != Some(kind) {
        return Err(other_protocol());
    }
    let mut rest = [0; N];
    input.read_exact(&mut rest)?;
    Ok([&head[..], &rest].concat())
}

fn other_protocol() -> Attempt {
    Attempt::Again(io::Error::new(io::ErrorKind::InvalidData, "the other end is not a rank"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_socket_that_is_connected_to_itself_is_noticed() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.connect(&socket.local_addr().unwrap()).unwrap();
        let own = TcpStream::from(socket);
        assert_eq!(own.local_addr().unwrap(), own.peer_addr().unwrap());
        assert_eq!(of_another(own).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(of_another(TcpStream::connect(listener.local_addr().unwrap()).unwrap()).is_ok());
    }
}
