//! Ranks that are processes of MPI.

use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::datatype::Equivalence;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use parking_lot::Mutex;

use super::frame::{Frame, HEADER, Header};
use super::mailbox::Mailbox;
use super::{Missing, Tag, Transport};
use crate::error::{Cause, Error, Failure, Result};

/// The tag of all messages of MPI; frames have tags of their own.
const TAG: i32 = 0;
/// Bytes of a message of MPI, at most: it counts them by `i32`.
const CHUNK: usize = 1 << 30;
/// Pause between two looks for messages, after some without one.
const PAUSE: Duration = Duration::from_micros(20);

/// One process's way to the others. MPI is called by one thread at a time: the one that has the lock.
pub(crate) struct Mpi {
    index: usize,
    size: usize,
    limit: Duration,
    mailbox: Mailbox,
    state: Mutex<State>,
}

struct State {
    /// By rank, a frame of which more is to come.
    unfinished: Vec<Option<(Header, Vec<u8>)>>,
    /// By rank, whether it has left.
    has_left: Vec<bool>,
    /// Finalizes MPI when it is dropped.
    _universe: Universe,
}

impl Mpi {
    /// Initializes MPI. A message may take as long to send as the limit says.
    pub(crate) fn initialize(limit: Duration) -> Result<Self> {
        let start_error = |reason: &str| Error::Start { reason: reason.into() };
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| start_error("MPI was initialized before"))?;
        if threading < Threading::Serialized {
            return Err(start_error("this MPI takes calls of one thread only"));
        }
        let world = SimpleCommunicator::world();
        let (index, size) = (world.rank() as usize, world.size() as usize);
        let unfinished = (0..size).map(|_| None).collect();
        let state = State { unfinished, has_left: vec![false; size], _universe: universe };
        Ok(Self { index, size, limit, mailbox: Mailbox::default(), state: Mutex::new(state) })
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Receives what has come. Returns whether anything has.
    fn drain(&self, state: &mut State) -> bool {
        let world = SimpleCommunicator::world();
        let mut is_any = false;
        while let Some(status) = world.any_process().immediate_probe_with_tag(TAG) {
            let from = status.source_rank();
            let mut chunk = vec![0_u8; status.count(u8::equivalent_datatype()) as usize];
            world.process_at_rank(from).receive_into_with_tag(&mut chunk[..], TAG);
            self.add_chunk(state, from as usize, &chunk);
            is_any = true;
        }
        is_any
    }

    /// Takes a part of a frame; the first begins with the header.
    fn add_chunk(&self, state: &mut State, from: usize, chunk: &[u8]) {
        let (header, mut payload) = match (state.unfinished[from].take(), chunk.split_first_chunk::<HEADER>())
        {
            (Some((header, payload)), _) => (header, payload),
            (None, Some((header, _))) => (Header::from_bytes(header), Vec::new()),
            (None, None) => return self.refuse(from, format!("{} bytes without a header", chunk.len())),
        };
        let is_first = payload.is_empty();
        payload.extend_from_slice(if is_first { &chunk[HEADER..] } else { chunk });
        if (payload.len() as u64) < header.len {
            state.unfinished[from] = Some((header, payload));
            return;
        }
        match header.frame(payload) {
            Ok(Frame::Data(tag, bytes)) => self.mailbox.deliver(from, tag, bytes),
            Ok(Frame::Finished { run }) => self.mailbox.finish(from, run),
            Ok(Frame::Abort(failure)) => _ = self.mailbox.fail(failure),
            Ok(Frame::Goodbye) => {
                self.mailbox.finish(from, u64::MAX);
                state.has_left[from] = true;
            }
            Err(reason) => self.refuse(from, reason),
        }
    }

    fn refuse(&self, rank: usize, reason: String) {
        self.mailbox.fail(Failure { rank, cause: Cause::Protocol(reason) });
    }

    /// Sends a frame, and receives while it waits for that. Without an end in time the whole program is ended: MPI has no way to
    /// take a message back.
    fn write(&self, state: &mut State, to: usize, frame: Frame) {
        let (header, payload) = frame.into_parts();
        let first = payload.len().min(CHUNK - HEADER);
        let mut chunk = Vec::with_capacity(HEADER + first);
        chunk.extend_from_slice(&header);
        chunk.extend_from_slice(&payload[..first]);
        self.write_chunk(state, to, &chunk);
        for chunk in payload[first..].chunks(CHUNK) {
            self.write_chunk(state, to, chunk);
        }
    }

    fn write_chunk(&self, state: &mut State, to: usize, chunk: &[u8]) {
        let world = SimpleCommunicator::world();
        let deadline = Instant::now() + self.limit;
        mpi::request::scope(|scope| {
            let mut request = world.process_at_rank(to as i32).immediate_send_with_tag(scope, chunk, TAG);
            while let Err(pending) = request.test() {
                request = pending;
                if !self.drain(state) {
                    std::thread::sleep(PAUSE);
                }
                if Instant::now() >= deadline {
                    eprintln!("rank {} could not send to rank {to} within {:?}", self.index, self.limit);
                    world.abort(1);
                }
            }
        });
    }

    fn write_all(&self, frame: &Frame) {
        let mut state = self.state.lock();
        for to in (0..self.size).filter(|&to| to != self.index) {
            if !state.has_left[to] {
                self.write(&mut state, to, frame.clone());
            }
        }
    }
}

// SAFETY: MPI is initialized for calls by several threads, one at a time, and every call is made with the lock held. The only fields that
// are not `Send` and `Sync` by themselves hold handles of MPI.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}

impl Transport for Mpi {
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), Failure> {
        let mut state = self.state.lock();
        self.drain(&mut state);
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        if state.has_left[to] {
            drop(state);
            let cause = Cause::Finished { waiting: self.index, operation: tag.operation };
            return Err(self.abort(Failure { rank: to, cause }));
        }
        self.write(&mut state, to, Frame::Data(tag, bytes));
        Ok(())
    }

    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        let mut idle = 0;
        loop {
            let is_any = self.drain(&mut self.state.lock());
            match self.mailbox.take(from, tag, Instant::now()) {
                Err(Missing::Timeout) if Instant::now() < deadline => {}
                result => return result,
            }
            // Messages that are under way come soon; what takes longer leaves the core to other ranks.
            idle = if is_any { 0 } else { idle + 1 };
            if idle > 100 {
                std::thread::sleep(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn finish(&self, run: u64) {
        self.write_all(&Frame::Finished { run });
    }

    /// Sends the first failure to all, even if another rank caused it. This rank may leave next, and a rank that notices that before it
    /// receives the failure would report this rank as the cause.
    fn abort(&self, failure: Failure) -> Failure {
        let (first, _) = self.mailbox.fail(failure);
        self.write_all(&Frame::Abort(first.clone()));
        first
    }

    fn failure(&self) -> Option<Failure> {
        if let Some(mut state) = self.state.try_lock() {
            self.drain(&mut state);
        }
        self.mailbox.failure()
    }
}

impl Drop for Mpi {
    /// Leaves, after it has told all of a failure that it knows of. Receives all that was sent to this rank, as MPI wants it before it is finalized: until all others have left too.
    fn drop(&mut self) {
        let deadline = Instant::now() + self.limit;
        if let Some(failure) = self.failure() {
            self.write_all(&Frame::Abort(failure));
        }
        let mut state = self.state.lock();
        for to in (0..self.size).filter(|&to| to != self.index) {
            self.write(&mut state, to, Frame::Goodbye);
        }
        state.has_left[self.index] = true;
        while state.has_left.contains(&false) && Instant::now() < deadline {
            if !self.drain(&mut state) {
                std::thread::sleep(PAUSE);
            }
        }
    }
}
