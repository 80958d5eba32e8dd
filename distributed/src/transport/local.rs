//! Ranks that are threads of one process.

use std::sync::Arc;
use std::time::Instant;

use super::interface::Transport;
use super::mailbox::Mailbox;
use super::message::{Missing, Report, Tag, Wait};
use crate::error::{Failure, Result};

/// A rank's mailbox, and those of all ranks.
struct Local {
    index: usize,
    mailboxes: Arc<[Mailbox]>,
}

/// Creates the transports of `size` ranks.
pub(crate) fn local(size: usize) -> Vec<Arc<dyn Transport>> {
    let mailboxes: Arc<[Mailbox]> = (0..size).map(|_| Mailbox::default()).collect();
    let transport =
        |index| -> Arc<dyn Transport> { Arc::new(Local { index, mailboxes: Arc::clone(&mailboxes) }) };
    (0..size).map(transport).collect()
}

impl Transport for Local {
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>, _: Instant) -> Result<(), Missing> {
        if let Some(failure) = self.failure() {
            return Err(Missing::Failed(failure));
        }
        // A rank sends one message in an operation.
        let is_first = self.mailboxes[to].deliver(self.index, tag, bytes);
        debug_assert!(is_first, "two messages of {tag:?}");
        Ok(())
    }

    fn receive(&self, from: usize, tag: Tag, deadline: Instant) -> Result<Vec<u8>, Missing> {
        self.mailboxes[self.index].take(from, tag, deadline)
    }

    fn has(&self, from: usize, tag: Tag) -> Result<bool, Missing> {
        self.mailboxes[self.index].has(from, tag)
    }

    fn set_wait(&self, wait: Option<Wait>) {
        self.mailboxes[self.index].set_wait(wait);
    }

    fn ask(&self, rank: usize, _: Instant) -> Option<Report> {
        self.mailboxes[rank].report()
    }

    fn finish(&self, run: u64) {
        for mailbox in &*self.mailboxes {
            mailbox.finish(self.index, run);
        }
    }

    /// The first mailbox decides which of several failures is the first.
    fn abort(&self, failure: Failure) -> Failure {
        let (first, _) = self.mailboxes[0].fail(failure);
        for mailbox in &self.mailboxes[1..] {
            mailbox.fail(first.clone());
        }
        first
    }

    fn failure(&self) -> Option<Failure> {
        self.mailboxes[self.index].failure()
    }
}
