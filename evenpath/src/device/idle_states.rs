//! States of launches between two launches.

use std::sync::Arc;

use parking_lot::Mutex;

use super::allocation::Allocation;
use super::machine::Mailbox;

/// Which half is used.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Words of a half.
    pub(super) half: usize,
    /// The first word of the half that is zero.
    pub(super) own: usize,
    /// Words of the other half that may not be zero.
    pub(super) stale: usize,
}

/// States that no launch uses. They do not count as memory in use.
#[derive(Default)]
pub(super) struct IdleStates(pub(super) Mutex<Vec<Idle>>);

type Idle = (Arc<Allocation>, Turn, Option<Box<dyn Mailbox>>);
