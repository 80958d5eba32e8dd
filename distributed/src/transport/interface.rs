//! The interface of all engines: one rank's way to the others.

use std::time::Instant;

use super::message::{Missing, Report, Tag, Wait};
use crate::error::{Failure, Result};

/// One rank's way to the others. A rank sends nothing to itself.
pub(crate) trait Transport: Send + Sync {
    /// Sends a message. Does not wait until it is received.
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>, deadline: Instant) -> Result<(), Missing>;

    /// The message of a rank, as soon as it is there. A rank whose deadline passes keeps saying, when it is asked, that it waits: it
    /// fails next.
    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing>;

    /// Whether the message of a rank is there; an error if it will not come.
    fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing>;

    /// Sets whom this rank waits for outside of [`receive`](Self::receive) and [`send`](Self::send).
    fn set_wait(&self, wait: Option<Wait>);

    /// Asks a rank, which may be this one, whom it waits for: `None` if it does not wait, or does not answer by the deadline.
    fn ask(&self, rank: usize, deadline: Instant) -> Option<Report>;

    /// Tells the others that this rank sends no more in a run.
    fn finish(&self, run: u64);

    /// Tells all ranks, this one included, that a rank failed, or of the failure that this rank was told of before. Returns the first.
    fn abort(&self, failure: Failure) -> Failure;

    /// The failure that this rank was told of.
    fn failure(&self) -> Option<Failure>;
}
