//! Launch states that are not in use.

use std::sync::Arc;

use parking_lot::Mutex;

use super::allocation::Allocation;
use super::machine::Mailbox;

/// The half that a launch uses.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Number of words per half.
    pub(super) half: usize,
    /// First word of the half that is zero.
    pub(super) own: usize,
    /// Number of words of the other half that may be nonzero.
    pub(super) stale: usize,
}

/// Unused launch states. They do not count as memory in use.
#[derive(Default)]
pub(super) struct IdleStates(pub(super) Mutex<Vec<Idle>>);

type Idle = (Arc<Allocation>, Turn, Option<Box<dyn Mailbox>>);
