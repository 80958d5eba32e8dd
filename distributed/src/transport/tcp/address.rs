//! Options of a process that joins a cluster, and its listening address.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::hello::Secret;
use crate::error::{Error, Result};

/// Pause between attempts, and between polls of connections.
pub(super) const PAUSE: Duration = Duration::from_millis(5);
/// Time for an address in use to become free: a rank's attempt to connect may use it briefly.
const IN_USE: Duration = Duration::from_secs(1);

/// A process's place in its cluster, and the addresses to join it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TcpOptions {
    pub(crate) index: usize,
    pub(crate) size: usize,
    /// Host and port of rank 0.
    pub(crate) root: String,
    /// Host, or host and port, at which this rank listens, if not at the address that others use.
    pub(crate) bind: Option<String>,
    pub(crate) secret: Secret,
}

pub(super) fn start_error(what: &str, reason: &dyn Display) -> Error {
    Error::Start { reason: format!("{what}: {reason}") }
}

/// Returns whether other hosts can reach an address.
pub(super) fn is_exposed(address: IpAddr) -> bool {
    !address.to_canonical().is_loopback()
}

/// Listens at the first possible address. Without a secret, only addresses that no other host can reach are
/// allowed.
pub(super) fn listen(own: &TcpOptions, variable: &str, addresses: &[SocketAddr]) -> Result<TcpListener> {
    let exposed = addresses.iter().find(|address| is_exposed(address.ip()));
    if let Some(address) = exposed.filter(|_| own.secret.is_none()) {
        let reason = format!(
            "{variable}: rank {} would listen at {address}, which other hosts may reach: set EVENPATH_SECRET or \
             EVENPATH_SECRET_FILE to the same on all ranks",
            own.index
        );
        return Err(Error::Start { reason });
    }
    let start = Instant::now();
    loop {
        match TcpListener::bind(addresses) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && start.elapsed() < IN_USE => {
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                let listed: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
                return Err(start_error(&format!("{variable}: listening at {}", listed.join(", ")), &error));
            }
            Ok(listener) => return Ok(listener),
        }
    }
}

/// Resolves the addresses of a host, which may include a port.
pub(super) fn resolve(variable: &str, text: &str, port: u16) -> Result<Vec<SocketAddr>> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let has_port = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let resolved = if has_port { text.to_socket_addrs() } else { (text, port).to_socket_addrs() };
    let addresses: Vec<SocketAddr> =
        resolved.map_err(|error| start_error(&format!("{variable} is `{text}`"), &error))?.collect();
    if addresses.is_empty() {
        return Err(start_error(&format!("{variable} is `{text}`"), &"it has no address"));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_have_a_port() {
        let resolved =
            |text: &str| resolve("EVENPATH_BIND", text, 7).map(|addresses| addresses[0].to_string());
        for (text, expected) in [
            ("127.0.0.1", "127.0.0.1:7"),
            ("127.0.0.1:9", "127.0.0.1:9"),
            ("::", "[::]:7"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(resolved(text).unwrap(), expected);
        }
        let error = resolved("no host:1").unwrap_err().to_string();
        assert!(error.contains("EVENPATH_BIND is `no host:1`"), "{error}");
    }
}
