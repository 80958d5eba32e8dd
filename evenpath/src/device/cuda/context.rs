//! A context of our own on a GPU, and its end.
//!
//! Each device object has a context of its own, and not the one that CUDA libraries share by default: another library
//! that resets or configures that one does nothing to ours, and everything that is ours, work that cannot be waited for
//! included, can be ended at once by destroying it, with nothing of theirs. Calls push the context and pop it again, so
//! whatever context the calling thread has for other libraries stays.
//!
//! What contexts do not do is keep faults apart: most faults of a kernel end the use of its GPU by the process, in every
//! context (see [`fault`](super::fault)), and a few that of its context. A device object destroys its context at its
//! first call after such a fault, and what comes later is answered without the driver.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cust::context::legacy::{Context, ContextFlags, ContextStack};
use cust::event::{Event, EventFlags};
use cust::sys;
use parking_lot::{Mutex, RwLock};

use super::cache::Cache;
use super::driver::{CallError, check, check_raw};
use super::failure::Failure;
use super::fault::{Fault, GpuRecord};
use super::launch_log::LaunchLog;
use super::module::Modules;
use super::streams::Streams;
use crate::device::DeviceError;
use crate::device::machine::StreamMark;

/// A context until a fault ends it.
pub(super) struct Core {
    /// The device, for messages.
    pub(super) label: String,
    live: RwLock<Option<Live>>,
    log: Arc<Mutex<LaunchLog>>,
    /// What ended this context alone.
    fault: Fault,
    gpu: Arc<GpuRecord>,
}

/// A usable context and what is in it.
pub(super) struct Live {
    pub(super) modules: Mutex<Modules>,
    pub(super) cache: Mutex<Cache>,
    pub(super) streams: Streams,
    /// Last, so that it is destroyed after what it holds.
    context: Context,
}

// SAFETY: a context may be current in any number of threads at once, and be destroyed from any thread while it is used
// in none; `Core` destroys it under a lock that its users hold shared.
unsafe impl Send for Live {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Live {}

impl Live {
    /// A new context on a GPU. It is current in no thread.
    pub(super) fn new(gpu: cust::device::Device, modules: Modules, cache: Cache) -> Result<Self, CallError> {
        let context = check("cuCtxCreate", Context::create_and_push(ContextFlags::SCHED_AUTO, gpu))?;
        // Creating pushed it: it is popped at the end of this function, also on an error.
        let current = Current { _not_send: std::marker::PhantomData };
        let streams = Streams::new()?;
        drop(current);
        Ok(Self { modules: Mutex::new(modules), cache: Mutex::new(cache), streams, context })
    }

    /// Makes the context current in this thread.
    pub(super) fn enter(&self) -> Result<Current, CallError> {
        check("cuCtxPushCurrent", ContextStack::push(&self.context))?;
        Ok(Current { _not_send: std::marker::PhantomData })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Streams and modules are destroyed in their context. Destroying that pops it.
        if let Ok(current) = self.enter() {
            std::mem::forget(current);
        }
    }
}

/// The context is this thread's current one until this is dropped.
pub(super) struct Current {
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        // Popping fails only where nothing was pushed.
        let _ = ContextStack::pop();
    }
}

impl Core {
    pub(super) fn new(label: String, gpu: Arc<GpuRecord>, live: Live) -> Self {
        Self { label, live: RwLock::new(Some(live)), log: gpu.new_log(), fault: Fault::default(), gpu }
    }

    /// Runs `body` with the context current.
    pub(super) fn with<R>(&self, body: impl FnOnce(&Live) -> Result<R, Failure>) -> Result<R, DeviceError> {
        self.with_live(|live| live.enter().map_err(Failure::from).and_then(|_current| body(live)))
    }

    /// Runs `body`, which enters the context itself where it calls the driver.
    pub(super) fn with_live<R>(
        &self,
        body: impl FnOnce(&Live) -> Result<R, Failure>,
    ) -> Result<R, DeviceError> {
        let result = match &*self.live.read() {
            Some(live) if !self.gpu.fault().is_recorded() => Some(body(live)),
            _ => None,
        };
        self.conclude(result)
    }

    /// Runs `body`, with the context current, while no other call is under way.
    pub(super) fn with_exclusive<R>(
        &self,
        body: impl FnOnce(&mut Live) -> Result<R, CallError>,
    ) -> Result<R, DeviceError> {
        let result = match &mut *self.live.write() {
            Some(live) if !self.gpu.fault().is_recorded() => {
                Some(live.enter().and_then(|_current| body(live)).map_err(Failure::from))
            }
            _ => None,
        };
        self.conclude(result)
    }

    /// What a call answers; `None` is that of a context that has ended. The caller holds no lock.
    fn conclude<R>(&self, result: Option<Result<R, Failure>>) -> Result<R, DeviceError> {
        result.ok_or_else(|| self.lost())?.map_err(|failure| match failure {
            Failure::Fatal(error) => self.lose(error),
            Failure::Call(error) if error.ends_context() => self.lose(error),
            other => other.into_error(&self.label),
        })
    }

    /// Runs `body` unless the context has ended; for what is gone with the context.
    pub(super) fn release(&self, body: impl FnOnce(&Live)) {
        if let Some(live) = &*self.live.read() {
            body(live);
        }
    }

    /// Launches through `launch`, in a stream, and notes the kernels.
    pub(super) fn launch(
        &self,
        kernels: &[&'static str],
        stream: u32,
        launch: impl FnOnce() -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        // Held across the launch, so that a thread that reports a fault finds their names.
        let mut log = self.log.lock();
        launch()?;
        for kernel in kernels {
            log.launched(kernel, stream);
        }
        Ok(())
    }

    /// Waits until a stream is done. If it cannot be waited for, the context ends, and with it what the stream may
    /// still be doing to host memory.
    pub(super) fn wait(&self, live: &Live, stream: u32) -> Result<(), Failure> {
        let launches = self.log.lock().launches();
        check("cuStreamSynchronize", live.streams.queue(stream).stream.synchronize())
            .map_err(Failure::Fatal)?;
        self.log.lock().finished(stream, launches);
        Ok(())
    }

    /// Waits until all streams are done.
    pub(super) fn wait_for_all(&self, live: &Live) -> Result<(), Failure> {
        (0..live.streams.count()).try_for_each(|stream| self.wait(live, stream))
    }

    /// Records what ends the context, and ends it.
    fn lose(&self, error: CallError) -> DeviceError {
        if error.ends_gpu() {
            self.gpu.record(&self.label, error);
        } else {
            self.fault.record(&self.label, error, || self.log.lock().kernels());
        }
        self.lost()
    }

    /// The error of a call after what ended the context was recorded. The context is destroyed if it is not yet.
    fn lost(&self) -> DeviceError {
        drop(self.live.write().take());
        let fault = if self.fault.is_recorded() { &self.fault } else { self.gpu.fault() };
        fault.tell(&self.label)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Nobody could name the kernels any more if a fault among them were seen later.
        if let Some(live) = &*self.live.read()
            && let Err(Failure::Call(error) | Failure::Fatal(error)) =
                live.enter().map_err(Failure::from).and_then(|_current| self.wait_for_all(live))
            && error.ends_gpu()
        {
            self.gpu.record(&self.label, error);
        }
    }
}

/// An event in a core's stream.
pub(super) struct Mark {
    core: Arc<Core>,
    event: ManuallyDrop<Event>,
}

impl Mark {
    pub(super) fn record(core: &Arc<Core>, stream: u32) -> Result<Self, DeviceError> {
        core.with(|live| {
            let event = check("cuEventCreate", Event::new(EventFlags::DEFAULT))?;
            check("cuEventRecord", event.record(&live.streams.queue(stream).stream))?;
            Ok(Self { core: Arc::clone(core), event: ManuallyDrop::new(event) })
        })
    }
}

impl StreamMark for Mark {
    fn elapsed_since(&self, earlier: &dyn StreamMark) -> Option<Result<f64, DeviceError>> {
        let earlier: &Self = (earlier as &dyn Any).downcast_ref()?;
        Some(self.core.with(|_| {
            check("cuEventSynchronize", self.event.synchronize())?;
            check("cuEventSynchronize", earlier.event.synchronize())?;
            let milliseconds = check("cuEventElapsedTime", self.event.elapsed_time_f32(&earlier.event))?;
            Ok(f64::from(milliseconds))
        }))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let event = &mut self.event;
        // An event is destroyed with its context; afterwards its handle means nothing.
        self.core.release(|live| {
            if let Ok(_current) = live.enter() {
                // SAFETY: this is the only place that drops it, and it is not used again.
                unsafe { ManuallyDrop::drop(event) };
            }
        });
    }
}

/// Frees a block. The context is current, and no work uses the block that was not launched before.
pub(super) fn free(address: u64) {
    // SAFETY: the address is of a block of the current context that nobody has any more; the driver waits for the
    // work that uses it. An error can only be one of earlier work, which the next call gets too.
    let _ = unsafe { sys::cuMemFree_v2(address) };
}

/// A new block. The context is current.
pub(super) fn allocate(bytes: u64) -> Result<u64, CallError> {
    let mut address = 0;
    // SAFETY: `address` is live for the call.
    check_raw("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes as usize) })?;
    Ok(address)
}
