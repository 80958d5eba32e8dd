//! Order of operations on streams: a vector clock for each stream, for each event, and for the host.

use std::collections::HashMap;
use std::ops::Range;

/// Number of preceding operations of each stream.
type Clock = HashMap<usize, u64>;

#[derive(Default)]
pub(crate) struct Order {
    streams: HashMap<usize, Clock>,
    events: HashMap<usize, Clock>,
    /// Operations that the host has waited for; later calls come after them.
    host: Clock,
    accesses: Vec<Access>,
}

struct Access {
    range: Range<u64>,
    is_write: bool,
    stream: usize,
    number: u64,
}

fn merge(clock: &mut Clock, other: &Clock) {
    for (&stream, &number) in other {
        let own = clock.entry(stream).or_default();
        *own = number.max(*own);
    }
}

impl Order {
    fn clock(&mut self, stream: usize) -> &mut Clock {
        let clock = self.streams.entry(stream).or_default();
        merge(clock, &self.host);
        clock
    }

    /// Records an operation of a stream that accesses ranges: start, size in bytes, and true if written.
    /// Returns whether it comes after all operations of other streams on the same memory, unless all only
    /// read.
    pub(crate) fn operate(&mut self, stream: usize, ranges: &[(u64, usize, bool)]) -> bool {
        let ranges: Vec<_> = ranges.iter().map(|&(start, len, is_write)| (start..start + len as u64, is_write)).collect();
        let clock = self.clock(stream);
        *clock.entry(stream).or_default() += 1;
        let (clock, number) = (clock.clone(), clock[&stream]);
        let is_before = |access: &Access| clock.get(&access.stream).is_some_and(|&seen| seen >= access.number);
        let is_ordered = self.accesses.iter().filter(|access| !is_before(access)).all(|access| {
            let meets = |(range, is_write): &(Range<u64>, bool)| {
                range.start < access.range.end && access.range.start < range.end && (*is_write || access.is_write)
            };
            !ranges.iter().any(meets)
        });
        for (range, is_write) in &ranges {
            let hides = |access: &Access| range.start <= access.range.start && access.range.end <= range.end;
            self.accesses.retain(|access| !(*is_write && hides(access)));
            self.accesses.push(Access { range: range.clone(), is_write: *is_write, stream, number });
        }
        is_ordered
    }

    pub(crate) fn record(&mut self, event: usize, stream: usize) {
        let clock = self.clock(stream).clone();
        self.events.insert(event, clock);
    }

    pub(crate) fn wait(&mut self, stream: usize, event: usize) {
        let event = self.events.get(&event).cloned().unwrap_or_default();
        merge(self.clock(stream), &event);
    }

    pub(crate) fn synchronize_stream(&mut self, stream: usize) {
        let clock = self.clock(stream).clone();
        merge(&mut self.host, &clock);
    }

    pub(crate) fn synchronize_event(&mut self, event: usize) {
        merge(&mut self.host, &self.events.get(&event).cloned().unwrap_or_default());
    }

    /// Frees memory; the driver waits until it is unused.
    pub(crate) fn free(&mut self, address: u64, bytes: usize) {
        let range = address..address + bytes as u64;
        self.accesses.retain(|access| access.range.end <= range.start || range.end <= access.range.start);
    }
}
