//! Streams: what a device may do side by side.

use std::cell::Cell;

use super::error::DeviceError;
use super::handle::{Backend, Device};

/// A stream of a device: a queue of work. Work of different streams may run at the same time.
///
/// [`scope`](Self::scope) puts what a function asks of the device on the stream: allocations, copies, plans, products, everything.
/// Outside of it work goes to the stream that the device begins with.
///
/// What streams do to the same memory happens in the order in which it was asked for, unless both only read: the device notes what
/// each operation reads and writes, and has streams wait for each other where they must. So a program that puts parts of its work on
/// streams computes what it computed without them. The host waits as ever: where it gets data, and where it gives data from memory
/// that is not pinned.
///
/// On the CPU and the simulated GPU, an operation is done when its call returns; streams change nothing. The simulated GPU also
/// reports accesses to the same memory that the streams do not order, such as those of a program's own kernel that gets addresses
/// by other ways than its views.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let stream = device.stream()?;
/// let x = device.upload(&[1.0, 2.0])?;
/// let mut y = device.zeros(2)?;
/// stream.scope(|| vector::axpby(2.0, &x, 0.0, &mut y))?; // may run beside what is asked for next
/// let z = device.upload(&[5.0, 6.0])?;
/// vector::axpby(1.0, &z, 1.0, &mut y)?; // waits for the stream, since it reads y
/// assert_eq!(y.download()?, [7.0, 10.0]);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    device: Device,
    number: u32,
}

thread_local! {
    /// The innermost scope that this thread is in, or null. A pointer has no destructor, so it is there until the thread ends, also for
    /// the destructors of other thread-locals.
    static INNERMOST: Cell<*const Scope> = const { Cell::new(std::ptr::null()) };
}

/// A scope, which lies in the stack frame of [`Stream::scope`]. Ends when it is dropped, also by a panic.
struct Scope {
    /// The number of the device object.
    device: u64,
    stream: u32,
    outer: *const Scope,
}

impl Drop for Scope {
    fn drop(&mut self) {
        INNERMOST.set(self.outer);
    }
}

impl Device {
    /// A stream of its own beside the one that the device begins with. What was asked of the device before, in whatever stream, comes
    /// before what is asked of this one. When it is dropped, what was asked of it still happens.
    ///
    /// # Errors
    ///
    /// If the device was lost, or the driver refuses.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        self.take_stream(false)
    }

    /// A [`stream`](Self::stream) whose work a GPU begins before that of others: of kernels that wait for a multiprocessor, those of this
    /// stream come first, with the highest priority that the driver has. For short work that others wait for, such as an exchange
    /// beside a long product. Nothing else differs, and results do not.
    ///
    /// # Errors
    ///
    /// As for [`stream`](Self::stream).
    pub fn urgent_stream(&self) -> Result<Stream, DeviceError> {
        self.take_stream(true)
    }

    fn take_stream(&self, is_urgent: bool) -> Result<Stream, DeviceError> {
        let number = match self.backend() {
            Backend::Cpu => 0,
            Backend::Machine(machine) => machine.take_stream(is_urgent)?,
        };
        Ok(Stream::of_number(self, number))
    }

    /// Waits until the device has done everything it was asked to.
    ///
    /// # Errors
    ///
    /// If a kernel made a mistake, now or earlier.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.refuse_in_graph("the host waits for the device")?;
        match &self.shared.backend {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.synchronize(None),
        }
    }

    /// The stream that the calling thread puts work on.
    pub(super) fn stream_number(&self) -> u32 {
        let number = self.shared.number;
        let mut innermost = INNERMOST.get();
        // SAFETY: each scope is in a frame below this one, and takes itself out before it ends.
        while let Some(scope) = unsafe { innermost.as_ref() } {
            if scope.device == number {
                return scope.stream;
            }
            innermost = scope.outer;
        }
        0
    }
}

impl Stream {
    /// The stream of a number, to be given back.
    pub(super) fn of_number(device: &Device, number: u32) -> Self {
        Self { device: device.clone(), number }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs `body`. What it asks of the device in this thread is put on the stream; what it asks of other devices, or in other threads,
    /// is not. Scopes of several streams may lie within each other: the innermost of a device counts.
    pub fn scope<R>(&self, body: impl FnOnce() -> R) -> R {
        let (device, stream) = (self.device.shared.number, self.number);
        let scope = Scope { device, stream, outer: INNERMOST.get() };
        INNERMOST.set(&raw const scope);
        body()
    }

    /// Waits until everything that was asked of the stream is done. [`Device::synchronize`] waits for all streams.
    ///
    /// # Errors
    ///
    /// If a kernel made a mistake, now or earlier.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.device.refuse_in_graph("the host waits for a stream")?;
        match self.device.backend() {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.synchronize(Some(self.number)),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Backend::Machine(machine) = self.device.backend() {
            machine.give_back_stream(self.number);
        }
    }
}
