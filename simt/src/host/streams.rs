//! Streams of a device, and detection of unordered operations.
//!
//! The device runs one operation at a time, on any stream, so missing order does not show in results. It is
//! detected here: every operation has a number, each word of memory records the numbers of the last ones that
//! wrote and that read it, and each stream keeps a vector clock: the number of operations of every other
//! stream that happen before its next one.

use super::mix::IntegerMap;
use std::sync::Arc;

/// Number of distinct operations; then all records of them are cleared.
const OPERATIONS: u64 = 1 << 19;

/// The streams of a device: the first, and others as they are used.
#[derive(Debug)]
pub(crate) struct Streams {
    streams: Vec<StreamClock>,
    /// Number of the next operation.
    next: u64,
}

#[derive(Debug, Default, Clone)]
struct StreamClock {
    /// Number of operations whose records are cleared.
    forgotten: u64,
    /// Later operations: the number of each, and the operations before it.
    operations: Vec<(u64, Arc<[u64]>)>,
    /// Number of each stream's operations that happen before this stream's next.
    seen: Vec<u64>,
}

/// Operations that may run at the same time as a given one: their numbers, and the stream of each.
#[derive(Debug, Default)]
pub(crate) struct Concurrent(IntegerMap<u64, u32>);

/// An operation of a stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamOperation {
    /// Number from 1 to [`OPERATIONS`] − 1.
    pub(crate) number: u64,
    pub(crate) stream: u32,
    /// `None` on a device with one stream.
    pub(crate) unordered: Option<Arc<Concurrent>>,
}

impl Concurrent {
    /// Returns the stream of an operation, if it is one of these.
    #[inline]
    pub(crate) fn stream(&self, number: u64) -> Option<u32> {
        if self.0.is_empty() {
            None
        } else {
            self.0.get(&number).copied()
        }
    }
}

impl StreamClock {
    fn count(&self) -> u64 {
        self.forgotten + self.operations.len() as u64
    }
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self { streams: vec![StreamClock::default()], next: 1 }
    }

    /// Ensures that a stream of this number exists. Work on the device while it had one stream was not
    /// recorded, so it happens before the work of all others. Apart from that, a new stream comes after
    /// nothing until it [waits](Self::wait).
    pub(crate) fn add(&mut self, stream: u32) {
        while self.streams.len() <= stream as usize {
            self.streams.push(StreamClock::default());
        }
    }

    /// Starts the next operation of an existing stream. `None` if all numbers are used up: then clear the
    /// records of memory and call this again.
    pub(crate) fn begin(&mut self, stream: u32) -> Option<StreamOperation> {
        if self.next == OPERATIONS {
            self.forget();
            return None;
        }
        let number = self.next;
        self.next += 1;
        if self.streams.len() == 1 {
            return Some(StreamOperation { number, stream, unordered: None });
        }
        let own = stream as usize;
        let mut seen = self.streams[own].seen.clone();
        seen.resize(self.streams.len(), 0);
        let mut unordered = IntegerMap::default();
        for (other, clock) in self.streams.iter().enumerate().filter(|&(other, _)| other != own) {
            let after = seen[other].saturating_sub(clock.forgotten) as usize;
            unordered.extend(clock.operations.iter().skip(after).map(|&(number, _)| (number, other as u32)));
        }
        seen[own] = self.streams[own].count() + 1;
        self.streams[own].operations.push((number, seen.as_slice().into()));
        self.streams[own].seen = seen;
        Some(StreamOperation { number, stream, unordered: Some(Arc::new(Concurrent(unordered))) })
    }

    /// Number of operations that a stream has started.
    pub(crate) fn count(&self, stream: u32) -> u64 {
        self.streams.get(stream as usize).map_or(0, StreamClock::count)
    }

    /// Makes a stream's next operation come after the first `operations` operations of another.
    pub(crate) fn wait(&mut self, stream: u32, other: u32, operations: u64) {
        let Some(source) = self.streams.get(other as usize) else { return };
        let operations = operations.min(source.count());
        let last =
            operations.checked_sub(source.forgotten + 1).and_then(|at| source.operations.get(at as usize));
        let mut before: Vec<u64> = last.map_or_else(Vec::new, |(_, seen)| seen.to_vec());
        before.resize(before.len().max(other as usize + 1), 0);
        before[other as usize] = before[other as usize].max(operations);
        let Some(clock) = self.streams.get_mut(stream as usize) else { return };
        clock.seen.resize(clock.seen.len().max(before.len()), 0);
        for (seen, before) in clock.seen.iter_mut().zip(before) {
            *seen = before.max(*seen);
        }
    }

    /// Restarts the numbers: memory records none, so nothing is unordered.
    fn forget(&mut self) {
        self.next = 1;
        for clock in &mut self.streams {
            clock.forgotten = clock.count();
            clock.operations.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(streams: &mut Streams, stream: u32) -> StreamOperation {
        streams.begin(stream).expect("numbers are left")
    }

    fn is_unordered(operation: &StreamOperation, earlier: &StreamOperation) -> bool {
        operation.unordered.as_ref().is_some_and(|unordered| unordered.stream(earlier.number).is_some())
    }

    #[test]
    fn one_stream_is_ordered() {
        let mut streams = Streams::new();
        let first = begin(&mut streams, 0);
        assert!(!is_unordered(&begin(&mut streams, 0), &first));
    }

    #[test]
    fn only_work_before_the_second_stream_precedes_a_new_stream() {
        let mut streams = Streams::new();
        let first = begin(&mut streams, 0);
        streams.add(1);
        let second = begin(&mut streams, 0);
        streams.add(2);
        for stream in [1, 2] {
            let other = begin(&mut streams, stream);
            assert!(!is_unordered(&other, &first));
            assert!(is_unordered(&other, &second));
        }
    }

    #[test]
    fn waits_are_transitive() {
        let mut streams = Streams::new();
        streams.add(2);
        let (a, b) = (begin(&mut streams, 0), begin(&mut streams, 0));
        streams.wait(1, 0, 1);
        let c = begin(&mut streams, 1);
        assert!(!is_unordered(&c, &a) && is_unordered(&c, &b));
        streams.wait(2, 1, 1);
        let d = begin(&mut streams, 2);
        assert!(!is_unordered(&d, &a) && is_unordered(&d, &b) && !is_unordered(&d, &c));
        // Earlier operations did not wait for later waits of a stream.
        let e = begin(&mut streams, 0);
        streams.wait(0, 2, 1);
        let f = begin(&mut streams, 0);
        assert!(is_unordered(&e, &c) && !is_unordered(&f, &c) && !is_unordered(&f, &d));
    }

    #[test]
    fn numbers_restart() {
        let mut streams = Streams::new();
        streams.add(1);
        while streams.begin(0).is_some() {}
        assert_eq!(streams.count(0), OPERATIONS - 1);
        let first = begin(&mut streams, 0);
        let other = begin(&mut streams, 1);
        assert_eq!((first.number, other.number), (1, 2));
        assert!(is_unordered(&other, &first));
        streams.wait(1, 0, OPERATIONS);
        assert!(!is_unordered(&begin(&mut streams, 1), &first));
    }
}
