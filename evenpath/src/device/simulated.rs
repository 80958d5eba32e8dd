//! The simulated GPU as a device.

mod transfer;

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use evenpath_simt::host::{Fault, FaultKind, OutOfMemory, SimulatedGpu, SimulatedOptions, SimulatedStream};
use evenpath_simt::kernel::{Argument, KernelInfo, Simulation};
use parking_lot::{Mutex, MutexGuard, RwLock};

use super::error::DeviceError;
use super::kernels::OwnKernels;
use super::machine::{Machine, MemoryBlock, Moment, Transfer};
use super::order::{MemoryAccess, Order, StreamStep};
use super::properties::DeviceProperties;
use super::shared::SharedMemory;
use transfer::{Copy, Landings};

pub(super) const NAME: &str = "simulated GPU";

/// Order of the streams, if there are several.
#[derive(Default)]
struct StreamNumbers {
    order: Option<Order>,
    /// Number of streams besides the first.
    count: u32,
    /// Streams that the program has returned.
    free: Vec<u32>,
}

pub(super) struct Simulated {
    gpu: SimulatedGpu,
    /// Kernel bodies by name.
    simulations: RwLock<HashMap<&'static str, Simulation>>,
    properties: DeviceProperties,
    /// Number of CPU threads that run blocks.
    threads: u32,
    /// Held during every operation: they run one at a time.
    streams: Mutex<StreamNumbers>,
    /// The kernel fault that ended the device.
    fault: OnceLock<(&'static str, Fault)>,
    /// Number of calls up to and including the one that will fail; 0 if none will.
    until_failure: AtomicU64,
    /// Number of calls in which a GPU's host would have waited.
    waits: Arc<AtomicU64>,
    /// Copies to the host that it has not waited for.
    landings: Arc<Landings>,
    /// A deliberate bug for tests: streams do not wait for each other.
    #[cfg(test)]
    pub(super) ignores_waits: std::sync::atomic::AtomicBool,
}

impl Simulated {
    /// Creates a simulated GPU that runs the library's kernels and `others`, given as names of instances and
    /// their bodies.
    pub(super) fn new(
        options: SimulatedOptions,
        others: impl IntoIterator<Item = (&'static str, Simulation)>,
    ) -> Self {
        let gpu = SimulatedGpu::new(options);
        let threads = gpu.cpu_threads() as u32;
        let properties = DeviceProperties {
            name: NAME.into(),
            multiprocessors: match options.multiprocessors {
                0 => threads,
                multiprocessors => multiprocessors,
            },
            compute_capability: None,
            memory_bytes: Some(options.memory_bytes),
            l2_bytes: options.l2_bytes,
            max_shared_bytes: Some(options.max_shared_bytes),
            driver: None,
        };
        Self {
            gpu,
            simulations: RwLock::new(evenpath_kernels::simulations().into_iter().chain(others).collect()),
            properties,
            threads,
            streams: Mutex::default(),
            #[cfg(test)]
            ignores_waits: std::sync::atomic::AtomicBool::new(false),
            fault: OnceLock::new(),
            until_failure: AtomicU64::new(0),
            waits: Arc::default(),
            landings: Arc::default(),
        }
    }

    /// Waits for the current operation. Every operation that can fail starts here, so injected failures
    /// happen here too.
    fn begin(&self) -> Result<MutexGuard<'_, StreamNumbers>, DeviceError> {
        let guard = self.streams.lock();
        if let Some((kernel, fault)) = self.fault.get() {
            let (device, kernels, reason) = (NAME.into(), vec![*kernel], fault.to_string());
            return Err(DeviceError::DeviceLost { device, kernels, reason });
        }
        // The streams are locked, so no other thread counts.
        let until_failure = self.until_failure.load(Relaxed);
        self.until_failure.store(until_failure.saturating_sub(1), Relaxed);
        if until_failure == 1 { Err(DeviceError::Injected { device: NAME.into() }) } else { Ok(guard) }
    }

    /// Starts an operation with these accesses, which runs while the guard is held. Returns its stream.
    fn begin_in<A: AsRef<[MemoryAccess]>>(
        &self,
        stream: u32,
        accesses: impl FnOnce() -> A,
    ) -> Result<(MutexGuard<'_, StreamNumbers>, SimulatedStream<'_>), DeviceError> {
        let mut guard = self.begin()?;
        let own = self.gpu.stream(stream);
        if let Some(order) = &mut guard.order {
            for wait in order.begin(StreamStep { stream, number: own.operations() + 1 }, accesses().as_ref())
            {
                #[cfg(test)]
                if self.ignores_waits.load(Relaxed) {
                    continue;
                }
                own.wait_for(wait.stream, wait.number);
                order.waited(stream, wait);
            }
        }
        Ok((guard, own))
    }
}

/// Converts a mistake of the host: the call fails, and the device stays usable.
#[expect(clippy::needless_pass_by_value)] // `map_err` passes it by value.
fn refused(fault: Fault) -> DeviceError {
    DeviceError::Simulated { device: NAME.into(), reason: fault.to_string() }
}

impl Machine for Simulated {
    fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    fn memory(&self) -> Result<(u64, u64), DeviceError> {
        Ok(self.gpu.memory())
    }

    fn allocate(&self, bytes: u64) -> Result<MemoryBlock, DeviceError> {
        let _guard = self.begin()?;
        let out_of_memory = |OutOfMemory { asked, free, total }| DeviceError::OutOfMemory {
            device: NAME.into(),
            requested: asked,
            free,
            total,
        };
        let address = self.gpu.allocate(bytes).map_err(out_of_memory)?;
        Ok(MemoryBlock { address, bytes })
    }

    unsafe fn free(&self, block: MemoryBlock) {
        let _guard = self.streams.lock();
        let freed = self.gpu.free(block.address);
        debug_assert!(freed.is_ok(), "{freed:?}");
    }

    fn take_stream(&self, _is_urgent: bool) -> Result<u32, DeviceError> {
        let mut guard = self.begin()?;
        let StreamNumbers { order, count, free } = &mut *guard;
        let number = free.pop().unwrap_or_else(|| {
            *count += 1;
            *count
        });
        let (order, own) = (order.get_or_insert_default(), self.gpu.stream(number));
        for other in (0..=*count).filter(|&other| other != number) {
            let operations = self.gpu.stream(other).operations();
            own.wait_for(other, operations);
            order.waited(number, StreamStep { stream: other, number: operations });
        }
        Ok(number)
    }

    fn put_foreign(
        &self,
        stream: u32,
        accesses: &[MemoryAccess],
        put: &mut dyn FnMut(*mut c_void),
    ) -> Result<(), DeviceError> {
        let (_guard, stream) = self.begin_in(stream, || accesses)?;
        let ranges = |is_write| {
            let chosen = accesses.iter().filter(|access| access.is_write == is_write);
            chosen.map(|access| access.range.clone()).collect::<Vec<_>>()
        };
        stream.touch(&ranges(false), &ranges(true)).map_err(refused)?;
        put(std::ptr::null_mut());
        Ok(())
    }

    fn give_back_stream(&self, stream: u32) {
        self.streams.lock().free.push(stream);
    }

    unsafe fn write(&self, stream: u32, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let access = || [MemoryAccess::write(address, bytes.len() as u64)];
        let (_guard, stream) = self.begin_in(stream, access)?;
        self.waits.fetch_add(1, Relaxed);
        stream.write(address, bytes).map_err(refused)
    }

    unsafe fn read(&self, stream: u32, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let access = || [MemoryAccess::read(address, bytes.len() as u64)];
        let (_guard, stream) = self.begin_in(stream, access)?;
        self.waits.fetch_add(1, Relaxed);
        stream.read(address, bytes).map_err(refused)
    }

    unsafe fn begin_write(
        &self,
        stream: u32,
        address: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        let (_guard, stream) =
            self.begin_in(stream, || MemoryAccess::copy(from as u64, address, bytes as u64))?;
        self.landings.land();
        // SAFETY: guaranteed by the caller: there are that many bytes, which do not change.
        stream.write(address, unsafe { std::slice::from_raw_parts(from, bytes) }).map_err(refused)?;
        Ok(Some(Box::new(Copy::from_host(&self.waits))))
    }

    unsafe fn begin_read(
        &self,
        stream: u32,
        address: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        let (_guard, stream) =
            self.begin_in(stream, || MemoryAccess::copy(address, to as u64, bytes as u64))?;
        let mut landing = vec![0; bytes];
        stream.read(address, &mut landing).map_err(refused)?;
        // SAFETY: guaranteed by the caller: there are that many bytes, which are not accessed before the copy
        // is waited for.
        Ok(Some(Box::new(unsafe { Copy::to_host(&self.waits, &self.landings, to, landing) })))
    }

    unsafe fn zero(&self, stream: u32, address: u64, bytes: u64) -> Result<(), DeviceError> {
        let (_guard, stream) = self.begin_in(stream, || [MemoryAccess::write(address, bytes)])?;
        stream.fill(address, bytes, 0).map_err(refused)
    }

    unsafe fn store(&self, stream: u32, address: u64, word: u32) -> Result<(), DeviceError> {
        let (_guard, stream) = self.begin_in(stream, || [MemoryAccess::write(address, 4)])?;
        stream.write(address, &word.to_ne_bytes()).map_err(refused)
    }

    unsafe fn copy(&self, stream: u32, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        let (_guard, stream) = self.begin_in(stream, || MemoryAccess::copy(from, to, bytes))?;
        stream.copy(from, to, bytes).map_err(refused)
    }

    #[cfg(feature = "lab")]
    fn inject_failure(&self, calls: Option<u64>) {
        let _guard = self.streams.lock();
        self.until_failure.store(calls.map_or(0, |calls| calls.saturating_add(1)), Relaxed);
    }

    #[cfg(feature = "lab")]
    fn waits(&self) -> u64 {
        self.waits.load(Relaxed)
    }

    #[cfg(feature = "lab")]
    fn injected_failure(&self) -> Option<u64> {
        let _guard = self.streams.lock();
        self.until_failure.load(Relaxed).checked_sub(1)
    }

    unsafe fn launch(
        &self,
        stream: u32,
        kernel: &'static KernelInfo,
        grid: u32,
        shared: SharedMemory,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let accesses = || MemoryAccess::of_launch(kernel, arguments);
        let (_guard, stream) = self.begin_in(stream, accesses)?;
        let simulation = self.simulations.read().get(kernel.name).copied();
        let Some(simulation) = simulation else {
            let reason = "neither the library nor the program has such a kernel".into();
            return Err(DeviceError::Launch { device: NAME.into(), kernel: kernel.name, reason });
        };
        stream.launch(kernel, simulation, grid, shared.dynamic_bytes, arguments).map_err(|fault| {
            if let FaultKind::GridSize { .. }
            | FaultKind::BlockSize { .. }
            | FaultKind::SharedMemory { .. }
            | FaultKind::Arguments { .. } = fault.kind
            {
                let reason = fault.kind.to_string();
                return DeviceError::Launch { device: NAME.into(), kernel: kernel.name, reason };
            }
            let reason = fault.to_string();
            // The streams are locked, so this is the first fault.
            let _ = self.fault.set((kernel.name, fault));
            DeviceError::KernelFault { device: NAME.into(), kernels: vec![kernel.name], reason }
        })
    }

    fn add_kernels(&self, kernels: OwnKernels<'_>) -> Result<(), DeviceError> {
        let names = kernels.instances.iter().map(|instance| instance.name);
        self.simulations.write().extend(names.zip(kernels.simulations.iter().copied()));
        Ok(())
    }

    fn resident_blocks(&self, _: &'static KernelInfo, _: u32) -> Result<u32, DeviceError> {
        // One block per CPU thread; more are in flight if they wait for each other.
        Ok(self.threads)
    }

    fn synchronize(&self, _: Option<u32>) -> Result<(), DeviceError> {
        let _guard = self.begin()?;
        self.waits.fetch_add(1, Relaxed);
        Ok(())
    }

    fn checks_captures(&self) -> bool {
        true
    }

    fn record(&self, _: u32) -> Result<Moment, DeviceError> {
        self.begin().map(|_| Moment::Host(Instant::now()))
    }
}
