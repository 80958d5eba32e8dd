//! Interface of all engines: a rank's communication with the others.

use std::time::Instant;

use super::message::{Missing, Report, Tag, Wait};
use crate::error::{Failure, Result};

/// A rank's communication with the others. A rank sends nothing to itself.
pub(crate) trait Transport: Send + Sync {
    /// Sends a message. Does not wait for its receipt.
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>, deadline: Instant) -> Result<(), Missing>;

    /// Waits for another rank's message. A rank whose deadline passes still reports that it waits when asked:
    /// it fails next.
    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing>;

    /// Returns whether a rank's message has arrived; fails if it will not.
    fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing>;

    /// Sets the ranks that this one waits for outside of [`receive`](Self::receive) and [`send`](Self::send).
    fn set_wait(&self, wait: Option<Wait>);

    /// Asks a rank, possibly this one, which ranks it waits for: `None` if it does not wait, or does not
    /// answer by the deadline.
    fn ask(&self, rank: usize, deadline: Instant) -> Option<Report>;

    /// Tells the others that this rank sends nothing more in a run.
    fn finish(&self, run: u64);

    /// Tells all ranks, including this one, of a failure, or of an earlier one if this rank knows one.
    /// Returns the first.
    fn abort(&self, failure: Failure) -> Failure;

    /// The failure of which this rank was told.
    fn failure(&self) -> Option<Failure>;
}
