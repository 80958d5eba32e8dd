//! What has arrived for one rank.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{Missing, Tag};
use crate::error::{Failure, Operation};

/// How long to look for a message before the thread sleeps.
const PATIENCE: Duration = Duration::from_micros(100);

/// The messages for a rank that it has not taken yet, and what it was told.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By sender, run and number of the operation.
    messages: HashMap<(usize, u64, u64), (Operation, Vec<u8>)>,
    /// By rank, the first run that it has not ended; 0 where there is none.
    finished: HashMap<usize, u64>,
    failure: Option<Failure>,
}

impl Mailbox {
    pub(super) fn deliver(&self, from: usize, tag: Tag, bytes: Vec<u8>) {
        let key = (from, tag.run, tag.sequence);
        self.state.lock().messages.insert(key, (tag.operation, bytes));
        self.changed.notify_all();
    }

    /// Notes that a rank has ended a run, and all before it.
    pub(super) fn finish(&self, rank: usize, run: u64) {
        let mut state = self.state.lock();
        let next = state.finished.entry(rank).or_default();
        *next = (*next).max(run.saturating_add(1));
        drop(state);
        self.changed.notify_all();
    }

    /// Whether a rank has ended a run.
    pub(super) fn is_finished(&self, rank: usize, run: u64) -> bool {
        self.state.lock().finished.get(&rank).is_some_and(|&next| next > run)
    }

    /// Notes a failure, unless there is one. Returns the first, and whether it is this.
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

    /// The failure, if there is one by the deadline.
    pub(super) fn wait_for_failure(&self, deadline: Instant) -> Option<Failure> {
        let mut state = self.state.lock();
        while state.failure.is_none() {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.failure.clone()
    }

    /// Takes a message, as soon as it is there.
    pub(super) fn take(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        let key = (from, tag.run, tag.sequence);
        let mut patience = None;
        let mut state = self.state.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(Missing::Failed(failure.clone()));
            }
            if let Some((operation, bytes)) = state.messages.remove(&key) {
                return if operation == tag.operation {
                    Ok(bytes)
                } else {
                    Err(Missing::Mismatch(operation))
                };
            }
            if state.finished.get(&from).is_some_and(|&next| next > tag.run) {
                return Err(Missing::Finished);
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(Missing::Timeout);
            }
            // Who sleeps takes long to wake, compared with a message between threads: at first there is only a pause.
            if now < *patience.get_or_insert_with(|| now + PATIENCE) {
                MutexGuard::unlocked(&mut state, std::thread::yield_now);
            } else {
                self.changed.wait_until(&mut state, deadline);
            }
        }
    }
}
