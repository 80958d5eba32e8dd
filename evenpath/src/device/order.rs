//! Order of memory accesses by the streams of a device.
//!
//! Operations of one stream run one after the other; those of different streams may run concurrently. For
//! each address range this records the last operation that wrote it, and the last operation of each stream
//! that has read it since: the dependencies of a later operation on another stream. Accesses split ranges, so
//! parts of a vector are tracked separately. The history of a range outlives its allocation, so that the next
//! use waits for earlier ones.

use std::collections::BTreeMap;
use std::ops::Range;

use evenpath_simt::kernel::{Argument, KernelInfo};
use smallvec::SmallVec;

/// An operation: its stream, and the number of the stream's operations up to and including it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamStep {
    pub(super) stream: u32,
    pub(super) number: u64,
}

/// A range of addresses that an operation reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryAccess {
    pub(super) range: Range<u64>,
    pub(super) is_write: bool,
}

impl MemoryAccess {
    pub(super) fn read(address: u64, bytes: u64) -> Self {
        Self { range: address..address.saturating_add(bytes), is_write: false }
    }

    pub(super) fn write(address: u64, bytes: u64) -> Self {
        Self { range: address..address.saturating_add(bytes), is_write: true }
    }

    /// Accesses of a copy.
    pub(super) fn copy(from: u64, to: u64, bytes: u64) -> [Self; 2] {
        [Self::read(from, bytes), Self::write(to, bytes)]
    }

    /// Accesses of a launch: the views among its arguments.
    pub(super) fn of_launch(kernel: &KernelInfo, arguments: &[Argument]) -> Vec<Self> {
        let mut accesses = Vec::with_capacity(arguments.len());
        kernel.for_each_view(arguments, |range, is_write| accesses.push(Self { range, is_write }));
        accesses
    }
}

/// Dependencies of an operation: the last operation of each other stream.
pub(super) type Waits = SmallVec<[StreamStep; 4]>;

/// Accesses of the streams of a device, and the waits between streams.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Segments by start address. They do not overlap.
    segments: BTreeMap<u64, Segment>,
    /// For each stream, the number of operations of each other stream that it has waited for.
    waited: Vec<Vec<u64>>,
}

/// An address range with one history.
#[derive(Debug, Clone)]
struct Segment {
    end: u64,
    write: Option<StreamStep>,
    /// Last read of each stream since the write.
    reads: SmallVec<[StreamStep; 2]>,
}

impl Order {
    /// Records that a stream's next operation comes after an operation of another stream.
    pub(super) fn waited(&mut self, stream: u32, step: StreamStep) {
        let (stream, other) = (stream as usize, step.stream as usize);
        if self.waited.len() <= stream {
            self.waited.resize_with(stream + 1, Vec::new);
        }
        let waited = &mut self.waited[stream];
        waited.resize(waited.len().max(other + 1), 0);
        waited[other] = waited[other].max(step.number);
    }

    /// Adds the next operation of a stream. Returns the operations that it must wait for and has not yet.
    pub(super) fn begin(&mut self, step: StreamStep, accesses: &[MemoryAccess]) -> Waits {
        let mut waits = Waits::new();
        for MemoryAccess { range, is_write } in accesses.iter().filter(|access| !access.range.is_empty()) {
            if *is_write {
                self.write(range, step, &mut waits);
            } else {
                self.read(range, step, &mut waits);
            }
        }
        if let Some(waited) = self.waited.get(step.stream as usize) {
            waits.retain(|wait| waited.get(wait.stream as usize).is_none_or(|&number| number < wait.number));
        }
        waits
    }

    fn read(&mut self, range: &Range<u64>, step: StreamStep, waits: &mut Waits) {
        self.cut(range.start);
        self.cut(range.end);
        let mut gaps = SmallVec::<[Range<u64>; 2]>::new();
        let mut at = range.start;
        for (&start, segment) in self.segments.range_mut(range.clone()) {
            if at < start {
                gaps.push(at..start);
            }
            at = segment.end;
            segment.write.into_iter().for_each(|write| add(waits, step.stream, write));
            match segment.reads.iter_mut().find(|read| read.stream == step.stream) {
                Some(read) => *read = step,
                None => segment.reads.push(step),
            }
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        let reads: SmallVec<[StreamStep; 2]> = SmallVec::from_slice(&[step]);
        let segment = |end| Segment { end, write: None, reads: reads.clone() };
        self.segments.extend(gaps.into_iter().map(|gap| (gap.start, segment(gap.end))));
    }

    fn write(&mut self, range: &Range<u64>, step: StreamStep, waits: &mut Waits) {
        self.cut(range.start);
        self.cut(range.end);
        while let Some((&start, segment)) = self.segments.range(range.clone()).next() {
            let (write, reads) = (segment.write, &segment.reads);
            write.iter().chain(reads).for_each(|&earlier| add(waits, step.stream, earlier));
            self.segments.remove(&start);
        }
        let segment = Segment { end: range.end, write: Some(step), reads: SmallVec::new() };
        self.segments.insert(range.start, segment);
    }

    /// Splits the segment that contains an address.
    fn cut(&mut self, address: u64) {
        if let Some((_, segment)) = self.segments.range_mut(..address).next_back()
            && segment.end > address
        {
            let rest = segment.clone();
            segment.end = address;
            self.segments.insert(address, rest);
        }
    }
}

/// Adds an operation of another stream to the waits.
fn add(waits: &mut Waits, stream: u32, step: StreamStep) {
    if step.stream == stream {
        return;
    }
    match waits.iter_mut().find(|wait| wait.stream == step.stream) {
        Some(wait) => wait.number = wait.number.max(step.number),
        None => waits.push(step),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Dependencies of an access, computed byte by byte.
    #[derive(Default)]
    struct Bytes {
        writes: BTreeMap<u64, StreamStep>,
        reads: BTreeMap<(u64, u32), StreamStep>,
    }

    impl Bytes {
        fn begin(&mut self, step: StreamStep, access: &MemoryAccess) -> BTreeMap<u32, u64> {
            let mut waits = BTreeMap::new();
            for byte in access.range.clone() {
                let reads: Vec<StreamStep> =
                    self.reads.range((byte, 0)..(byte + 1, 0)).map(|(_, &read)| read).collect();
                let earlier = self.writes.get(&byte).copied().into_iter();
                for wait in earlier.chain(reads.into_iter().filter(|_| access.is_write)) {
                    if wait.stream != step.stream {
                        let number = waits.entry(wait.stream).or_insert(0);
                        *number = wait.number.max(*number);
                    }
                }
                if access.is_write {
                    self.writes.insert(byte, step);
                    self.reads.retain(|&(at, _), _| at != byte);
                } else {
                    self.reads.insert((byte, step.stream), step);
                }
            }
            waits
        }
    }

    fn step(stream: u32, number: u64) -> StreamStep {
        StreamStep { stream, number }
    }

    proptest! {
        #[test]
        fn accesses_wait_as_computed_byte_by_byte(
            accesses in proptest::collection::vec((0..3_u32, 0..40_u64, 0..12_u64, any::<bool>()), 1..60)
        ) {
            let (mut order, mut bytes, mut numbers) = (Order::default(), Bytes::default(), [0; 3]);
            for (stream, start, len, is_write) in accesses {
                numbers[stream as usize] += 1;
                let access = MemoryAccess { range: start..start + len, is_write };
                let step = step(stream, numbers[stream as usize]);
                let waits: BTreeMap<u32, u64> =
                    order.begin(step, std::slice::from_ref(&access)).iter().map(|wait| (wait.stream, wait.number)).collect();
                prop_assert_eq!(waits, bytes.begin(step, &access));
                let mut end = 0;
                for (&start, segment) in &order.segments {
                    prop_assert!(end <= start && start < segment.end);
                    end = segment.end;
                }
            }
        }
    }

    #[test]
    fn nothing_is_waited_for_twice() {
        let mut order = Order::default();
        assert!(order.begin(step(0, 1), &[MemoryAccess::write(0, 8)]).is_empty());
        assert_eq!(order.begin(step(1, 1), &[MemoryAccess::read(0, 8)])[..], [step(0, 1)]);
        order.waited(1, step(0, 3));
        assert!(order.begin(step(1, 2), &[MemoryAccess::read(4, 8)]).is_empty());
        assert!(order.begin(step(0, 3), &[MemoryAccess::read(0, 8)]).is_empty(), "both read");
        assert!(order.begin(step(1, 3), &[MemoryAccess::write(0, 1)]).is_empty(), "the third is waited for");
        assert_eq!(order.begin(step(0, 4), &[MemoryAccess::write(0, 4)])[..], [step(1, 3)]);
    }
}
