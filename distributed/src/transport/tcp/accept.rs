//! The listening side. Connections are served concurrently, and those that are not ranks are dropped without
//! effect.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::address::{PAUSE, TcpOptions};
use super::hello::{Greeting, Hello, HelloStep, Nonce, Refused, nonce, refusal};
use crate::error::{Cause, Error, Failure, Result};

/// Time for a connection to prove that it is a rank.
const PATIENCE: Duration = Duration::from_secs(5);
/// Number of connections served at the same time, beyond one per rank. A new one replaces the oldest.
const STRANGERS: usize = 128;

/// A connection that has not yet proved that it is a rank.
struct Guest {
    stream: TcpStream,
    greeting: Greeting,
    nonce: Nonce,
    since: Instant,
    /// True if it was refused. It is kept until it closes the connection, so that it can read the reason.
    is_refused: bool,
}

/// Outcome for a guest.
enum Outcome {
    Waits,
    Gone,
    /// It sent an invalid message, and was refused for this reason.
    Refused(String),
    Known(Hello, Vec<u8>),
}

/// Accepts a connection from each of the given ranks by the deadline, unless it should stop earlier.
pub(super) fn accept_all(
    listener: &TcpListener,
    own: &TcpOptions,
    ranks: Range<usize>,
    (deadline, stop): (Instant, &AtomicBool),
    mut each: impl FnMut(Hello, TcpStream),
) -> Result<()> {
    listener.set_nonblocking(true).map_err(|error| Error::Start { reason: error.to_string() })?;
    let mut missing: Vec<usize> = ranks.clone().collect();
    let mut guests: Vec<Guest> = Vec::new();
    let mut last_refused = None;
    while let Some(&first) = missing.first() {
        if Instant::now() >= deadline || stop.load(Relaxed) {
            let refused = last_refused.map(|reason| format!("; a connection was refused: {reason}"));
            let (index, count) = (own.index, missing.len());
            let reason = format!(
                "it did not connect to rank {index} in time ({count} missing){}",
                refused.unwrap_or_default()
            );
            return Err(Failure { rank: first, cause: Cause::Disconnected(reason) }.into());
        }
        let mut is_idle = true;
        // An error concerns one connection, such as a reset by its other end, or passes once others are
        // dropped.
        if let Ok((stream, _)) = listener.accept() {
            is_idle = false;
            if guests.len() >= ranks.len() + STRANGERS {
                guests.remove(0);
            }
            guests.extend(Guest::new(stream, nonce()?));
        }
        let mut at = 0;
        while at < guests.len() {
            match guests[at].advance(own) {
                Outcome::Waits => at += 1,
                Outcome::Gone => _ = guests.remove(at),
                Outcome::Refused(reason) => last_refused = Some(reason),
                Outcome::Known(hello, accept) => {
                    is_idle = false;
                    let mut guest = guests.remove(at);
                    if let Some(reason) = reason_against(&hello, own, &missing) {
                        guest.refuse(&reason);
                        let rank = hello.index as usize;
                        return Err(Failure { rank, cause: Cause::Error(reason) }.into());
                    }
                    // If the connection is lost, its reader notices.
                    let _ = guest.stream.write(&accept);
                    missing.retain(|&rank| rank != hello.index as usize);
                    each(hello, guest.stream);
                }
            }
        }
        if is_idle {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Reason why a process that has the secret is not one of the missing ranks.
fn reason_against(hello: &Hello, own: &TcpOptions, missing: &[usize]) -> Option<String> {
    if hello.size as usize != own.size {
        return Some(format!(
            "it is of a cluster of {} ranks, but rank {} is of one of {} (EVENPATH_SIZE)",
            hello.size, own.index, own.size
        ));
    }
    if !missing.contains(&(hello.index as usize)) {
        return Some("two processes are this rank (EVENPATH_RANK)".into());
    }
    (own.index == 0 && hello.address.is_none())
        .then(|| "it does not send the address at which it listens".into())
}

impl Guest {
    /// Returns `None` if the connection is already lost.
    fn new(stream: TcpStream, nonce: Nonce) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self { stream, greeting: Greeting::default(), nonce, since: Instant::now(), is_refused: false })
    }

    /// Reads the received bytes. Does not wait.
    fn advance(&mut self, own: &TcpOptions) -> Outcome {
        if self.since.elapsed() > PATIENCE {
            return Outcome::Gone;
        }
        let mut bytes = [0; 256];
        let read = match self.stream.read(&mut bytes) {
            Ok(0) => return Outcome::Gone,
            Ok(read) => read,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Outcome::Waits;
            }
            Err(_) => return Outcome::Gone,
        };
        if self.is_refused {
            return Outcome::Waits;
        }
        let place = (own.size as u32, own.index as u32);
        match self.greeting.receive(&bytes[..read], place, &own.secret, &self.nonce) {
            HelloStep::More => Outcome::Waits,
            HelloStep::Send(answer) => {
                // A new connection accepts so few bytes at once, or is lost.
                if matches!(self.stream.write(&answer), Ok(written) if written == answer.len()) {
                    Outcome::Waits
                } else {
                    Outcome::Gone
                }
            }
            HelloStep::Known { hello, accept } => Outcome::Known(hello, accept),
            HelloStep::Refuse(Refused::Stranger) => Outcome::Gone,
            HelloStep::Refuse(Refused::Because(reason)) => {
                self.refuse(&reason);
                Outcome::Refused(reason)
            }
        }
    }

    /// Sends the reason for a refusal.
    fn refuse(&mut self, reason: &str) {
        self.is_refused = true;
        let _ = self.stream.write(&refusal(reason));
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}
