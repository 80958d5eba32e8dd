//! Ranks that are MPI processes.

use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::datatype::Equivalence;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};
use parking_lot::Mutex;

use super::frame::{Frame, HEADER, Header, LONGEST_MESSAGE};
use super::interface::Transport;
use super::mailbox::Mailbox;
use super::message::{Missing, Report, Tag, Wait};
use crate::error::{Cause, Error, Failure, Result};
use crate::memory::{filled, zeros};

/// MPI tag of all messages; frames have tags of their own.
const TAG: i32 = 0;
/// Maximum bytes of an MPI message, whose count is an `i32`.
const CHUNK: usize = 1 << 30;
/// Pause between two polls for messages, after some without success.
const PAUSE: Duration = Duration::from_micros(20);

/// A process's communication with the others. MPI is called by one thread at a time: the one that holds the
/// lock.
pub(crate) struct Mpi {
    index: usize,
    size: usize,
    limit: Duration,
    mailbox: Mailbox,
    state: Mutex<MpiState>,
}

struct MpiState {
    /// Incomplete frames, by rank.
    unfinished: Vec<Option<(Header, Vec<u8>)>>,
    /// Ranks that have left.
    has_left: Vec<bool>,
    /// Ranks that asked which ranks this one waits for, and have no answer yet.
    asked: Vec<usize>,
    /// Finalizes MPI on drop.
    _universe: Universe,
}

impl Mpi {
    /// Initializes MPI. `limit` is the maximum time to send a message.
    pub(crate) fn initialize(limit: Duration) -> Result<Self> {
        let start_error = |reason: &str| Error::Start { reason: reason.into() };
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| start_error("MPI was already initialized"))?;
        if threading < Threading::Serialized {
            return Err(start_error("this MPI supports calls from one thread only"));
        }
        let world = SimpleCommunicator::world();
        let (index, size) = (world.rank() as usize, world.size() as usize);
        let unfinished = (0..size).map(|_| None).collect();
        let state =
            MpiState { unfinished, has_left: filled(&false, size)?, asked: Vec::new(), _universe: universe };
        Ok(Self { index, size, limit, mailbox: Mailbox::default(), state: Mutex::new(state) })
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Receives arrived messages. Returns whether there were any.
    fn drain(&self, state: &mut MpiState) -> bool {
        let world = SimpleCommunicator::world();
        let mut is_any = false;
        while let Some(status) = world.any_process().immediate_probe_with_tag(TAG) {
            let from = status.source_rank();
            let len = status.count(u8::equivalent_datatype()) as usize;
            let Ok(mut chunk) = zeros::<u8>(len) else {
                self.refuse(from as usize, format!("too little memory for {len} bytes of a message"));
                break;
            };
            world.process_at_rank(from).receive_into_with_tag(&mut chunk[..], TAG);
            self.add_chunk(state, from as usize, &chunk);
            is_any = true;
        }
        is_any
    }

    /// Adds a part of a frame; the first starts with the header.
    fn add_chunk(&self, state: &mut MpiState, from: usize, chunk: &[u8]) {
        let (header, mut payload) = match (state.unfinished[from].take(), chunk.split_first_chunk::<HEADER>())
        {
            (Some((header, payload)), _) => (header, payload),
            (None, Some((header, _))) => (Header::from_bytes(header), Vec::new()),
            (None, None) => return self.refuse(from, format!("{} bytes without a header", chunk.len())),
        };
        if let Err(reason) = header.check() {
            return self.refuse(from, reason);
        }
        let is_first = payload.is_empty();
        payload.extend_from_slice(if is_first { &chunk[HEADER..] } else { chunk });
        if (payload.len() as u64) < header.len {
            state.unfinished[from] = Some((header, payload));
            return;
        }
        match header.frame(payload) {
            Ok(Frame::Data(tag, bytes)) => {
                if !self.mailbox.deliver(from, tag, bytes) {
                    self.refuse(from, format!("a second message in one `{}`", tag.operation));
                }
            }
            Ok(Frame::Ask) => state.asked.push(from),
            Ok(Frame::Answer(report)) => self.mailbox.answer(from, report),
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

    /// Receives arrived messages, and answers ranks that ask, except `busy`, to which a message is being
    /// sent. Returns whether there were any messages.
    fn serve(&self, state: &mut MpiState, busy: Option<usize>) -> bool {
        let is_any = self.drain(state);
        let (later, now) = std::mem::take(&mut state.asked).into_iter().partition(|&rank| Some(rank) == busy);
        state.asked = later;
        for rank in now {
            let answer = Frame::Answer(self.mailbox.report());
            self.write(state, rank, answer, Instant::now() + self.limit);
        }
        is_any
    }

    /// Sends a frame, and receives meanwhile. If this exceeds the deadline the whole program is ended: MPI
    /// cannot cancel a message.
    fn write(&self, state: &mut MpiState, to: usize, frame: Frame, deadline: Instant) {
        let is_message = matches!(frame, Frame::Data(..));
        let (header, payload) = frame.into_parts();
        let first = payload.len().min(CHUNK - HEADER);
        let chunk = [&header, &payload[..first]].concat();
        self.write_chunk(state, to, (&chunk, is_message), deadline);
        for chunk in payload[first..].chunks(CHUNK) {
            self.write_chunk(state, to, (chunk, is_message), deadline);
        }
    }

    /// Other ranks are answered while a message is sent, but not while an answer is.
    fn write_chunk(
        &self,
        state: &mut MpiState,
        to: usize,
        (chunk, is_message): (&[u8], bool),
        deadline: Instant,
    ) {
        let world = SimpleCommunicator::world();
        mpi::request::scope(|scope| {
            let mut request = world.process_at_rank(to as i32).immediate_send_with_tag(scope, chunk, TAG);
            while let Err(pending) = request.test() {
                request = pending;
                let is_any = if is_message { self.serve(state, Some(to)) } else { self.drain(state) };
                if !is_any {
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
                self.write(&mut state, to, frame.clone(), Instant::now() + self.limit);
            }
        }
    }
}

// SAFETY: MPI is initialized for calls by several threads, one at a time, and every call is made with the
// lock held. The only fields that are not `Send` and `Sync` by themselves hold MPI handles.
unsafe impl Send for Mpi {}
// SAFETY: as above.
unsafe impl Sync for Mpi {}

impl Transport for Mpi {
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>, deadline: Instant) -> Result<(), Missing> {
        let mut state = self.state.lock();
        self.serve(&mut state, None);
        if let Some(failure) = self.mailbox.failure() {
            return Err(Missing::Failed(failure));
        }
        if state.has_left[to] {
            return Err(Missing::Finished);
        }
        let len = bytes.len() as u64;
        if len > LONGEST_MESSAGE {
            return Err(Missing::TooLong { bytes: len, limit: LONGEST_MESSAGE });
        }
        self.mailbox.set_wait(Some(Wait::Send { to, tag }));
        self.write(&mut state, to, Frame::Data(tag, bytes), deadline);
        self.mailbox.set_wait(None);
        Ok(())
    }

    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        let mut idle = 0;
        loop {
            let is_any = self.serve(&mut self.state.lock(), None);
            match self.mailbox.take(from, tag, Instant::now()) {
                // The wait stays recorded after a timeout: the rank fails next.
                Err(Missing::Timeout) if Instant::now() < deadline => {
                    self.mailbox.set_wait(Some(Wait::Receive { from, tag }));
                }
                Err(Missing::Timeout) => return Err(Missing::Timeout),
                result => {
                    self.mailbox.set_wait(None);
                    return result;
                }
            }
            // Messages in transit arrive soon; longer waits leave the core to other ranks.
            idle = if is_any { 0 } else { idle + 1 };
            if idle > 100 {
                std::thread::sleep(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
    }

    fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing> {
        self.mailbox.has(from, tag)
    }

    fn set_wait(&self, wait: Option<Wait>) {
        self.mailbox.set_wait(wait);
    }

    fn ask(&self, rank: usize, deadline: Instant) -> Option<Report> {
        if rank == self.index {
            return self.mailbox.report();
        }
        let mut state = self.state.lock();
        if state.has_left[rank] {
            return None;
        }
        self.write(&mut state, rank, Frame::Ask, Instant::now() + self.limit);
        loop {
            // Other ranks may ask this one at the same time.
            let is_any = self.serve(&mut state, None);
            if let Some(answer) = self.mailbox.take_answer(rank, Instant::now()) {
                return answer;
            }
            if Instant::now() >= deadline || self.mailbox.failure().is_some() {
                return None;
            }
            if !is_any {
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn finish(&self, run: u64) {
        self.write_all(&Frame::Finished { run });
    }

    /// Sends the first failure to all, even if another rank caused it. This rank may leave next, and a rank
    /// that notices that before it receives the failure would report this rank as the cause.
    fn abort(&self, failure: Failure) -> Failure {
        let (first, _) = self.mailbox.fail(failure);
        self.write_all(&Frame::Abort(first.clone()));
        first
    }

    fn failure(&self) -> Option<Failure> {
        if let Some(mut state) = self.state.try_lock() {
            self.serve(&mut state, None);
        }
        self.mailbox.failure()
    }
}

impl Drop for Mpi {
    /// Leaves, after telling all ranks of a known failure. Receives all messages to this rank, as MPI
    /// requires before it is finalized: until all others have left too.
    fn drop(&mut self) {
        let deadline = Instant::now() + self.limit;
        if let Some(failure) = self.failure() {
            self.write_all(&Frame::Abort(failure));
        }
        let mut state = self.state.lock();
        for to in (0..self.size).filter(|&to| to != self.index) {
            self.write(&mut state, to, Frame::Goodbye, Instant::now() + self.limit);
        }
        state.has_left[self.index] = true;
        while state.has_left.contains(&false) && Instant::now() < deadline {
            if !self.drain(&mut state) {
                std::thread::sleep(PAUSE);
            }
        }
    }
}
