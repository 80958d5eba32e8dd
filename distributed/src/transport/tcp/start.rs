//! Start of a cluster: all processes connect to rank 0, which tells each where the others listen.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::accept::accept_all;
use super::address::{TcpOptions, listen, resolve, start_error};
use super::dial::dial;
use super::mesh::{NOTE, Tcp};
use super::stream::{ReadError, Timed, Writer, read_frame};
use crate::error::{Cause, Error, Failure, Operation, Result};
use crate::transport::frame::Frame;
use crate::transport::interface::Transport;
use crate::transport::message::Tag;

/// Extra time for rank 0 to report a timeout after that of another rank.
const LATE: Duration = Duration::from_secs(2);

/// Joins the cluster: connects to all other ranks within the limit.
pub(crate) fn connect(own: &TcpOptions, limit: Duration) -> Result<Arc<dyn Transport>> {
    let deadline = Instant::now() + limit;
    let streams = if own.index == 0 { gather(own, deadline)? } else { join(own, deadline)? };
    let tcp = Tcp::new(own.index, streams, limit).map_err(|error| start_error("a connection", &error))?;
    Ok(Arc::new(tcp))
}

/// Rank 0: waits for all others, and tells them where each listens.
fn gather(own: &TcpOptions, deadline: Instant) -> Result<Vec<Option<TcpStream>>> {
    let (variable, addresses) = match &own.bind {
        None => ("EVENPATH_ADDRESS", resolve("EVENPATH_ADDRESS", &own.root, 0)?),
        Some(bind) => {
            let port = own.root.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0);
            ("EVENPATH_BIND", resolve("EVENPATH_BIND", bind, port)?)
        }
    };
    let listener = listen(own, variable, &addresses)?;
    let mut streams: Vec<Option<TcpStream>> = (0..own.size).map(|_| None).collect();
    let mut listening: Vec<Option<SocketAddr>> = (0..own.size).map(|_| None).collect();
    let stop = AtomicBool::new(false);
    let accepted = accept_all(&listener, own, 1..own.size, (deadline, &stop), |hello, stream| {
        listening[hello.index as usize] = hello.address;
        streams[hello.index as usize] = Some(stream);
    });
    let reply = match &accepted {
        Ok(()) => {
            let tag = Tag { run: 0, sequence: 0, operation: Operation::Broadcast };
            // Serializing addresses cannot fail.
            Frame::Data(tag, serde_json::to_vec(&listening).unwrap_or_default())
        }
        Err(Error::Failed(failure)) => Frame::Abort(failure.clone()),
        Err(error) => Frame::Abort(Failure { rank: 0, cause: Cause::Error(error.to_string()) }),
    };
    for stream in streams.iter().flatten() {
        // A process that has ended since is noticed by its connection's reader.
        let _ = stream.set_nonblocking(false);
        let _ = stream
            .try_clone()
            .and_then(|stream| Writer::new(stream).write(reply.clone(), Instant::now() + NOTE));
    }
    accepted?;
    Ok(streams)
}

/// Another rank: connects to rank 0, then to lower ranks, while higher ones connect.
fn join(own: &TcpOptions, deadline: Instant) -> Result<Vec<Option<TcpStream>>> {
    let mut listener = None;
    let root = dial(&own.root, 0, own, deadline, |stream| {
        let local = stream.local_addr().map_err(|error| start_error("own address", &error))?.ip();
        if listener.is_none() {
            let (variable, addresses) = match &own.bind {
                None => ("EVENPATH_ADDRESS", vec![SocketAddr::new(local, 0)]),
                Some(bind) => ("EVENPATH_BIND", resolve("EVENPATH_BIND", bind, 0)?),
            };
            listener = Some(listen(own, variable, &addresses)?);
        }
        let bound = listener.as_ref().map(TcpListener::local_addr).transpose();
        let bound = bound.map_err(|error| start_error("own address", &error))?;
        // Unspecified means all addresses of the host: others use the one that reached rank 0.
        Ok(bound.map(|at| if at.ip().is_unspecified() { SocketAddr::new(local, at.port()) } else { at }))
    })?;
    let addresses = addresses_from(&root, own, deadline)?;
    let mut streams: Vec<Option<TcpStream>> = (0..own.size).map(|_| None).collect();
    streams[0] = Some(root);
    let (below, above) = streams.split_at_mut(own.index + 1);
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let accepting = listener.as_ref().map(|listener| {
            let ranks = own.index + 1..own.size;
            let accept = move || {
                accept_all(listener, own, ranks, (deadline, stop), |hello, stream| {
                    above[hello.index as usize - own.index - 1] = Some(stream);
                })
            };
            std::thread::Builder::new().name("accept".into()).spawn_scoped(scope, accept)
        });
        let dialed = (1..own.index).try_for_each(|rank| {
            below[rank] = Some(dial(&addresses[rank].to_string(), rank, own, deadline, |_| Ok(None))?);
            Ok::<_, Error>(())
        });
        stop.store(dialed.is_err(), Relaxed);
        let accepted = accepting.transpose().map_err(|error| start_error("a thread", &error));
        let accepted = accepted.and_then(|thread| match thread.map(std::thread::ScopedJoinHandle::join) {
            None => Ok(()),
            Some(joined) => joined.unwrap_or_else(|_| Err(start_error("a thread", &"it panicked"))),
        });
        dialed.and(accepted)
    })?;
    Ok(streams)
}

/// Reads from rank 0 where each rank listens.
fn addresses_from(root: &TcpStream, own: &TcpOptions, deadline: Instant) -> Result<Vec<SocketAddr>> {
    let failed = |cause| Error::from(Failure { rank: 0, cause });
    // Rank 0 tells all ranks when it times out: leave time for that to arrive.
    let bytes = match read_frame(&mut Timed { stream: root, deadline: deadline + LATE }, |_, _| ()) {
        Ok(Some(Frame::Data(_, bytes))) => bytes,
        Ok(Some(Frame::Abort(failure))) => return Err(failure.into()),
        Ok(Some(_)) => return Err(failed(Cause::Protocol("not the list of addresses".into()))),
        Ok(None) | Err(ReadError::Cut) => return Err(failed(Cause::Disconnected("it was closed".into()))),
        Err(ReadError::Io(error)) => return Err(failed(Cause::Disconnected(error.to_string()))),
        Err(ReadError::Frame(reason)) => return Err(failed(Cause::Protocol(reason))),
    };
    parse_addresses(&bytes, own.size).map_err(|reason| failed(Cause::Protocol(reason)))
}

/// Parses the list of addresses, one per rank. Rank 0's is unspecified.
fn parse_addresses(bytes: &[u8], size: usize) -> Result<Vec<SocketAddr>, String> {
    let listed: Vec<Option<SocketAddr>> =
        serde_json::from_slice(bytes).map_err(|error| format!("the list of addresses: {error}"))?;
    if listed.len() != size {
        return Err(format!("the list of addresses has {}, but there are {size} ranks", listed.len()));
    }
    let none = SocketAddr::from(([0, 0, 0, 0], 0));
    let each = listed.into_iter().enumerate().map(|(rank, address)| match address {
        None if rank > 0 => Err(format!("the list of addresses has none for rank {rank}")),
        address => Ok(address.unwrap_or(none)),
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::address::is_exposed;
    use crate::transport::tcp::hello::Secret;

    #[test]
    fn lists_of_addresses_are_checked() {
        let right = br#"[null,"127.0.0.1:1","[::1]:2"]"#;
        let addresses = parse_addresses(right, 3).unwrap();
        assert_eq!(addresses[1..], ["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()]);
        for (list, size, reason) in [
            (&right[..], 4, "has 3, but there are 4 ranks"),
            (right, 2, "has 3, but there are 2 ranks"),
            (br"[null,null]", 2, "none for rank 1"),
            (br#"[null,"host:1"]"#, 2, "the list of addresses: "),
            (br#"[null,"127.0.0.1:1\n127.0.0.1:2"]"#, 2, "the list of addresses: "),
            (b"", 1, "the list of addresses: "),
        ] {
            assert!(parse_addresses(list, size).unwrap_err().contains(reason), "{reason}");
        }
    }

    #[test]
    fn without_a_secret_only_this_host_can_connect() {
        for (address, is_open) in [
            ("127.0.0.1", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("0.0.0.0", true),
            ("::", true),
            ("10.1.2.3", true),
        ] {
            assert_eq!(is_exposed(address.parse().unwrap()), is_open, "{address}");
        }
        let mut own =
            TcpOptions { index: 0, size: 1, root: "0.0.0.0:0".into(), bind: None, secret: Secret::default() };
        let second = Duration::from_secs(1);
        let error = connect(&own, second).err().expect("it would listen everywhere").to_string();
        assert!(error.contains("EVENPATH_ADDRESS") && error.contains("set EVENPATH_SECRET"), "{error}");
        own.bind = Some("127.0.0.1:0".into());
        assert!(connect(&own, second).is_ok());
        own = TcpOptions { bind: None, secret: Secret::new(b"s"), ..own };
        assert!(connect(&own, second).is_ok());
    }
}
