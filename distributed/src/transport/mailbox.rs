//! A rank's received messages and its current wait.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::message::{Missing, Report, Tag, Wait};
use crate::error::{Failure, Operation};

/// Time of polling for a message before the thread sleeps.
const PATIENCE: Duration = Duration::from_micros(100);

/// Maximum bytes of messages from one rank for operations that this rank has not started: 256 MiB.
pub(super) const AHEAD: u64 = 1 << 28;

/// Messages and notes that a rank has received and not yet taken.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<MailboxState>,
    changed: Condvar,
}

#[derive(Default)]
struct MailboxState {
    /// Messages by sender, run and number of the operation.
    messages: HashMap<(usize, u64, u64), (Operation, Vec<u8>)>,
    /// Bytes of stored messages and of those being read, by sender.
    held: HashMap<usize, u64>,
    /// Number of threads that wait in [`admit`](Mailbox::admit).
    held_back: usize,
    /// Run and number of the last operation that the rank started.
    begun: (u64, u64),
    /// True if the rank has left: it accepts no more messages.
    is_closed: bool,
    /// First run that each rank has not ended; 0 if none.
    finished: HashMap<usize, u64>,
    failure: Option<Failure>,
    /// Current wait of the rank.
    wait: Option<Wait>,
    /// Each rank's answer to the question which ranks it waits for.
    answers: HashMap<usize, Option<Report>>,
}

impl Mailbox {
    /// Waits until there is room for more bytes of a message: at once if this rank has started the operation,
    /// so that ranks that send to each other cannot deadlock, otherwise until at most [`AHEAD`] bytes of the
    /// sender are stored.
    pub(super) fn admit(&self, from: usize, tag: Tag, bytes: u64) {
        let mut state = self.state.lock();
        loop {
            let held = state.held.get(&from).copied().unwrap_or(0);
            let has_room = held == 0 || held.saturating_add(bytes) <= AHEAD;
            if has_room || state.begun == (tag.run, tag.sequence) || state.is_over() {
                *state.held.entry(from).or_default() += bytes;
                return;
            }
            state.held_back += 1;
            self.changed.wait(&mut state);
            state.held_back -= 1;
        }
    }

    /// Adds a message. Returns false, and adds nothing, if there is one of the same operation.
    pub(super) fn deliver(&self, from: usize, tag: Tag, bytes: Vec<u8>) -> bool {
        let key = (from, tag.run, tag.sequence);
        let mut state = self.state.lock();
        if state.messages.contains_key(&key) {
            return false;
        }
        if !state.is_over() {
            state.messages.insert(key, (tag.operation, bytes));
        }
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Drops stored messages, and all later ones.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.messages.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Records that a rank has ended a run, and all earlier ones.
    pub(super) fn finish(&self, rank: usize, run: u64) {
        let mut state = self.state.lock();
        let next = state.finished.entry(rank).or_default();
        *next = (*next).max(run.saturating_add(1));
        drop(state);
        self.changed.notify_all();
    }

    /// Returns whether a rank has ended a run.
    pub(super) fn is_finished(&self, rank: usize, run: u64) -> bool {
        self.state.lock().finished.get(&rank).is_some_and(|&next| next > run)
    }

    /// Records a failure, unless there is one. Returns the first, and true if it is this one.
    pub(super) fn fail(&self, failure: Failure) -> (Failure, bool) {
        let mut state = self.state.lock();
        let is_first = state.failure.is_none();
        let first = state.failure.get_or_insert(failure).clone();
        drop(state);
        self.changed.notify_all();
        (first, is_first)
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.state.lock().failure.clone()
    }

    /// Waits for a failure until the deadline.
    pub(super) fn wait_for_failure(&self, deadline: Instant) -> Option<Failure> {
        let mut state = self.state.lock();
        while state.failure.is_none() {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.failure.clone()
    }

    pub(super) fn set_wait(&self, wait: Option<Wait>) {
        let mut state = self.state.lock();
        if let Some(wait) = &wait {
            self.begin(&mut state, wait.tag());
        }
        state.wait = wait;
    }

    /// Records that the rank has started an operation. Messages of earlier runs are dropped.
    fn begin(&self, state: &mut MailboxState, tag: Tag) {
        let begun = (tag.run, tag.sequence);
        if begun <= state.begun {
            return;
        }
        if tag.run > state.begun.0 {
            let MailboxState { messages, held, .. } = state;
            messages.retain(|&(from, run, _), message| {
                let is_needed = run >= tag.run;
                if let Some(held) = held.get_mut(&from).filter(|_| !is_needed) {
                    *held = held.saturating_sub(message.1.len() as u64);
                }
                is_needed
            });
        }
        state.begun = begun;
        self.wake_readers(state);
    }

    fn wake_readers(&self, state: &MailboxState) {
        if state.held_back > 0 {
            self.changed.notify_all();
        }
    }

    /// Ranks that the rank waits for; `None` if it does not wait.
    pub(super) fn report(&self) -> Option<Report> {
        self.state.lock().report()
    }

    /// Records a rank's answer to the question which ranks it waits for.
    pub(super) fn answer(&self, rank: usize, report: Option<Report>) {
        self.state.lock().answers.insert(rank, report);
        self.changed.notify_all();
    }

    /// Takes a rank's answer if it arrives by the deadline, and there is no failure. The answer of a rank
    /// that does not wait is itself `None`.
    #[expect(clippy::option_option)]
    pub(super) fn take_answer(&self, rank: usize, deadline: Instant) -> Option<Option<Report>> {
        let mut state = self.state.lock();
        loop {
            if state.failure.is_some() {
                return None;
            }
            if let Some(answer) = state.answers.remove(&rank) {
                return Some(answer);
            }
            if Instant::now() >= deadline {
                return None;
            }
            self.changed.wait_until(&mut state, deadline);
        }
    }

    /// Returns whether a message has arrived; fails if it will not.
    pub(super) fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing> {
        self.state.lock().look(from, tag).map_or(Ok(false), |found| found.map(|()| true))
    }

    /// Waits for a message and takes it. If the deadline passes, the wait stays recorded.
    pub(super) fn take(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        let mut sleep_begin = None;
        let mut state = self.state.lock();
        self.begin(&mut state, tag);
        loop {
            if let Some(found) = state.look(from, tag) {
                if sleep_begin.is_some() {
                    state.wait = None;
                }
                let taken = found.map(|()| state.remove(from, tag));
                self.wake_readers(&state);
                return taken;
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(Missing::Timeout);
            }
            let begin = *sleep_begin.get_or_insert_with(|| {
                state.wait = Some(Wait::Receive { from, tag });
                now + PATIENCE
            });
            // Waking a sleeping thread takes long compared with a message between threads: poll first.
            if now < begin {
                MutexGuard::unlocked(&mut state, std::thread::yield_now);
            } else {
                self.changed.wait_until(&mut state, deadline);
            }
        }
    }
}

impl MailboxState {
    /// Returns whether a message has arrived or will not; `None` if it may still arrive.
    fn look(&self, from: usize, tag: Tag) -> Option<Result<(), Missing>> {
        if let Some(failure) = &self.failure {
            return Some(Err(Missing::Failed(failure.clone())));
        }
        if let Some((operation, _)) = self.messages.get(&(from, tag.run, tag.sequence)) {
            let is_same = *operation == tag.operation;
            return Some(if is_same { Ok(()) } else { Err(Missing::Mismatch(*operation)) });
        }
        self.finished.get(&from).is_some_and(|&next| next > tag.run).then_some(Err(Missing::Finished))
    }

    fn remove(&mut self, from: usize, tag: Tag) -> Vec<u8> {
        let message = self.messages.remove(&(from, tag.run, tag.sequence)).map(|message| message.1);
        let bytes = message.unwrap_or_default();
        if let Some(held) = self.held.get_mut(&from) {
            *held = held.saturating_sub(bytes.len() as u64);
        }
        bytes
    }

    /// Returns whether no more messages will be taken.
    fn is_over(&self) -> bool {
        self.is_closed || self.failure.is_some()
    }

    fn report(&self) -> Option<Report> {
        let has_come = |from: usize, tag: &Tag| self.messages.contains_key(&(from, tag.run, tag.sequence));
        let report = |tag: &Tag, missing, present| Report { operation: tag.operation, missing, present };
        match self.wait.as_ref()? {
            // The rank is about to take it.
            Wait::Receive { from, tag } if has_come(*from, tag) => None,
            Wait::Receive { from: rank, tag } | Wait::Send { to: rank, tag } => {
                Some(report(tag, vec![*rank], Vec::new()))
            }
            Wait::Gpu { peers, tag } => Some(report(tag, Vec::new(), peers.to_vec())),
            Wait::Begin { peers, tag } => {
                let (present, missing) = peers.iter().partition(|&&peer| has_come(peer, tag));
                Some(report(tag, missing, present))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(run: u64, sequence: u64) -> Tag {
        Tag { run, sequence, operation: Operation::AllToAll }
    }

    /// Ranks that send each other long messages in one operation do not wait for each other to take earlier
    /// ones.
    #[test]
    fn messages_of_an_operation_that_has_begun_are_not_held_back() {
        let mailbox = Mailbox::default();
        mailbox.admit(1, tag(0, 4), AHEAD);
        mailbox.admit(2, tag(0, 5), AHEAD);
        std::thread::scope(|scope| {
            let held_back = [tag(0, 5), tag(0, 6)].map(|tag| {
                let mailbox = &mailbox;
                scope.spawn(move || mailbox.admit(1, tag, 1))
            });
            while mailbox.state.lock().held_back < 2 {
                std::thread::yield_now();
            }
            mailbox.set_wait(Some(Wait::Send { to: 2, tag: tag(0, 5) }));
            let [begun, later] = held_back;
            begun.join().unwrap();
            assert_eq!(mailbox.state.lock().held_back, 1);
            mailbox.close();
            later.join().unwrap();
        });
    }

    #[test]
    fn messages_of_earlier_runs_are_dropped() {
        let mailbox = Mailbox::default();
        let deliver = |tag| {
            mailbox.admit(1, tag, 8);
            assert!(mailbox.deliver(1, tag, vec![0; 8]) && !mailbox.deliver(1, tag, Vec::new()));
        };
        deliver(tag(0, 3));
        deliver(tag(1, 0));
        assert_eq!(mailbox.take(1, tag(1, 0), Instant::now()), Ok(vec![0; 8]));
        let state = mailbox.state.lock();
        assert_eq!((state.messages.len(), state.held[&1]), (0, 0));
    }
}
