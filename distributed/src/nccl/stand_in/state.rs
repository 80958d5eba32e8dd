//! What the stand-in knows, and what tests ask of it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_int;

use parking_lot::{Mutex, MutexGuard};

use crate::nccl::functions::Handle;

/// What goes wrong, on a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A call answers a code, from the second such call of the rank on if it is the state that is asked for.
    Call(&'static str, c_int),
    /// The same by the communicator that was split off.
    Quick(&'static str, c_int),
    /// Groups never end.
    Hang,
    /// Groups by the communicator that was split off never end.
    QuickHang,
    /// The communicator is never split.
    SplitHang,
}

/// Everything that the stand-in knows.
#[derive(Default)]
pub(super) struct State {
    pub(super) ids: u64,
    pub(super) handles: usize,
    pub(super) communicators: HashMap<usize, Member>,
    /// By communicator: ranks that have joined.
    pub(super) joined: HashMap<u64, usize>,
    /// By communicator: ranks that have begun to split it.
    pub(super) splits: HashMap<u64, usize>,
    /// By communicator, sender and receiver: who has exchanged.
    pub(super) connections: HashSet<(u64, usize, usize)>,
    /// By communicator, sender and receiver.
    pub(super) messages: HashMap<(u64, usize, usize), VecDeque<Vec<u8>>>,
    pub(super) fault: Option<(usize, Fault)>,
    /// Calls by rank, in their order; the question for the state is not noted.
    pub(super) calls: Vec<(usize, &'static str)>,
}

/// A rank's end of a communicator.
#[derive(Default)]
pub(super) struct Member {
    pub(super) id: u64,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// What was split off.
    pub(super) is_quick: bool,
    /// Where to write what is being split off.
    pub(super) split: Option<usize>,
    pub(super) is_finalized: bool,
    pub(super) has_had_groups: bool,
    pub(super) receives: Vec<Operation>,
}

#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) is_send: bool,
    pub(super) address: usize,
    pub(super) bytes: usize,
    pub(super) peer: usize,
    pub(super) handle: usize,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    pub(super) static GROUP: RefCell<Option<Vec<Operation>>> = const { RefCell::new(None) };
}

/// The stand-in to a test, as long as this lives; it begins anew.
pub(crate) struct Turn {
    _turn: MutexGuard<'static, ()>,
}

/// Waits until no other test has the stand-in.
pub(crate) fn turn(fault: Option<(usize, Fault)>) -> Turn {
    let turn = TURN.lock();
    *STATE.lock() = Some(State { fault, ..State::default() });
    Turn { _turn: turn }
}

/// What was called in this turn, by rank.
pub(crate) fn calls() -> Vec<(usize, &'static str)> {
    with(|state| state.calls.clone())
}

/// How often a rank called a function.
pub(crate) fn count(rank: usize, name: &str) -> usize {
    calls().iter().filter(|call| **call == (rank, name)).count()
}

/// Communicators that were neither destroyed nor aborted.
pub(crate) fn live() -> usize {
    with(|state| state.communicators.len())
}

pub(super) fn with<R>(body: impl FnOnce(&mut State) -> R) -> R {
    body(STATE.lock().as_mut().unwrap_or_else(|| misused("a call outside of a test")))
}

pub(super) fn misused(what: &str) -> ! {
    eprintln!("the stand-in for NCCL was misused: {what}");
    std::process::abort()
}

impl State {
    pub(super) fn member(&mut self, handle: Handle) -> &mut Member {
        self.communicators
            .get_mut(&(handle as usize))
            .unwrap_or_else(|| misused("a communicator that is gone, or never was"))
    }

    /// Whether what was split off a rank's communicator is live.
    pub(super) fn has_quick(&mut self, handle: Handle) -> bool {
        let Member { id, rank, .. } = *self.member(handle);
        self.communicators.values().any(|other| other.is_quick && (other.id, other.rank) == (id, rank))
    }

    /// Notes a call of a rank, and says what it answers if not what it should.
    pub(super) fn call(&mut self, rank: usize, name: &'static str) -> Option<c_int> {
        self.calls.push((rank, name));
        match self.fault {
            Some((faulty, Fault::Call(call, code))) if faulty == rank && call == name => Some(code),
            _ => None,
        }
    }

    /// The answer to a call with a communicator.
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
            Some((faulty, Fault::Quick(call, code))) if is_quick && faulty == rank && call == name => {
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
