//! Exchanges of elements between GPU memories by NCCL.
//!
//! Everything that may wait for other ranks uses a communicator with non-blocking calls, polled until it is
//! done, a rank fails, or a deadline passes: joining it, and the first exchange of a plan, which makes the
//! required connections. But NCCL starts a thread for each group of such calls, which takes longer than a
//! small exchange. A second communicator with blocking calls is therefore split off and shares the
//! connections. All later exchanges use that one: its groups have nothing to wait for, and only put a kernel
//! on the stream.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::time::{Duration, Instant};

use bytemuck::Pod;
use evenpath::DeviceSlice;
use evenpath::device::{Event, Stream};

use crate::error::{Cause, Error, Result};
use crate::nccl::Communicator;
use crate::nccl::functions::{BYTES, IN_PROGRESS, INVALID_USAGE, SUCCESS};
use crate::rank::{Exchange, Rank};

/// Time of polling without pauses; later polls pause in between.
const SPIN: Duration = Duration::from_micros(200);
const PAUSE: Duration = Duration::from_micros(20);

/// Communicator of an exchange, the same for all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The non-blocking one, which may wait for other ranks to make connections.
    Connecting,
    /// The blocking one, if it exists: earlier exchanges between the same ranks made the connections.
    Connected,
}

/// Elements sent to and received from one rank: ranges of the send buffer and of the receive buffer.
#[derive(Debug, Clone)]
pub(crate) struct PeerRanges {
    pub(crate) peer: usize,
    pub(crate) send: Range<usize>,
    pub(crate) receive: Range<usize>,
}

/// An exchange in progress.
pub(crate) struct Started {
    exchange: Exchange,
    /// Event after the exchange.
    end: Event,
    /// Expected number of bytes from each participating rank.
    expected: Vec<(usize, u64)>,
}

impl Communicator {
    /// Starts sending parts of `from` and receiving parts of `to`, after the stream's earlier work.
    pub(crate) fn start<V: Pod>(
        &self,
        rank: &Rank,
        (exchange, way): (Exchange, Way),
        stream: &Stream,
        (from, to): (&DeviceSlice<V>, &mut DeviceSlice<V>),
        parts: &[PeerRanges],
    ) -> Result<Started> {
        let bytes = |range: &Range<usize>| (range.len() * size_of::<V>()) as u64;
        let expected = parts.iter().map(|part| (part.peer, bytes(&part.receive))).collect();
        // Before NCCL may wait for a rank, it is sent a message: that this rank takes part, and how much it
        // sends.
        let told = parts.iter().try_for_each(|part| {
            rank.count_bytes(part.peer, bytes(&part.send));
            rank.send(exchange, part.peer, &[bytes(&part.send)])
        });
        let end = told.and_then(|()| stream.scope(|| self.put(rank, (exchange, way), (from, to), parts)));
        Ok(Started { exchange, end: self.or_abort(end)?, expected })
    }

    /// Puts an exchange on the thread's stream, and returns the event after it.
    fn put<V: Pod>(
        &self,
        rank: &Rank,
        (exchange, way): (Exchange, Way),
        (from, to): (&DeviceSlice<V>, &mut DeviceSlice<V>),
        parts: &[PeerRanges],
    ) -> Result<Event> {
        let addresses = (from.raw_address(), to.raw_address());
        let put = |stream| {
            self.enqueue::<V>((rank, way), addresses, parts, stream)?;
            wait_for_peers(rank, exchange, parts, || self.is_idle(rank))
        };
        if !parts.is_empty() {
            // SAFETY: NCCL reads and writes parts of these operands, and has put that on the stream when its
            // state is no longer in progress, which is waited for; if that fails, the communicator is
            // aborted. It keeps the context.
            unsafe { self.device.put_foreign(&[from], &mut [to], put) }??;
        }
        Ok(self.device.record()?)
    }

    /// Waits until an exchange is complete.
    pub(crate) fn finish(&self, rank: &Rank, started: &Started) -> Result<()> {
        let arrived = started.expected.iter().try_for_each(|&(peer, expected)| {
            let found: Vec<u64> = rank.receive_exactly(started.exchange, peer, 1)?;
            rank.check_message(started.exchange, peer, (found[0] as usize, expected as usize))
        });
        self.or_abort(arrived.and_then(|()| self.wait(rank, started)))
    }

    /// Ends the communicator: by finalizing it if `is_well`, otherwise by aborting it.
    pub(crate) fn close(&self, rank: &Rank, is_well: bool) {
        let finalized = || {
            let code = self.in_context(|_| {
                // SAFETY: the communicator is live.
                let code =
                    self.with_live(|functions, live| unsafe { (functions.ncclCommFinalize)(live.handle) });
                code.unwrap_or(INVALID_USAGE)
            });
            let is_done = || Ok(self.state() != Some(IN_PROGRESS));
            matches!(code, SUCCESS | IN_PROGRESS)
                && poll(rank, rank.timeout(), is_done).unwrap_or(false)
                && self.state() == Some(SUCCESS)
        };
        if is_well && finalized() {
            self.end(|functions, handle| {
                // SAFETY: the communicator is live and finalized, and not used again.
                unsafe { (functions.ncclCommDestroy)(handle) }
            });
        } else {
            self.abort();
        }
    }

    fn or_abort<R>(&self, result: Result<R>) -> Result<R> {
        if result.is_err() {
            self.abort();
        }
        result
    }

    /// Puts one group of sends and receives on a stream.
    fn enqueue<V>(
        &self,
        (rank, way): (&Rank, Way),
        (from, to): (u64, u64),
        parts: &[PeerRanges],
        stream: *mut c_void,
    ) -> Result<()> {
        let bytes = |range: &Range<usize>| range.len() * size_of::<V>();
        let called = self.with_live(|functions, live| {
            let handle = live.quick().filter(|_| way == Way::Connected).unwrap_or(live.handle);
            // SAFETY: a group starts here and ends below.
            let mut codes = vec![("ncclGroupStart", unsafe { (functions.ncclGroupStart)() })];
            for PeerRanges { peer, send, receive } in parts {
                let peer = *peer as c_int;
                if !send.is_empty() {
                    let first = (from + (send.start * size_of::<V>()) as u64) as *const _;
                    // SAFETY: the range is of the operand, the communicator is live, and the stream is of its device.
                    let code =
                        unsafe { (functions.ncclSend)(first, bytes(send), BYTES, peer, handle, stream) };
                    codes.push(("ncclSend", code));
                }
                if !receive.is_empty() {
                    let first = (to + (receive.start * size_of::<V>()) as u64) as *mut _;
                    // SAFETY: as above.
                    let code =
                        unsafe { (functions.ncclRecv)(first, bytes(receive), BYTES, peer, handle, stream) };
                    codes.push(("ncclRecv", code));
                }
            }
            // SAFETY: the group started above. It is ended also if a call failed.
            codes.push(("ncclGroupEnd", unsafe { (functions.ncclGroupEnd)() }));
            codes
        });
        let Some(codes) = called else { return Err(refused(rank)) };
        codes.into_iter().try_for_each(|(call, code)| self.check(rank, call, code))
    }

    /// Returns whether NCCL has completed all calls, up to putting them on streams.
    fn is_idle(&self, rank: &Rank) -> Result<bool> {
        let state = self.state().ok_or_else(|| refused(rank))?;
        self.check(rank, "ncclCommGetAsyncError", state)?;
        Ok(state != IN_PROGRESS)
    }

    fn check(&self, rank: &Rank, call: &str, code: c_int) -> Result<()> {
        if matches!(code, SUCCESS | IN_PROGRESS) {
            return Ok(());
        }
        let described = self.describe(call, code);
        Err(rank.fail(rank.index(), Cause::Nccl(described)))
    }

    /// Waits for the GPU. Fails if a rank or NCCL fails, or at the rank's deadline.
    fn wait(&self, rank: &Rank, started: &Started) -> Result<()> {
        let peers = started.expected.iter().map(|&(peer, _)| peer).collect();
        let wait = rank.wait_for_gpus(started.exchange, peers, true);
        let is_in_time = poll(rank, rank.timeout(), || {
            let is_done = started.end.is_done()?;
            self.is_idle(rank)?;
            Ok(is_done)
        })?;
        if is_in_time {
            return Ok(());
        }
        Err(wait.fail(format!("an exchange took longer than {} s", rank.timeout().as_secs_f64())))
    }
}

/// Returns the error of calls after an abort.
fn refused(rank: &Rank) -> Error {
    rank.fail(rank.index(), Cause::Nccl("the communicator was aborted".into()))
}

/// Waits until a group is on its stream, which may require other ranks to arrive: the error names one that
/// has not.
fn wait_for_peers(
    rank: &Rank,
    exchange: Exchange,
    parts: &[PeerRanges],
    is_done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let wait = rank.wait_for_gpus(exchange, parts.iter().map(|part| part.peer).collect(), false);
    if poll(rank, rank.timeout(), is_done)? {
        return Ok(());
    }
    // A peer that has ended its run or called another operation has not sent the message of this one.
    for part in parts {
        rank.check_arrival(exchange, part.peer)?;
    }
    Err(wait.fail(format!("the start of an exchange took longer than {} s", rank.timeout().as_secs_f64())))
}

/// Polls until `is_done` returns true or the limit passes. Fails if a rank fails.
pub(super) fn poll(rank: &Rank, limit: Duration, mut is_done: impl FnMut() -> Result<bool>) -> Result<bool> {
    let start = Instant::now();
    loop {
        if is_done()? {
            return Ok(true);
        }
        if let Some(failure) = rank.failure() {
            return Err(failure.into());
        }
        let waited = start.elapsed();
        if waited >= limit {
            return Ok(false);
        }
        if waited < SPIN { std::hint::spin_loop() } else { std::thread::sleep(PAUSE) }
    }
}
