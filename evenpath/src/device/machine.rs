//! What a GPU, real or simulated, does for the device layer.

use std::ffi::c_void;
use std::time::Instant;

use evenpath_simt::kernel::{Argument, KernelInfo};

use super::error::DeviceError;
use super::kernels::{Kernels, OwnKernels};
use super::node::Node;
use super::order::Access;
use super::properties::DeviceProperties;
use super::shared::SharedMemory;

/// A machine with memory of its own that runs kernels. What is asked of one stream happens in the order in which it is asked; of what
/// is asked of several, accesses to the same memory do, unless both read. Stream 0 is there from the beginning.
///
/// # Safety
///
/// The unsafe functions ask the same of their callers: ranges of addresses lie inside blocks that
/// [`allocate`](Self::allocate) of this machine returned and that are not freed.
pub(crate) trait Machine: Send + Sync {
    fn properties(&self) -> &DeviceProperties;

    /// Free and total bytes of memory.
    fn memory(&self) -> Result<(u64, u64), DeviceError>;

    /// A block of at least `bytes` bytes, more than none, aligned to 256. What it holds is arbitrary.
    fn allocate(&self, bytes: u64) -> Result<Block, DeviceError>;

    /// A stream of its own, to be given back. What is put on one that is urgent goes before what is on others, where the machine can.
    fn take_stream(&self, is_urgent: bool) -> Result<u32, DeviceError>;

    /// Takes back a stream that is no longer used. What was asked of it still happens.
    fn give_back_stream(&self, stream: u32);

    /// A stream that other code made, to be given back; `None` where there are none.
    unsafe fn take_foreign_stream(&self, _stream: *mut c_void) -> Result<Option<u32>, DeviceError> {
        Ok(None)
    }

    /// The driver's name of a stream, where there is a driver.
    fn raw_stream(&self, _stream: u32) -> Result<Option<*mut c_void>, DeviceError> {
        Ok(None)
    }

    /// The driver's name of the context, and whether it is the primary one, where there is a driver.
    fn raw_context(&self) -> Result<Option<(*mut c_void, bool)>, DeviceError> {
        Ok(None)
    }

    /// Has other code put work on a stream, whose name of the driver it gets, or null where there is no driver; the context is current
    /// meanwhile. The work comes after operations of other streams with the same memory, as any operation does.
    fn put_foreign(
        &self,
        _stream: u32,
        _accesses: &[Access],
        put: &mut dyn FnMut(*mut c_void),
    ) -> Result<(), DeviceError> {
        put(std::ptr::null_mut());
        Ok(())
    }

    /// Why memory of other code at an address cannot be used, as far as the machine can tell.
    fn refuses_address(&self, _address: u64) -> Result<Option<String>, DeviceError> {
        Ok(None)
    }

    /// Gives a block back; work that was launched before still has it. Never fails: a machine that is lost has freed
    /// everything.
    unsafe fn free(&self, block: Block);

    /// Copies from the host and waits for it.
    unsafe fn write(&self, stream: u32, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Waits for everything before it in its stream, then copies to the host.
    unsafe fn read(&self, stream: u32, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Begins to copy from the host, and does not wait for it; what is to be waited for, if anything. The bytes are of memory that
    /// is [pinned](Self::pin), and stay as they are until then.
    unsafe fn begin_write(
        &self,
        stream: u32,
        address: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError>;

    /// Begins to copy to the host, as [`begin_write`](Self::begin_write). The bytes are not used otherwise until then.
    unsafe fn begin_read(
        &self,
        stream: u32,
        address: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError>;

    /// Page-locks memory of the host, whole pages that are unlocked before they are freed.
    unsafe fn pin(&self, _first: *mut u8, _bytes: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Unlocks what [`pin`](Self::pin) locked; the same address.
    unsafe fn unpin(&self, _first: *mut u8) {}

    /// A mailbox of the caller's own; `None` where the host cannot read what a kernel stores while it runs.
    fn mailbox(&self) -> Result<Option<Box<dyn Mailbox>>, DeviceError> {
        Ok(None)
    }

    /// Sets bytes to zero.
    unsafe fn zero(&self, stream: u32, address: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Stores a word at an address that is a multiple of four. Does not wait for it.
    unsafe fn store(&self, stream: u32, address: u64, word: u32) -> Result<(), DeviceError>;

    /// Copies within the machine; the ranges do not overlap.
    unsafe fn copy(&self, stream: u32, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Launches a kernel over `grid` blocks, more than none. The arguments are as many as the kernel's parameters and
    /// of their kinds, and views among them are of live blocks.
    unsafe fn launch(
        &self,
        stream: u32,
        kernel: &'static KernelInfo,
        grid: u32,
        shared: SharedMemory,
        arguments: &[Argument],
    ) -> Result<(), DeviceError>;

    /// Compiles the kernels of a list ahead of their launches, once. The launch of a kernel that does not compile says why.
    fn prepare(&self, _list: fn() -> Kernels) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Takes kernels of the program's own, to launch them later.
    fn add_kernels(&self, kernels: OwnKernels<'_>) -> Result<(), DeviceError>;

    /// Blocks of a kernel, each with `dynamic_shared` bytes of launch-sized shared memory, that the machine runs at once.
    fn resident_blocks(&self, kernel: &'static KernelInfo, dynamic_shared: u32) -> Result<u32, DeviceError>;

    /// Makes what launches all of these operations at once, in their order; `None` where the machine has no such thing.
    ///
    /// The kernels' arguments are as for [`launch`](Self::launch).
    unsafe fn instantiate(&self, _nodes: &[Node]) -> Result<Option<Box<dyn Executable>>, DeviceError> {
        Ok(None)
    }

    /// Whether captures are searched for addresses of memory that they do not keep.
    fn checks_captures(&self) -> bool {
        cfg!(debug_assertions)
    }

    /// Waits for everything in a stream, or in all.
    fn synchronize(&self, stream: Option<u32>) -> Result<(), DeviceError>;

    /// Marks this place in a stream.
    fn record(&self, stream: u32) -> Result<Moment, DeviceError>;

    /// Has a later call fail, the one that comes after so many others; none with `None`. Machines that fail by themselves
    /// alone do nothing.
    fn inject_failure(&self, _calls: Option<u64>) {}

    /// How often a call has waited for the machine, where it counts that.
    fn waits(&self) -> u64 {
        0
    }

    /// How many calls come before the one that is to fail, if there is one.
    fn injected_failure(&self) -> Option<u64> {
        None
    }
}

/// Operations of a machine that are launched at once.
pub(crate) trait Executable: Send {
    /// Launches them in a stream, which they leave as if launched one by one. They access memory as given.
    ///
    /// # Safety
    ///
    /// All memory of the operations is live.
    unsafe fn launch(&self, stream: u32, accesses: &[Access]) -> Result<(), DeviceError>;

    /// Replaces the operations' arguments; `false` if the operations differ by more, or this cannot be done.
    ///
    /// # Safety
    ///
    /// As for [`Machine::instantiate`].
    unsafe fn update(&mut self, nodes: &[Node]) -> Result<bool, DeviceError>;
}

/// A copy between host and machine that may be under way.
pub(crate) trait Transfer: Send + Sync {
    /// Waits for it. If that fails, the machine touches the host's memory no more.
    fn wait(&self) -> Result<(), DeviceError>;

    /// Whether it need not be waited for.
    fn is_done(&self) -> bool;
}

/// Memory of the host in which kernels store numbers below 2⁶⁴ − 1, and where the host finds them before the kernel ends.
pub(crate) trait Mailbox: Send {
    /// The address for kernels, of [`MAILBOX_WORDS`] words.
    fn address(&self) -> u64;

    /// Empties it. No kernel that stores in it runs.
    fn empty(&mut self) -> Result<(), DeviceError>;

    /// Waits for the first words, which a kernel in the stream stores, and takes them out.
    fn wait(&mut self, stream: u32, numbers: &mut [u64]) -> Result<(), DeviceError>;
}

/// Words of a [`Mailbox`].
pub(crate) const MAILBOX_WORDS: usize = 2;

/// Memory of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) address: u64,
    /// What the machine set aside: at least what was asked for.
    pub(crate) bytes: u64,
}

/// A place in a stream, and the time when the device got there.
pub(crate) enum Moment {
    /// On devices that have finished all earlier work when a call returns.
    Host(Instant),
    /// In a stream of a device that keeps the time.
    #[cfg(feature = "cuda")]
    Stream(Box<dyn StreamMark>),
}

/// A place in a device's stream.
#[cfg(feature = "cuda")]
pub(crate) trait StreamMark: std::any::Any + Send + Sync {
    /// Milliseconds from `earlier` to this mark; waits for both. `None` if the marks are of different kinds of devices.
    fn elapsed_since(&self, earlier: &dyn StreamMark) -> Option<Result<f64, DeviceError>>;

    /// Whether the device has come there.
    fn is_done(&self) -> Result<bool, DeviceError>;
}
