//! Search for the cause of a timeout.
//!
//! A rank that waits too long may wait for one that waits itself. The failed rank is the other end of this
//! chain, which waits for no other. The rank that timed out finds it by asking from rank to rank. The
//! transport answers, also while the asked rank computes; a rank that does not answer in time counts as not
//! waiting.

use std::collections::HashMap;
use std::time::Duration;

use crate::error::{Cause, Operation};
use crate::transport::Report;

/// End of a chain of waits.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChainEnd {
    /// A rank that does not wait for another. `chain` has the waiting ranks, from the one that waits for it
    /// to the one that asked; it is empty if they are the same.
    Rank { rank: usize, chain: Vec<(usize, Operation)> },
    /// A cycle: each of these ranks waits for the next, and the last for the first.
    Circle(Vec<(usize, Operation)>),
}

/// Follows the waits from rank `own` of `size`. `ask` returns the report of a rank, or `None` if it does not
/// wait.
pub(super) fn origin(own: usize, size: usize, ask: impl FnMut(usize) -> Option<Report>) -> ChainEnd {
    let mut search = Search { size, ask, reports: HashMap::new(), waiters: HashMap::new() };
    match search.follow(own, true) {
        Some(rank) => ChainEnd::Rank { rank, chain: search.chain(rank) },
        None => ChainEnd::Circle(search.circle(own)),
    }
}

struct Search<F> {
    size: usize,
    ask: F,
    /// Answers of the ranks that were asked.
    reports: HashMap<usize, Option<Report>>,
    /// For each rank, the one whose report led to it.
    waiters: HashMap<usize, usize>,
}

impl<F: FnMut(usize) -> Option<Report>> Search<F> {
    /// Rank at the end of the waits that start at `rank`; `None` if they lead only to visited ranks.
    /// `is_needed` if a message of the rank is missing, so that it is the cause if it waits for no message
    /// itself.
    ///
    /// A GPU in an exchange may be blocked by another one in it: ranks that are present are searched for
    /// missing messages, and are not the cause themselves.
    fn follow(&mut self, rank: usize, is_needed: bool) -> Option<usize> {
        if self.reports.contains_key(&rank) {
            return None;
        }
        let report = (self.ask)(rank);
        self.reports.insert(rank, report.clone());
        let Some(Report { missing, present, .. }) = report else { return is_needed.then_some(rank) };
        let lacks_message = !missing.is_empty();
        let next = if lacks_message { missing } else { present };
        let size = self.size;
        for next in next.into_iter().filter(|&next| next < size) {
            if !self.reports.contains_key(&next) {
                self.waiters.insert(next, rank);
            }
            if let Some(origin) = self.follow(next, lacks_message) {
                return Some(origin);
            }
        }
        (is_needed && !lacks_message).then_some(rank)
    }

    /// Waiting ranks, from the one that waits for `rank` to the first that was asked.
    fn chain(&self, rank: usize) -> Vec<(usize, Operation)> {
        let waiter = |&(rank, _): &(usize, Operation)| self.waiter(rank);
        std::iter::successors(self.waiter(rank), waiter).collect()
    }

    fn waiter(&self, rank: usize) -> Option<(usize, Operation)> {
        let waiter = *self.waiters.get(&rank)?;
        Some((waiter, self.reports.get(&waiter)?.as_ref()?.operation))
    }

    /// The cycle reached by following each rank's first missing message.
    fn circle(&self, own: usize) -> Vec<(usize, Operation)> {
        let mut path: Vec<(usize, Operation)> = Vec::new();
        let mut rank = own;
        while !path.iter().any(|step| step.0 == rank) {
            let Some(Some(report)) = self.reports.get(&rank) else { break };
            path.push((rank, report.operation));
            let Some(&next) = report.missing.iter().find(|&&next| next < self.size) else { break };
            rank = next;
        }
        let first = path.iter().position(|step| step.0 == rank).unwrap_or(0);
        let mut circle = path.split_off(first);
        let smallest = (0..circle.len()).min_by_key(|&at| circle[at].0).unwrap_or(0);
        circle.rotate_left(smallest);
        circle
    }
}

/// The failed rank and the cause, for a rank that timed out: `alone` is the cause if it waits for no other.
pub(super) fn fault(origin: ChainEnd, limit: Duration, alone: Cause) -> (usize, Cause) {
    match origin {
        ChainEnd::Rank { rank, chain } => {
            let mut waiters = chain.into_iter();
            let Some((waiting, operation)) = waiters.next() else { return (rank, alone) };
            let behind = waiters.map(|waiter| waiter.0).collect();
            (rank, Cause::Timeout { waiting, operation, limit, behind })
        }
        ChainEnd::Circle(waits) => {
            let first = waits.first().map_or(0, |wait| wait.0);
            (first, Cause::Deadlock { waits })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The origin for rank 0, given each rank's lists of missing and of present ranks; a rank with neither
    /// does not wait.
    fn origin_of(reports: &[(&[usize], &[usize])]) -> ChainEnd {
        let ask = |rank: usize| {
            let (missing, present) = reports[rank];
            let report =
                |operation| Report { operation, missing: missing.to_vec(), present: present.to_vec() };
            (!missing.is_empty() || !present.is_empty()).then(|| report(Operation::Halo))
        };
        origin(0, reports.len(), ask)
    }

    fn ends_at(rank: usize, chain: &[usize]) -> ChainEnd {
        ChainEnd::Rank { rank, chain: chain.iter().map(|&rank| (rank, Operation::Halo)).collect() }
    }

    fn circle(ranks: &[usize]) -> ChainEnd {
        ChainEnd::Circle(ranks.iter().map(|&rank| (rank, Operation::Halo)).collect())
    }

    #[test]
    fn a_chain_ends_at_the_rank_that_does_not_wait() {
        const NO: &[usize] = &[];
        for (reports, expected) in [
            // Missing messages.
            (&[(&[1][..], NO), (NO, NO)][..], ends_at(1, &[0])),
            (&[(&[1], NO), (&[2], NO), (&[3], NO), (NO, NO)], ends_at(3, &[2, 1, 0])),
            (&[(&[3], NO), (NO, NO), (&[1], NO), (&[2], NO)], ends_at(1, &[2, 3, 0])),
            (&[(&[1], NO), (&[2], NO), (&[1], NO)], circle(&[1, 2])),
            (&[(&[2], NO), (&[0], NO), (&[1], NO)], circle(&[0, 2, 1])),
            // A circle beside a chain.
            (&[(&[1, 2], NO), (&[0], NO), (&[3], NO), (NO, NO)], ends_at(3, &[2, 0])),
            // Exchanges between GPUs.
            (&[(NO, &[1]), (NO, NO)], ends_at(0, &[])),
            (&[(NO, &[1]), (&[2], NO), (NO, NO)], ends_at(2, &[1, 0])),
            (&[(NO, &[1]), (NO, &[0, 2]), (&[3], &[1]), (NO, NO)], ends_at(3, &[2, 1, 0])),
            (&[(&[1], NO), (NO, &[2]), (&[1], NO)], ends_at(1, &[0])),
            (&[(NO, &[1]), (&[0], NO)], ends_at(0, &[])),
            // Ranks that do not exist.
            (&[(&[9, 1], &[7]), (NO, NO)], ends_at(1, &[0])),
        ] {
            assert_eq!(origin_of(reports), expected, "{reports:?}");
        }
    }

    #[test]
    fn causes_name_the_waiting_ranks() {
        let limit = Duration::from_secs(4);
        let text = |origin| {
            let (rank, cause) = fault(origin, limit, Cause::Nccl("late".into()));
            format!("{rank}: {cause}")
        };
        assert_eq!(text(ends_at(1, &[])), "1: NCCL: late");
        assert_eq!(text(ends_at(1, &[2])), "1: rank 2 waited 4 s for it in `halo exchange`");
        let chain = "1: rank 2 waits for it in `halo exchange`, rank 3 for rank 2, rank 0 for rank 3; rank 0 waited 4 s";
        assert_eq!(text(ends_at(1, &[2, 3, 0])), chain);
        let waits = vec![(1, Operation::Broadcast), (4, Operation::Gather)];
        let deadlock =
            "1: deadlock: rank 1 waits for rank 4 in `broadcast`, rank 4 waits for rank 1 in `gather`";
        assert_eq!(text(ChainEnd::Circle(waits)), deadlock);
    }
}
