//! State of the stand-in, and its interface for tests.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_int;

use parking_lot::{Mutex, MutexGuard};

use crate::nccl::functions::Handle;

/// Failure on a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// A call returns a code; state queries do so from the rank's second one.
    Call(&'static str, c_int),
    /// The same with the communicator that was split off.
    Quick(&'static str, c_int),
    /// Groups never complete.
    Hang,
    /// Groups of the communicator that was split off never complete.
    QuickHang,
    /// The communicator is never split.
    SplitHang,
}

/// State of the stand-in.
#[derive(Default)]
pub(super) struct StandInState {
    pub(super) ids: u64,
    pub(super) handles: usize,
    pub(super) communicators: HashMap<usize, Member>,
    /// Number of ranks that have joined, by communicator.
    pub(super) joined: HashMap<u64, usize>,
    /// Number of ranks that have started to split it, by communicator.
    pub(super) splits: HashMap<u64, usize>,
    /// Existing connections, by communicator, sender and receiver.
    pub(super) connections: HashSet<(u64, usize, usize)>,
    /// Messages, by communicator, sender and receiver.
    pub(super) messages: HashMap<(u64, usize, usize), VecDeque<Vec<u8>>>,
    pub(super) fault: Option<(usize, InjectedFault)>,
    /// Calls by rank, in order, except state queries.
    pub(super) calls: Vec<(usize, &'static str)>,
}

/// A rank's end of a communicator.
#[derive(Default)]
pub(super) struct Member {
    pub(super) id: u64,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// True for a communicator that was split off.
    pub(super) is_quick: bool,
    /// Address for the communicator that is being split off.
    pub(super) split: Option<usize>,
    pub(super) is_finalized: bool,
    pub(super) has_had_groups: bool,
    pub(super) receives: Vec<GroupedTransfer>,
}

#[derive(Clone, Copy)]
pub(super) struct GroupedTransfer {
    pub(super) is_send: bool,
    pub(super) address: usize,
    pub(super) bytes: usize,
    pub(super) peer: usize,
    pub(super) handle: usize,
}

static STATE: Mutex<Option<StandInState>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    pub(super) static GROUP: RefCell<Option<Vec<GroupedTransfer>>> = const { RefCell::new(None) };
}

/// A test's exclusive use of the stand-in, starting with fresh state.
pub(crate) struct Turn {
    _turn: MutexGuard<'static, ()>,
}

/// Waits until no other test uses the stand-in.
pub(crate) fn turn(fault: Option<(usize, InjectedFault)>) -> Turn {
    let turn = TURN.lock();
    *STATE.lock() = Some(StandInState { fault, ..StandInState::default() });
    Turn { _turn: turn }
}

/// Calls in this turn, by rank.
pub(crate) fn calls() -> Vec<(usize, &'static str)> {
    with(|state| state.calls.clone())
}

/// Number of calls of a function by a rank.
pub(crate) fn count(rank: usize, name: &str) -> usize {
    calls().iter().filter(|call| **call == (rank, name)).count()
}

/// Number of communicators that were neither destroyed nor aborted.
pub(crate) fn live() -> usize {
    with(|state| state.communicators.len())
}

pub(super) fn with<R>(body: impl FnOnce(&mut StandInState) -> R) -> R {
    body(STATE.lock().as_mut().unwrap_or_else(|| misused("a call outside of a test")))
}

pub(super) fn misused(what: &str) -> ! {
    eprintln!("the stand-in for NCCL was misused: {what}");
    std::process::abort()
}

impl StandInState {
    pub(super) fn member(&mut self, handle: Handle) -> &mut Member {
        self.communicators
            .get_mut(&(handle as usize))
            .unwrap_or_else(|| misused("a communicator that has ended or never existed"))
    }

    /// Returns whether the communicator split off a rank's communicator is live.
    pub(super) fn has_quick(&mut self, handle: Handle) -> bool {
        let Member { id, rank, .. } = *self.member(handle);
        self.communicators.values().any(|other| other.is_quick && (other.id, other.rank) == (id, rank))
    }

    /// Records a call of a rank. Returns the injected result, if any.
    pub(super) fn call(&mut self, rank: usize, name: &'static str) -> Option<c_int> {
        self.calls.push((rank, name));
        match self.fault {
            Some((faulty, InjectedFault::Call(call, code))) if faulty == rank && call == name => Some(code),
            _ => None,
        }
    }

    /// Returns the result of a call with a communicator.
    pub(super) fn call_with(
        &mut self,
        handle: Handle,
        name: &'static str,
        answer: impl FnOnce(&mut Self) -> c_int,
    ) -> c_int {
        let (rank, is_quick) = (self.member(handle).rank, self.member(handle).is_quick);
        let noted = match name {
            "ncclCommAbort" if is_quick => "quick ncclCommAbort",
            "ncclGroupEnd" if is_quick => "quick ncclGroupEnd",
            name => name,
        };
        let failed = match self.fault {
            Some((faulty, InjectedFault::Quick(call, code)))
                if is_quick && faulty == rank && call == name =>
            {
                Some(code)
            }
            _ => None,
        };
        match self.call(rank, noted).or(failed) {
            Some(code) => code,
            None => answer(self),
        }
    }
}
