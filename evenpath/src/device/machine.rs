//! Interface between the device layer and a GPU, real or simulated.

use std::ffi::c_void;
use std::time::Instant;

use evenpath_simt::kernel::{Argument, KernelInfo};

use super::error::DeviceError;
use super::kernels::{Kernels, OwnKernels};
use super::node::GraphNode;
use super::order::MemoryAccess;
use super::properties::DeviceProperties;
use super::shared::SharedMemory;

/// A machine with its own memory that runs kernels. Operations on one stream run in order; operations on
/// several streams are ordered if they access the same memory, unless both only read. Stream 0 always exists.
///
/// # Safety
///
/// The unsafe functions have the same condition: ranges of addresses lie inside live blocks that
/// [`allocate`](Self::allocate) of this machine returned.
pub(crate) trait Machine: Send + Sync {
    fn properties(&self) -> &DeviceProperties;

    /// Returns free and total bytes of memory.
    fn memory(&self) -> Result<(u64, u64), DeviceError>;

    /// Allocates at least `bytes` bytes, at least one, aligned to 256. The contents are arbitrary.
    fn allocate(&self, bytes: u64) -> Result<MemoryBlock, DeviceError>;

    /// Returns an unused stream, to be given back. Work on an urgent stream has priority over others, if the
    /// machine supports this.
    fn take_stream(&self, is_urgent: bool) -> Result<u32, DeviceError>;

    /// Takes back an unused stream. Its pending work still completes.
    fn give_back_stream(&self, stream: u32);

    /// Adds a foreign stream, to be given back; `None` if the machine has none.
    unsafe fn take_foreign_stream(&self, _stream: *mut c_void) -> Result<Option<u32>, DeviceError> {
        Ok(None)
    }

    /// Returns the driver's handle of a stream, if there is a driver.
    fn raw_stream(&self, _stream: u32) -> Result<Option<*mut c_void>, DeviceError> {
        Ok(None)
    }

    /// Returns the driver's handle of the context, and if it is the primary one; `None` without a driver.
    fn raw_context(&self) -> Result<Option<(*mut c_void, bool)>, DeviceError> {
        Ok(None)
    }

    /// Lets other code put work on a stream, given by the driver's handle, or null without a driver; the
    /// context is current meanwhile. Like any operation, the work comes after operations of other streams on
    /// the same memory.
    fn put_foreign(
        &self,
        _stream: u32,
        _accesses: &[MemoryAccess],
        put: &mut dyn FnMut(*mut c_void),
    ) -> Result<(), DeviceError> {
        put(std::ptr::null_mut());
        Ok(())
    }

    /// Returns the reason why foreign memory at an address cannot be used, as far as the machine can tell.
    fn refuses_address(&self, _address: u64) -> Result<Option<String>, DeviceError> {
        Ok(None)
    }

    /// Frees a block once all work that was launched before is done. Never fails: a machine that is lost has
    /// freed everything.
    unsafe fn free(&self, block: MemoryBlock);

    /// Copies from the host and waits for the copy.
    unsafe fn write(&self, stream: u32, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Waits for all earlier work in its stream, then copies to the host.
    unsafe fn read(&self, stream: u32, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Starts copying from the host and does not wait. Returns the transfer to wait for, if any. The bytes
    /// are in [pinned](Self::pin) memory and do not change until then.
    unsafe fn begin_write(
        &self,
        stream: u32,
        address: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError>;

    /// Starts copying to the host, like [`begin_write`](Self::begin_write). The bytes are not accessed until
    /// then.
    unsafe fn begin_read(
        &self,
        stream: u32,
        address: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError>;

    /// Page-locks host memory: whole pages, to be unlocked before they are freed.
    unsafe fn pin(&self, _first: *mut u8, _bytes: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Unlocks memory that [`pin`](Self::pin) locked at the same address.
    unsafe fn unpin(&self, _first: *mut u8) {}

    /// Creates a mailbox; `None` if the host cannot read a kernel's stores while it runs.
    fn mailbox(&self) -> Result<Option<Box<dyn Mailbox>>, DeviceError> {
        Ok(None)
    }

    /// Sets bytes to zero.
    unsafe fn zero(&self, stream: u32, address: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Stores a word at an address that is a multiple of four. Does not wait for it.
    unsafe fn store(&self, stream: u32, address: u64, word: u32) -> Result<(), DeviceError>;

    /// Copies within the machine; the ranges do not overlap.
    unsafe fn copy(&self, stream: u32, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Launches a kernel over `grid` blocks, at least one. The arguments match the kernel's parameters in
    /// number and kind, and views are of live blocks.
    unsafe fn launch(
        &self,
        stream: u32,
        kernel: &'static KernelInfo,
        grid: u32,
        shared: SharedMemory,
        arguments: &[Argument],
    ) -> Result<(), DeviceError>;

    /// Compiles the kernels of a list ahead of their launches, once. If a kernel does not compile, its launch
    /// returns the error.
    fn prepare(&self, _list: fn() -> Kernels) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Adds a program's own kernels, to be launched later.
    fn add_kernels(&self, kernels: OwnKernels<'_>) -> Result<(), DeviceError>;

    /// Number of blocks of a kernel, each with `dynamic_shared` bytes of dynamic shared memory, that the
    /// machine runs at once.
    fn resident_blocks(&self, kernel: &'static KernelInfo, dynamic_shared: u32) -> Result<u32, DeviceError>;

    /// Creates an executable that launches all of these operations in order; `None` if the machine does not
    /// support this.
    ///
    /// The kernels' arguments are as for [`launch`](Self::launch).
    unsafe fn instantiate(&self, _nodes: &[GraphNode]) -> Result<Option<Box<dyn Executable>>, DeviceError> {
        Ok(None)
    }

    /// Returns whether captures are searched for addresses of memory that they do not keep.
    fn checks_captures(&self) -> bool {
        cfg!(debug_assertions)
    }

    /// Waits for all work in a stream, or in all streams.
    fn synchronize(&self, stream: Option<u32>) -> Result<(), DeviceError>;

    /// Marks the current position in a stream.
    fn record(&self, stream: u32) -> Result<Moment, DeviceError>;

    /// Makes the call after `calls` others fail; `None` cancels this. Only simulated machines support it.
    #[cfg(feature = "lab")]
    fn inject_failure(&self, _calls: Option<u64>) {}

    /// Number of calls that have waited for the machine, if it counts them.
    #[cfg(feature = "lab")]
    fn waits(&self) -> u64 {
        0
    }

    /// Number of calls before the one that will fail, if any.
    #[cfg(feature = "lab")]
    fn injected_failure(&self) -> Option<u64> {
        None
    }
}

/// Operations that are launched together.
pub(crate) trait Executable: Send {
    /// Launches the operations in a stream, with the same effect as one by one. They access the given memory.
    ///
    /// # Safety
    ///
    /// All memory of the operations is live.
    unsafe fn launch(&self, stream: u32, accesses: &[MemoryAccess]) -> Result<(), DeviceError>;

    /// Replaces the operations' arguments. Returns `false` if they differ by more than arguments, or this is
    /// not supported.
    ///
    /// # Safety
    ///
    /// The same as for [`Machine::instantiate`].
    unsafe fn update(&mut self, nodes: &[GraphNode]) -> Result<bool, DeviceError>;
}

/// A copy between host and machine that may be in progress.
pub(crate) trait Transfer: Send + Sync {
    /// Waits for the copy. If that fails, the machine no longer accesses the host's memory.
    fn wait(&self) -> Result<(), DeviceError>;

    /// Returns whether the copy is complete.
    fn is_done(&self) -> bool;
}

/// Host memory for numbers below 2⁶⁴ − 1 that kernels send to the host before they end.
pub(crate) trait Mailbox: Send {
    /// Address of the [`MAILBOX_WORDS`] words, for kernels.
    fn address(&self) -> u64;

    /// Empties the mailbox. No kernel that stores to it is running.
    fn empty(&mut self) -> Result<(), DeviceError>;

    /// Waits for the first words, which a kernel in the stream stores, and takes them.
    fn wait(&mut self, stream: u32, numbers: &mut [u64]) -> Result<(), DeviceError>;
}

/// Number of words in a [`Mailbox`].
pub(crate) const MAILBOX_WORDS: usize = 2;

/// A block of a machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryBlock {
    pub(crate) address: u64,
    /// Allocated size, at least the requested size.
    pub(crate) bytes: u64,
}

/// A mark in a stream, with the time when the device reached it.
pub(crate) enum Moment {
    /// For devices that have completed all earlier work when a call returns.
    Host(Instant),
    /// For a device that records the time itself.
    #[cfg(feature = "cuda")]
    Stream(Box<dyn StreamMark>),
}

/// A mark in a device's stream.
#[cfg(feature = "cuda")]
pub(crate) trait StreamMark: std::any::Any + Send + Sync {
    /// Returns the milliseconds from `earlier` to this mark, waiting for both. `None` if the marks are of
    /// different kinds of devices.
    fn elapsed_since(&self, earlier: &dyn StreamMark) -> Option<Result<f64, DeviceError>>;

    /// Returns whether the device has reached the mark.
    fn is_done(&self) -> Result<bool, DeviceError>;
}
