//! An NVIDIA GPU as a machine that runs kernels.

use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::Arc;

use cust::sys::{self, CUpointer_attribute, CUresult, CUstream};
use evenpath_simt::kernel::{Argument, KernelInfo};
use parking_lot::Mutex;

use super::cache::Cache;
use super::context::{ContextKind, Core, Live, Mark, allocate, free};
use super::driver::{self, CallError, check_raw};
use super::entry::{self, Mismatch};
use super::fault::GpuRecord;
use super::graph;
use super::landing::LANDING_BYTES;
use super::mailbox::PinnedMailbox;
use super::module::{Modules, PROGRAM};
use super::parameters::{ParameterBytes, launch};
use super::properties::{describe, find, memory_info};
use super::ptx::Ptx;
use crate::device::error::{DeviceError, Version};
use crate::device::kernels::{Kernels, OwnKernels};
use crate::device::machine::{Executable, Machine, Mailbox, MemoryBlock, Moment, Transfer};
use crate::device::node::GraphNode;
use crate::device::order::MemoryAccess;
use crate::device::properties::DeviceProperties;
use crate::device::shared::SharedMemory;

/// An NVIDIA GPU with a context of its own.
pub(in crate::device) struct Cuda {
    pub(super) core: Arc<Core>,
    properties: DeviceProperties,
    memory_bytes: u64,
    max_shared_bytes: u32,
    /// Kernel lists that were compiled, by the address of their function.
    prepared: Mutex<HashSet<usize>>,
}

impl Cuda {
    pub(in crate::device) fn new(ordinal: u32, kind: ContextKind) -> Result<Self, DeviceError> {
        driver::load().map_err(|reason| DeviceError::NoDriver { reason: reason.to_owned() })?;
        let record = GpuRecord::of(ordinal);
        record.check()?;
        let label = format!("cuda:{ordinal}");
        let gpu = find(ordinal).map_err(|failure| record.refusal(&label, failure))?;
        let properties = describe(gpu).map_err(|error| record.refusal(&label, error.into()))?;
        let label = format!("{label} ({})", properties.name);
        let ptx = Ptx::for_gpu(&label, properties.compute_capability.unwrap_or_default())?;
        let modules = Modules::new(ptx, properties.driver.unwrap_or(Version { major: 0, minor: 0 }));
        let memory_bytes = properties.memory_bytes.unwrap_or_default();
        let cache = Cache::new(memory_bytes / 4);
        let live =
            Live::new(gpu, kind, modules, cache).map_err(|error| record.refusal(&label, error.into()))?;
        let core = Arc::new(Core::new(label, record, live));
        let max_shared_bytes = properties.max_shared_bytes.unwrap_or_default();
        Ok(Self { core, properties, memory_bytes, max_shared_bytes, prepared: Mutex::default() })
    }

    fn out_of_memory(&self, requested: u64, free: u64) -> DeviceError {
        let (device, total) = (self.core.label.clone(), self.memory_bytes);
        DeviceError::OutOfMemory { device, requested, free, total }
    }

    /// Puts a copy of this source, destination and size on a stream through `put`. Returns the transfer to
    /// wait for.
    fn begin_copy(
        &self,
        stream: u32,
        (from, to, bytes): (u64, u64, usize),
        put: impl FnOnce(CUstream) -> Result<(), CallError>,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        self.core.with(|live| {
            live.streams.enqueue(stream, || MemoryAccess::copy(from, to, bytes as u64), put)?;
            Ok(Some(Box::new(Mark::after_copy(&self.core, live, stream)?) as Box<dyn Transfer>))
        })
    }
}

impl Machine for Cuda {
    fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    fn memory(&self) -> Result<(u64, u64), DeviceError> {
        self.core.with(|live| {
            let (free, total) = memory_info()?;
            Ok((free + live.cache.lock().bytes(), total))
        })
    }

    fn allocate(&self, bytes: u64) -> Result<MemoryBlock, DeviceError> {
        self.core.with_live(|live| {
            let mut cache = live.cache.lock();
            if let Some(block) = cache.take(bytes) {
                return Ok(block);
            }
            let _current = live.enter()?;
            let rounded = Cache::round(bytes);
            if rounded > self.memory_bytes {
                return Err(self.out_of_memory(bytes, memory_info()?.0 + cache.bytes()).into());
            }
            let is_out_of_memory =
                |error: &CallError| error.code == CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32;
            let address = match allocate(rounded) {
                Err(error) if is_out_of_memory(&error) => {
                    cache.drain().into_iter().for_each(free);
                    match allocate(rounded) {
                        Err(error) if is_out_of_memory(&error) => {
                            return Err(self.out_of_memory(bytes, memory_info()?.0).into());
                        }
                        other => other?,
                    }
                }
                other => other?,
            };
            Ok(MemoryBlock { address, bytes: rounded })
        })
    }

    unsafe fn take_foreign_stream(&self, stream: *mut c_void) -> Result<Option<u32>, DeviceError> {
        // SAFETY: guaranteed by the caller.
        self.core.with_exclusive(|live| unsafe { live.streams.take_foreign(stream.cast()) }).map(Some)
    }

    fn raw_stream(&self, stream: u32) -> Result<Option<*mut c_void>, DeviceError> {
        self.core.with(|live| Ok(Some(live.streams.queue(stream).handle().cast())))
    }

    fn raw_context(&self) -> Result<Option<(*mut c_void, bool)>, DeviceError> {
        self.core.with(|live| {
            let (context, kind) = live.context();
            Ok(Some((context.cast(), kind == ContextKind::Primary)))
        })
    }

    fn put_foreign(
        &self,
        stream: u32,
        accesses: &[MemoryAccess],
        put: &mut dyn FnMut(*mut c_void),
    ) -> Result<(), DeviceError> {
        self.core.with(|live| {
            live.streams.enqueue(
                stream,
                || accesses,
                |to| {
                    put(to.cast());
                    Ok(())
                },
            )?;
            Ok(())
        })
    }

    fn refuses_address(&self, address: u64) -> Result<Option<String>, DeviceError> {
        self.core.with(|live| {
            let own = live.context().0;
            let mut context = std::ptr::null_mut::<c_void>();
            // SAFETY: the attribute is a context, and the output has room for one.
            let result = unsafe {
                sys::cuPointerGetAttribute(
                    (&raw mut context).cast(),
                    CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT,
                    address,
                )
            };
            // Memory of a pool belongs to no context.
            Ok(match result {
                CUresult::CUDA_SUCCESS if context.is_null() || context == own.cast() => None,
                CUresult::CUDA_SUCCESS => Some("it is of another context; see `Device::cuda_primary`".into()),
                CUresult::CUDA_ERROR_INVALID_VALUE => Some("the driver does not know it".into()),
                other => {
                    check_raw("cuPointerGetAttribute", other)?;
                    None
                }
            })
        })
    }

    unsafe fn free(&self, block: MemoryBlock) {
        self.core.release(|live| {
            let evicted = live.cache.lock().put(block);
            if !evicted.is_empty()
                && let Ok(_current) = live.enter()
            {
                for block in evicted {
                    free(block.address);
                }
            }
        });
    }

    fn take_stream(&self, is_urgent: bool) -> Result<u32, DeviceError> {
        self.core.with_exclusive(|live| live.streams.take(is_urgent))
    }

    fn give_back_stream(&self, stream: u32) {
        self.core.release(|live| {
            // If a context cannot be made current, it and its streams are lost.
            if let Ok(_current) = live.enter() {
                live.streams.give_back(stream);
            }
        });
    }

    unsafe fn write(&self, stream: u32, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.core.with(|live| {
            // SAFETY: the caller guarantees the range. The slice is borrowed until the copy is done: the next
            // line waits for it, and if that fails the context is destroyed before this function returns.
            let copy =
                |to| unsafe { sys::cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), to) };
            let access = || [MemoryAccess::write(address, bytes.len() as u64)];
            live.streams.enqueue(stream, access, |to| check_raw("cuMemcpyHtoD", copy(to)))?;
            self.core.wait(live, stream)
        })
    }

    unsafe fn read(&self, stream: u32, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.core.with(|live| {
            let (own, len) = (bytes.as_mut_ptr(), bytes.len());
            let copy = |to| {
                let access = || [MemoryAccess::read(address, len as u64)];
                live.streams.enqueue(stream, access, |from| {
                    // SAFETY: as for `write`; `to` has that many bytes, which are not read before the wait.
                    check_raw("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoHAsync_v2(to, address, len, from) })
                })
            };
            if len > LANDING_BYTES {
                copy(own.cast())?;
                return self.core.wait(live, stream);
            }
            let queue = live.streams.queue(stream);
            let mut landing = queue.landing.lock();
            copy(landing.address())?;
            self.core.wait(live, stream)?;
            landing.take(bytes);
            Ok(())
        })
    }

    unsafe fn begin_write(
        &self,
        stream: u32,
        address: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        self.begin_copy(stream, (from as u64, address, bytes), |to| {
            // SAFETY: the caller guarantees both ranges, and that the bytes stay until the copy is waited
            // for.
            let result = unsafe { sys::cuMemcpyHtoDAsync_v2(address, from.cast(), bytes, to) };
            check_raw("cuMemcpyHtoDAsync", result)
        })
    }

    unsafe fn begin_read(
        &self,
        stream: u32,
        address: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        self.begin_copy(stream, (address, to as u64, bytes), |from| {
            // SAFETY: as for `begin_write`.
            let result = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), address, bytes, from) };
            check_raw("cuMemcpyDtoHAsync", result)
        })
    }

    unsafe fn pin(&self, first: *mut u8, bytes: usize) -> Result<(), DeviceError> {
        self.core.with(|_| {
            // SAFETY: the caller guarantees the memory.
            let result = unsafe { sys::cuMemHostRegister_v2(first.cast(), bytes, 0) };
            Ok(check_raw("cuMemHostRegister", result)?)
        })
    }

    unsafe fn unpin(&self, first: *mut u8) {
        self.core.release(|live| {
            if let Ok(_current) = live.enter() {
                // SAFETY: the caller guarantees the address. The end of a context unlocks its memory too.
                unsafe { sys::cuMemHostUnregister(first.cast()) };
            }
        });
    }

    fn mailbox(&self) -> Result<Option<Box<dyn Mailbox>>, DeviceError> {
        Ok(Some(Box::new(PinnedMailbox::new(&self.core)?)))
    }

    unsafe fn zero(&self, stream: u32, address: u64, bytes: u64) -> Result<(), DeviceError> {
        self.core.with(|live| {
            let access = || [MemoryAccess::write(address, bytes)];
            Ok(live.streams.enqueue(stream, access, |to| {
                // SAFETY: the caller guarantees the range.
                check_raw("cuMemsetD8", unsafe { sys::cuMemsetD8Async(address, 0, bytes as usize, to) })
            })?)
        })
    }

    unsafe fn store(&self, stream: u32, address: u64, word: u32) -> Result<(), DeviceError> {
        self.core.with(|live| {
            let access = || [MemoryAccess::write(address, 4)];
            Ok(live.streams.enqueue(stream, access, |to| {
                // SAFETY: the caller guarantees the word.
                check_raw("cuMemsetD32", unsafe { sys::cuMemsetD32Async(address, word, 1, to) })
            })?)
        })
    }

    unsafe fn copy(&self, stream: u32, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.core.with(|live| {
            let accesses = || MemoryAccess::copy(from, to, bytes);
            Ok(live.streams.enqueue(stream, accesses, |stream| {
                // SAFETY: the caller guarantees the ranges.
                let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream) };
                check_raw("cuMemcpyDtoD", result)
            })?)
        })
    }

    unsafe fn launch(
        &self,
        stream: u32,
        kernel: &'static KernelInfo,
        grid: u32,
        shared: SharedMemory,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let bytes = u64::from(kernel.shared_bytes) + u64::from(shared.dynamic_bytes);
        if bytes > u64::from(self.max_shared_bytes) {
            let limit = self.max_shared_bytes;
            let reason = format!("{bytes} bytes of shared memory per block exceed the limit of {limit}");
            return Err(DeviceError::Launch { device: self.core.label.clone(), kernel: kernel.name, reason });
        }
        let parameters = ParameterBytes::new(kernel, arguments);
        self.core.with(|live| {
            let function = live.modules.lock().function(kernel, shared)?;
            let size = (grid, kernel.block_size, shared.dynamic_bytes);
            let accesses = || MemoryAccess::of_launch(kernel, arguments);
            Ok(live.streams.enqueue(stream, accesses, |to| {
                // SAFETY: the function is of a module in the current context, and the caller guarantees the
                // arguments.
                self.core
                    .launch(&[kernel.name], stream, || unsafe { launch(function, size, to, &parameters) })
            })?)
        })
    }

    unsafe fn instantiate(&self, nodes: &[GraphNode]) -> Result<Option<Box<dyn Executable>>, DeviceError> {
        // SAFETY: guaranteed by the caller.
        Ok(Some(Box::new(unsafe { graph::Executable::new(&self.core, nodes) }?)))
    }

    fn add_kernels(&self, kernels: OwnKernels<'_>) -> Result<(), DeviceError> {
        let (major, minor) = self.properties.compute_capability.unwrap_or_default();
        let usable = kernels.ptx.iter().filter(|(target, _)| *target <= 10 * major + minor);
        let Some(&(target, text)) = usable.max_by_key(|(target, _)| *target) else {
            return Err(match kernels.ptx.iter().map(|(target, _)| *target).min() {
                Some(oldest) => DeviceError::UnsupportedGpu {
                    device: self.core.label.clone(),
                    capability: (major, minor),
                    oldest,
                },
                None => DeviceError::NoPtx { origin: PROGRAM.into() },
            });
        };
        entry::compare(text, kernels.instances).map_err(|Mismatch { kernel, expected, found }| {
            let location = format!("PTX for sm_{target} of {PROGRAM}");
            DeviceError::EntryMismatch { kernel, location, expected, found }
        })?;
        self.core.with(|live| {
            live.modules.lock().add(kernels.instances, target, text);
            Ok(())
        })
    }

    fn prepare(&self, list: fn() -> Kernels) -> Result<(), DeviceError> {
        // Lists may share an address only if their code, and therefore their kernels, are the same.
        let address = list as usize;
        if self.prepared.lock().contains(&address) {
            return Ok(());
        }
        self.core.with(|live| {
            live.modules.lock().prepare(&list().0);
            Ok(())
        })?;
        self.prepared.lock().insert(address);
        Ok(())
    }

    fn resident_blocks(&self, kernel: &'static KernelInfo, dynamic_shared: u32) -> Result<u32, DeviceError> {
        let blocks = self.core.with(|live| live.modules.lock().resident_blocks(kernel, dynamic_shared))?;
        Ok(blocks * self.properties.multiprocessors)
    }

    fn synchronize(&self, stream: Option<u32>) -> Result<(), DeviceError> {
        self.core.with(|live| match stream {
            Some(stream) => self.core.wait(live, stream),
            None => self.core.wait_for_all(live),
        })
    }

    fn record(&self, stream: u32) -> Result<Moment, DeviceError> {
        Mark::record(&self.core, stream).map(|mark| Moment::Stream(Box::new(mark)))
    }
}
