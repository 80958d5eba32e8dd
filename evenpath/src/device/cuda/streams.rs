//! The streams of a context.
//!
//! A device begins with one stream, and nothing is noted about what is put on it. From when a program asks for another, every
//! operation is noted with the ranges of memory that it reads and writes ([`Order`]), and a stream is made to wait for the operations
//! of others that its next one must come after. The waits are between streams; the host does not wait.

use std::collections::VecDeque;
use std::sync::Arc;

use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUevent, CUevent_flags, CUstream};
use parking_lot::{Mutex, MutexGuard};

use super::driver::{CallError, check, check_raw};
use super::landing::Landing;
use crate::device::order::{Access, Order, Step};

/// Events that a stream keeps. A wait for an older operation becomes one for the oldest of these.
const MARKS: usize = 64;

/// An event that keeps no time. That of `cust` cannot be waited for more than once.
struct Event(CUevent);

// SAFETY: the driver's functions for events are thread-safe.
unsafe impl Send for Event {}

impl Event {
    fn new() -> Result<Self, CallError> {
        let mut event = std::ptr::null_mut();
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: `event` is live for the call.
        check_raw("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut event, flags) })?;
        Ok(Self(event))
    }

    /// Puts the event on a stream, also if it was put on one before: who waits for that does so still.
    fn record(&self, stream: &Stream) -> Result<(), CallError> {
        // SAFETY: both are of the current context, and live.
        check_raw("cuEventRecord", unsafe { sys::cuEventRecord(self.0, stream.as_inner()) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is live, and not used again. Streams that wait for it still do.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// One stream, and what goes with it.
pub(super) struct Queue {
    pub(super) stream: Stream,
    pub(super) landing: Mutex<Landing>,
}

impl Queue {
    fn new(flags: StreamFlags) -> Result<Arc<Self>, CallError> {
        let stream = check("cuStreamCreate", Stream::new(flags, None))?;
        Ok(Arc::new(Self { stream, landing: Mutex::new(Landing::new()?) }))
    }

    /// Has what is put on the stream from now on come after an event.
    fn wait_for(&self, event: &Event) -> Result<(), CallError> {
        // SAFETY: both are of the current context, and live.
        check_raw("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.stream.as_inner(), event.0, 0) })
    }
}

/// All streams of a context. The functions ask that it is current.
pub(super) struct Streams {
    first: Arc<Queue>,
    several: Option<Several>,
}

/// What is kept where there are several streams.
struct Several {
    /// Everything that was put on the first stream while it was the only one.
    before: Event,
    shared: Mutex<Shared>,
}

struct Shared {
    order: Order,
    /// By number; that of 0 is the first.
    streams: Vec<Timeline>,
    /// Those that the program has given back.
    free: Vec<u32>,
}

/// A stream and its last operations.
struct Timeline {
    queue: Arc<Queue>,
    operations: u64,
    /// Events, oldest first, each after so many operations.
    marks: VecDeque<(u64, Event)>,
}

impl Timeline {
    fn new(queue: Arc<Queue>) -> Self {
        Self { queue, operations: 0, marks: VecDeque::new() }
    }

    /// Records an event after all operations so far.
    fn mark(&mut self) -> Result<(), CallError> {
        let oldest = if self.marks.len() == MARKS { self.marks.pop_front() } else { None };
        let event = match oldest {
            Some((_, event)) => event,
            None => Event::new()?,
        };
        event.record(&self.queue.stream)?;
        self.marks.push_back((self.operations, event));
        Ok(())
    }

    /// The first event after `number` operations, and how many it is after.
    fn after(&mut self, number: u64) -> Result<(u64, &Event), CallError> {
        let mut at = self.marks.partition_point(|&(operations, _)| operations < number);
        if at == self.marks.len() {
            self.mark()?;
            at = self.marks.len() - 1;
        }
        let (operations, event) = &self.marks[at];
        Ok((*operations, event))
    }
}

impl Streams {
    /// One stream.
    pub(super) fn new() -> Result<Self, CallError> {
        Ok(Self { first: Queue::new(StreamFlags::DEFAULT)?, several: None })
    }

    /// The number of a stream that nobody else uses. What was put on the first stream while it was the only one comes before what is
    /// put on this one.
    pub(super) fn take(&mut self) -> Result<u32, CallError> {
        let several = match &mut self.several {
            Some(several) => several,
            none => {
                let before = Event::new()?;
                before.record(&self.first.stream)?;
                let streams = vec![Timeline::new(Arc::clone(&self.first))];
                let shared = Shared { order: Order::default(), streams, free: Vec::new() };
                none.insert(Several { before, shared: Mutex::new(shared) })
            }
        };
        let Shared { streams, free, .. } = several.shared.get_mut();
        if let Some(stream) = free.pop() {
            return Ok(stream);
        }
        let queue = Queue::new(StreamFlags::NON_BLOCKING)?;
        queue.wait_for(&several.before)?;
        streams.push(Timeline::new(queue));
        Ok(streams.len() as u32 - 1)
    }

    /// Takes a stream back from the program.
    pub(super) fn give_back(&self, stream: u32) {
        if let Some(mut shared) = self.shared() {
            shared.free.push(stream);
        }
    }

    pub(super) fn queue(&self, stream: u32) -> Arc<Queue> {
        let shared = self.shared();
        let other = shared.as_ref().and_then(|shared| shared.streams.get(stream as usize));
        Arc::clone(other.map_or(&self.first, |timeline| &timeline.queue))
    }

    /// How many streams there are, those that were given back included.
    pub(super) fn count(&self) -> u32 {
        self.shared().map_or(1, |shared| shared.streams.len() as u32)
    }

    /// Has `put` put an operation with these accesses on a stream, after those of other streams that it must come after.
    pub(super) fn enqueue<A: AsRef<[Access]>>(
        &self,
        stream: u32,
        accesses: impl FnOnce() -> A,
        put: impl FnOnce(CUstream) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        // Held until the operation is on its stream, so that it is there in the order in which it was noted.
        let Some(mut shared) = self.shared() else { return put(self.first.stream.as_inner()) };
        let Shared { order, streams, free } = &mut *shared;
        let own = &mut streams[stream as usize];
        own.operations += 1;
        let queue = Arc::clone(&own.queue);
        for wait in order.begin(Step { stream, number: own.operations }, accesses().as_ref()) {
            let (number, event) = streams[wait.stream as usize].after(wait.number)?;
            queue.wait_for(event)?;
            order.waited(stream, Step { number, ..wait });
        }
        put(queue.stream.as_inner())?;
        if streams.len() - free.len() > 1 {
            // The operation is under way, whatever becomes of its event: who waits for it then records another.
            let _ = streams[stream as usize].mark();
        }
        Ok(())
    }

    fn shared(&self) -> Option<MutexGuard<'_, Shared>> {
        self.several.as_ref().map(|several| several.shared.lock())
    }
}
