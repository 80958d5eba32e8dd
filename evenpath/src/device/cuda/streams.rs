//! The streams of a context.
//!
//! A device starts with one stream, and its operations are not tracked. Once a program requests another, the
//! memory ranges that every operation reads and writes are recorded ([`Order`]), and a stream waits for those
//! operations of others that its next one depends on. Streams wait for each other; the host does not wait.

use std::collections::VecDeque;
use std::sync::Arc;

use cust::sys::{self, CUstream, CUstream_flags};
use parking_lot::{Mutex, MutexGuard};

use super::driver::{CallError, check_raw};
use super::event::{Event, Time};
use super::landing::Landing;
use crate::device::order::{MemoryAccess, Order, StreamStep};

/// Number of events that a stream keeps. A wait for an older operation becomes one for the oldest of these.
const MARKS: usize = 64;

/// A stream and its properties.
pub(super) struct Queue {
    stream: CUstream,
    /// True if foreign code made the stream and destroys it.
    is_foreign: bool,
    /// True if it has the highest priority.
    is_urgent: bool,
    pub(super) landing: Mutex<Landing>,
}

// SAFETY: the driver's functions for streams are thread-safe.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    fn new(flags: CUstream_flags, is_urgent: bool) -> Result<Arc<Self>, CallError> {
        let landing = Mutex::new(Landing::new()?);
        let priority = if is_urgent { highest_priority()? } else { 0 };
        let mut stream = std::ptr::null_mut();
        // SAFETY: `stream` is live for the call.
        check_raw("cuStreamCreate", unsafe {
            sys::cuStreamCreateWithPriority(&raw mut stream, flags as u32, priority)
        })?;
        Ok(Arc::new(Self { stream, is_foreign: false, is_urgent, landing }))
    }

    /// Wraps a foreign stream.
    fn foreign(stream: CUstream) -> Result<Arc<Self>, CallError> {
        let landing = Mutex::new(Landing::new()?);
        Ok(Arc::new(Self { stream, is_foreign: true, is_urgent: false, landing }))
    }

    /// Returns the driver's handle.
    pub(super) fn handle(&self) -> CUstream {
        self.stream
    }

    /// Waits for all work on the stream.
    pub(super) fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the stream is of the current context, and live.
        check_raw("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.stream) })
    }

    /// Makes later work on the stream wait for an event.
    fn wait_for(&self, event: &Event) -> Result<(), CallError> {
        // SAFETY: both are of the current context, and live.
        check_raw("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.stream, event.handle(), 0) })
    }
}

/// Returns the highest priority, which is the lowest number; 0 if there are no priorities.
fn highest_priority() -> Result<i32, CallError> {
    let (mut lowest, mut highest) = (0, 0);
    // SAFETY: both are live for the call.
    check_raw("cuCtxGetStreamPriorityRange", unsafe {
        sys::cuCtxGetStreamPriorityRange(&raw mut lowest, &raw mut highest)
    })?;
    Ok(highest)
}

impl Drop for Queue {
    fn drop(&mut self) {
        if !self.is_foreign {
            // SAFETY: this object owns the stream and does not use it again. Pending work still completes.
            unsafe { sys::cuStreamDestroy_v2(self.stream) };
        }
    }
}

/// All streams of a context. The functions require that it is current.
pub(super) struct ContextStreams {
    first: Arc<Queue>,
    /// `None` while there is one stream.
    shared: Option<Mutex<SharedStreams>>,
}

/// State for several streams.
struct SharedStreams {
    order: Order,
    /// Streams by number; number 0 is the first.
    streams: Vec<Timeline>,
    /// Streams that the program has returned.
    free: Vec<u32>,
    /// Numbers of foreign streams that the program has returned.
    free_foreign: Vec<u32>,
}

/// A stream and its latest operations.
struct Timeline {
    queue: Arc<Queue>,
    operations: u64,
    /// Events, oldest first, each with the number of operations before it.
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
            None => Event::new(Time::Unknown)?,
        };
        event.record(self.queue.stream)?;
        self.marks.push_back((self.operations, event));
        Ok(())
    }

    /// Returns the first event after `number` operations, and the number of operations before it.
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

impl SharedStreams {
    /// Makes later work on a stream wait for all earlier work on the others.
    fn follow_all(&mut self, stream: u32) -> Result<(), CallError> {
        let queue = Arc::clone(&self.streams[stream as usize].queue);
        for (other, timeline) in (0..).zip(&mut self.streams).filter(|&(other, _)| other != stream) {
            timeline.mark()?;
            if let Some((number, last)) = timeline.marks.back() {
                queue.wait_for(last)?;
                self.order.waited(stream, StreamStep { stream: other, number: *number });
            }
        }
        Ok(())
    }
}

impl ContextStreams {
    /// Creates the first stream.
    pub(super) fn new() -> Result<Self, CallError> {
        Ok(Self { first: Queue::new(CUstream_flags::CU_STREAM_DEFAULT, false)?, shared: None })
    }

    /// Returns the number of an unused stream. Its work comes after all earlier work on every stream.
    pub(super) fn take(&mut self, is_urgent: bool) -> Result<u32, CallError> {
        let shared = self.several();
        let is_alike = |&number: &u32| shared.streams[number as usize].queue.is_urgent == is_urgent;
        let Some(at) = shared.free.iter().rposition(is_alike) else {
            let queue = Queue::new(CUstream_flags::CU_STREAM_NON_BLOCKING, is_urgent)?;
            shared.streams.push(Timeline::new(queue));
            let number = shared.streams.len() as u32 - 1;
            // A stream that cannot wait for others is not used.
            return shared.follow_all(number).map(|()| number);
        };
        let number = shared.free[at];
        shared.follow_all(number)?;
        Ok(shared.free.remove(at))
    }

    /// Adds a foreign stream and returns its number.
    ///
    /// # Safety
    ///
    /// The stream is of this context, and live until it is returned.
    pub(super) unsafe fn take_foreign(&mut self, stream: CUstream) -> Result<u32, CallError> {
        let first = Arc::clone(&self.first);
        let shared = self.several();
        let queue = Queue::foreign(stream)?;
        if shared.free_foreign.is_empty() {
            shared.streams.push(Timeline::new(Arc::clone(&first)));
            shared.free_foreign.push(shared.streams.len() as u32 - 1);
        }
        let number = shared.free_foreign[shared.free_foreign.len() - 1];
        // The number's history continues: the new stream comes after all work of its predecessor.
        let timeline = &mut shared.streams[number as usize];
        if let Some((_, last)) = timeline.marks.back() {
            queue.wait_for(last)?;
        }
        timeline.queue = queue;
        if let Err(error) = shared.follow_all(number) {
            // The caller still owns the stream and may now destroy it.
            shared.streams[number as usize].queue = first;
            return Err(error);
        }
        shared.free_foreign.pop();
        Ok(number)
    }

    /// Returns the state for several streams, creating it if necessary.
    fn several(&mut self) -> &mut SharedStreams {
        let first = &self.first;
        let shared = self.shared.get_or_insert_with(|| {
            let streams = vec![Timeline::new(Arc::clone(first))];
            let order = Order::default();
            Mutex::new(SharedStreams { order, streams, free: Vec::new(), free_foreign: Vec::new() })
        });
        shared.get_mut()
    }

    /// Takes a stream back from the program. A foreign one may be destroyed now: later work on the first
    /// stream waits for it, and waits for its operations become waits for the first stream.
    pub(super) fn give_back(&self, stream: u32) {
        let Some(mut shared) = self.shared() else { return };
        let SharedStreams { streams, free, free_foreign, .. } = &mut *shared;
        let timeline = &mut streams[stream as usize];
        if !timeline.queue.is_foreign {
            return free.push(stream);
        }
        // An error comes from earlier work, which ends the context, or the stream was destroyed: then there
        // is nothing to wait for.
        if timeline.mark().is_ok()
            && let Some((_, last)) = timeline.marks.back()
        {
            let _ = self.first.wait_for(last);
        }
        timeline.queue = Arc::clone(&self.first);
        free_foreign.push(stream);
    }

    pub(super) fn queue(&self, stream: u32) -> Arc<Queue> {
        let shared = self.shared();
        let other = shared.as_ref().and_then(|shared| shared.streams.get(stream as usize));
        Arc::clone(other.map_or(&self.first, |timeline| &timeline.queue))
    }

    /// Waits for all streams, ignoring failures: if a stream cannot be waited for, the context has ended, and
    /// the stream's work with it.
    pub(super) fn finish(&self) {
        for stream in 0..self.count() {
            let _ = self.queue(stream).synchronize();
        }
    }

    /// Number of streams, including returned ones.
    pub(super) fn count(&self) -> u32 {
        self.shared().map_or(1, |shared| shared.streams.len() as u32)
    }

    /// Puts an operation with these accesses on a stream through `put`, after the operations of other streams
    /// that it depends on.
    pub(super) fn enqueue<A: AsRef<[MemoryAccess]>>(
        &self,
        stream: u32,
        accesses: impl FnOnce() -> A,
        put: impl FnOnce(CUstream) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        // Held until the operation is on its stream, so that the recorded order is the stream's order.
        let Some(mut shared) = self.shared() else { return put(self.first.stream) };
        let SharedStreams { order, streams, free, free_foreign } = &mut *shared;
        let own = &mut streams[stream as usize];
        own.operations += 1;
        let queue = Arc::clone(&own.queue);
        for wait in order.begin(StreamStep { stream, number: own.operations }, accesses().as_ref()) {
            let (number, event) = streams[wait.stream as usize].after(wait.number)?;
            queue.wait_for(event)?;
            order.waited(stream, StreamStep { number, ..wait });
        }
        put(queue.stream)?;
        if streams.len() - free.len() - free_foreign.len() > 1 {
            // The operation is in progress even if its event fails: a later wait records another.
            let _ = streams[stream as usize].mark();
        }
        Ok(())
    }

    fn shared(&self) -> Option<MutexGuard<'_, SharedStreams>> {
        self.shared.as_ref().map(Mutex::lock)
    }
}
