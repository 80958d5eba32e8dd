//! A device object's CUDA context, and its end.
//!
//! Each device object has a context of its own instead of the one that CUDA libraries share by default. A
//! library that resets or configures the shared context does not affect ours, and destroying ours ends all
//! our work at once, including work that cannot be waited for, and none of theirs. Calls push the context and
//! pop it again, so the calling thread's current context stays.
//!
//! Contexts do not isolate faults: most kernel faults end the use of the GPU by the process, in every context
//! (see [`fault`](super::fault)), and a few end their own context. A device object destroys its context at
//! its first call after such a fault; later calls do not reach the driver.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use cust::sys::{self, CUcontext, CUdevice};
use parking_lot::{Mutex, RwLock};

use super::cache::Cache;
use super::driver::{CallError, check_raw};
use super::event::{Event, Time};
use super::failure::ContextFailure;
use super::fault::{GpuRecord, RecordedFault};
use super::launch_log::LaunchLog;
use super::module::Modules;
use super::streams::ContextStreams;
use crate::device::DeviceError;
use crate::device::machine::{StreamMark, Transfer};

/// A context, until a fault ends it.
pub(super) struct Core {
    /// Name of the device, for messages.
    pub(super) label: String,
    live: RwLock<Option<Live>>,
    log: Arc<Mutex<LaunchLog>>,
    /// The fault that ended this context alone.
    fault: RecordedFault,
    gpu: Arc<GpuRecord>,
}

/// A usable context and its contents.
pub(super) struct Live {
    pub(super) modules: Mutex<Modules>,
    pub(super) cache: Mutex<Cache>,
    pub(super) streams: ContextStreams,
    /// Last, so that it is destroyed after its contents.
    context: Context,
}

/// Kind of context of a device object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::device) enum ContextKind {
    /// A context of its own.
    Own,
    /// The GPU's primary context, which CUDA libraries share.
    Primary,
}

/// A context, destroyed on drop; the primary context is released instead.
struct Context {
    handle: CUcontext,
    gpu: CUdevice,
    kind: ContextKind,
    /// True if it is current in the dropping thread, which must then pop it.
    is_current: bool,
}

impl Context {
    fn new(gpu: CUdevice, kind: ContextKind) -> Result<Self, CallError> {
        let mut handle = std::ptr::null_mut();
        match kind {
            ContextKind::Own => {
                // SAFETY: `handle` is live for the call.
                check_raw("cuCtxCreate", unsafe { sys::cuCtxCreate_v2(&raw mut handle, 0, gpu) })?;
                // Creating the context pushed it.
                pop();
            }
            ContextKind::Primary => {
                // SAFETY: as above.
                check_raw("cuDevicePrimaryCtxRetain", unsafe {
                    sys::cuDevicePrimaryCtxRetain(&raw mut handle, gpu)
                })?;
            }
        }
        Ok(Self { handle, gpu, kind, is_current: false })
    }

    fn push(&self) -> Result<(), CallError> {
        // SAFETY: the context is live.
        check_raw("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.handle) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        match self.kind {
            // SAFETY: the context is live, and not used again. Destroying it takes it from the thread's stack.
            ContextKind::Own => unsafe {
                sys::cuCtxDestroy_v2(self.handle);
            },
            ContextKind::Primary => {
                if self.is_current {
                    pop();
                }
                // SAFETY: it was retained once.
                unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.gpu) };
            }
        }
    }
}

/// Pops the current context from the thread's stack. Fails only if none was pushed.
fn pop() {
    let mut popped = std::ptr::null_mut();
    // SAFETY: `popped` is live for the call.
    unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) };
}

// SAFETY: a context may be current in any number of threads at once, and may be destroyed from any thread
// while no thread uses it; `Core` destroys it under a lock that its users hold shared.
unsafe impl Send for Live {}
// SAFETY: as above; the driver's functions are thread-safe.
unsafe impl Sync for Live {}

impl Live {
    /// Creates a context on a GPU. It is current in no thread.
    pub(super) fn new(
        gpu: cust::device::Device,
        kind: ContextKind,
        modules: Modules,
        cache: Cache,
    ) -> Result<Self, CallError> {
        let context = Context::new(gpu.as_raw(), kind)?;
        context.push()?;
        let current = Current { _not_send: std::marker::PhantomData };
        let streams = ContextStreams::new()?;
        drop(current);
        Ok(Self { modules: Mutex::new(modules), cache: Mutex::new(cache), streams, context })
    }

    /// Makes the context current in this thread.
    pub(super) fn enter(&self) -> Result<Current, CallError> {
        self.context.push()?;
        Ok(Current { _not_send: std::marker::PhantomData })
    }

    /// Returns the driver's handle of the context, and its kind.
    pub(super) fn context(&self) -> (CUcontext, ContextKind) {
        (self.context.handle, self.context.kind)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Streams and modules are destroyed in their context, which is popped after them.
        if let Ok(current) = self.enter() {
            std::mem::forget(current);
            self.context.is_current = true;
            if self.context.kind == ContextKind::Primary {
                // Releasing a shared context ends none of its work, such as copies to and from host memory.
                self.streams.finish();
                self.cache.get_mut().drain().into_iter().for_each(free);
            }
        }
    }
}

/// Keeps the context current in this thread until dropped.
pub(super) struct Current {
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        pop();
    }
}

impl Core {
    pub(super) fn new(label: String, gpu: Arc<GpuRecord>, live: Live) -> Self {
        Self {
            label,
            live: RwLock::new(Some(live)),
            log: gpu.new_log(),
            fault: RecordedFault::default(),
            gpu,
        }
    }

    /// Runs `body` with the context current.
    pub(super) fn with<R>(
        &self,
        body: impl FnOnce(&Live) -> Result<R, ContextFailure>,
    ) -> Result<R, DeviceError> {
        self.with_live(|live| live.enter().map_err(ContextFailure::from).and_then(|_current| body(live)))
    }

    /// Runs `body`, which enters the context itself to call the driver.
    pub(super) fn with_live<R>(
        &self,
        body: impl FnOnce(&Live) -> Result<R, ContextFailure>,
    ) -> Result<R, DeviceError> {
        let result = match &*self.live.read() {
            Some(live) if !self.gpu.fault().is_recorded() => Some(body(live)),
            _ => None,
        };
        self.conclude(result)
    }

    /// Runs `body` with the context current and no other call in progress.
    pub(super) fn with_exclusive<R>(
        &self,
        body: impl FnOnce(&mut Live) -> Result<R, CallError>,
    ) -> Result<R, DeviceError> {
        let result = match &mut *self.live.write() {
            Some(live) if !self.gpu.fault().is_recorded() => {
                Some(live.enter().and_then(|_current| body(live)).map_err(ContextFailure::from))
            }
            _ => None,
        };
        self.conclude(result)
    }

    /// Converts the result of a call; `None` means that the context has ended. The caller holds no lock.
    fn conclude<R>(&self, result: Option<Result<R, ContextFailure>>) -> Result<R, DeviceError> {
        result.ok_or_else(|| self.lost())?.map_err(|failure| match failure {
            ContextFailure::Fatal(error) => self.lose(error),
            ContextFailure::Call(error) if error.ends_context() => self.lose(error),
            other => other.into_error(&self.label),
        })
    }

    /// Runs `body` unless the context has ended; for things that the context's end frees.
    pub(super) fn release(&self, body: impl FnOnce(&Live)) {
        if let Some(live) = &*self.live.read() {
            body(live);
        }
    }

    /// Launches kernels through `launch` in a stream and logs them.
    pub(super) fn launch(
        &self,
        kernels: &[&'static str],
        stream: u32,
        launch: impl FnOnce() -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        // Held across the launch, so that a thread that reports a fault finds the names.
        let mut log = self.log.lock();
        launch()?;
        for kernel in kernels {
            log.launched(kernel, stream);
        }
        Ok(())
    }

    /// Waits for a stream. If that fails, the context is ended, and with it all access of the stream to host
    /// memory.
    pub(super) fn wait(&self, live: &Live, stream: u32) -> Result<(), ContextFailure> {
        let launches = self.log.lock().launches();
        live.streams.queue(stream).synchronize().map_err(ContextFailure::Fatal)?;
        self.log.lock().finished(stream, launches);
        Ok(())
    }

    /// Waits for all streams.
    pub(super) fn wait_for_all(&self, live: &Live) -> Result<(), ContextFailure> {
        (0..live.streams.count()).try_for_each(|stream| self.wait(live, stream))
    }

    /// Records the error that ends the context, and ends it.
    fn lose(&self, error: CallError) -> DeviceError {
        if error.ends_gpu() {
            self.gpu.record(&self.label, error);
        } else {
            self.fault.record(&self.label, error, || self.log.lock().kernels());
        }
        self.lost()
    }

    /// Returns the error of a call after the end of the context was recorded. Destroys the context if
    /// necessary.
    fn lost(&self) -> DeviceError {
        drop(self.live.write().take());
        let fault = if self.fault.is_recorded() { &self.fault } else { self.gpu.fault() };
        fault.tell(&self.label)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // If a fault were seen later, its kernels could not be named.
        if let Some(live) = &*self.live.read()
            && let Err(ContextFailure::Call(error) | ContextFailure::Fatal(error)) =
                live.enter().map_err(ContextFailure::from).and_then(|_current| self.wait_for_all(live))
            && error.ends_gpu()
        {
            self.gpu.record(&self.label, error);
        }
    }
}

/// A value of a core's context. It is dropped there, or has ended with the context.
pub(super) struct InContext<T> {
    core: Arc<Core>,
    value: ManuallyDrop<T>,
}

impl<T> InContext<T> {
    pub(super) fn new(core: &Arc<Core>, value: T) -> Self {
        Self { core: Arc::clone(core), value: ManuallyDrop::new(value) }
    }

    pub(super) fn core(&self) -> &Core {
        &self.core
    }
}

impl<T> Deref for InContext<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for InContext<T> {
    fn drop(&mut self) {
        let value = &mut self.value;
        // After the context's end, its handle is invalid.
        self.core.release(|live| {
            if let Ok(_current) = live.enter() {
                // SAFETY: this is the only place that drops it, and it is not used again.
                unsafe { ManuallyDrop::drop(value) };
            }
        });
    }
}

/// An event in a core's stream.
pub(super) struct Mark(InContext<Event>);

impl Mark {
    pub(super) fn record(core: &Arc<Core>, stream: u32) -> Result<Self, DeviceError> {
        core.with(|live| Ok(Self::record_in(core, live, stream, Time::Kept)?))
    }

    /// Like [`record`](Self::record), with the context current.
    fn record_in(core: &Arc<Core>, live: &Live, stream: u32, time: Time) -> Result<Self, CallError> {
        let event = Event::new(time)?;
        event.record(live.streams.queue(stream).handle())?;
        Ok(Self(InContext::new(core, event)))
    }

    /// Marks the end of a copy between host and device that was just started. If that fails, waits for the
    /// copy.
    pub(super) fn after_copy(core: &Arc<Core>, live: &Live, stream: u32) -> Result<Self, ContextFailure> {
        Self::record_in(core, live, stream, Time::Unknown).map_err(|error| match core.wait(live, stream) {
            Ok(()) => error.into(),
            Err(failure) => failure,
        })
    }
}

impl StreamMark for Mark {
    fn elapsed_since(&self, earlier: &dyn StreamMark) -> Option<Result<f64, DeviceError>> {
        let earlier: &Self = (earlier as &dyn Any).downcast_ref()?;
        Some(self.0.core().with(|_| {
            self.0.synchronize()?;
            earlier.0.synchronize()?;
            Ok(self.0.elapsed_since(&earlier.0)?)
        }))
    }

    fn is_done(&self) -> Result<bool, DeviceError> {
        self.query()
    }
}

impl Mark {
    fn query(&self) -> Result<bool, DeviceError> {
        self.0.core().with(|_| Ok(self.0.is_done()?))
    }
}

impl Transfer for Mark {
    fn wait(&self) -> Result<(), DeviceError> {
        // Fatal: the context is ended to stop a copy that cannot be waited for.
        self.0.core().with(|_| self.0.synchronize().map_err(ContextFailure::Fatal))
    }

    fn is_done(&self) -> bool {
        self.query().unwrap_or(false)
    }
}

/// Frees a block. The context is current, and all work that uses the block was launched before.
pub(super) fn free(address: u64) {
    // SAFETY: the address is of an unused block of the current context, and the driver waits for the work
    // that uses it. An error can only come from earlier work; the next call returns it too.
    let _ = unsafe { sys::cuMemFree_v2(address) };
}

/// Allocates a block. The context is current.
pub(super) fn allocate(bytes: u64) -> Result<u64, CallError> {
    let mut address = 0;
    // SAFETY: `address` is live for the call.
    check_raw("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes as usize) })?;
    Ok(address)
}
