//! Streams: concurrent work on a device.

use std::cell::Cell;

use super::error::DeviceError;
use super::handle::{Backend, Device};

/// A queue of work on a device. Work of different streams may run concurrently.
///
/// [`scope`](Self::scope) puts all work of a function on the stream: allocations, copies, plans, products.
/// Outside of a scope, work goes to the device's first stream.
///
/// Accesses of several streams to the same memory happen in the order of the calls, unless both only read:
/// the device records the memory that each operation reads and writes, and makes streams wait for each other
/// where necessary. A program that moves parts of its work to streams therefore computes the same results.
/// The host waits as before: when it reads data, and when it copies data from memory that is not pinned.
///
/// On the CPU and the simulated GPU, an operation is complete when its call returns; streams change nothing.
/// The simulated GPU also reports unordered accesses of several streams to the same memory, such as those of
/// a program's own kernel that gets addresses by other means than its views.
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
    /// Innermost scope of this thread, or null. A pointer has no destructor, so it stays valid until the
    /// thread ends, also for destructors of other thread-locals.
    static INNERMOST: Cell<*const Scope> = const { Cell::new(std::ptr::null()) };
}

/// A scope in the stack frame of [`Stream::scope`]. Ends on drop, also during a panic.
struct Scope {
    /// Number of the device object.
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
    /// Creates a stream. Its work comes after all earlier work on the device, on any stream. Work that is
    /// pending when the stream is dropped still completes.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let device = Device::best()?;
    /// let (first, second) = (device.stream()?, device.stream()?);
    /// let x = device.upload(&[1.0, 2.0])?;
    /// let (mut y, mut z) = (device.zeros(2)?, device.zeros(2)?);
    /// first.scope(|| vector::axpby(2.0, &x, 0.0, &mut y))?;
    /// second.scope(|| vector::axpby(3.0, &x, 0.0, &mut z))?; // may run at the same time
    /// assert_eq!(vector::dot(&y, &z)?, 30.0); // waits for both
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the device was lost, or the driver fails.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        self.take_stream(false)
    }

    /// Creates a [`stream`](Self::stream) with the driver's highest priority: of kernels that wait for a
    /// multiprocessor, those of this stream start first. Use it for short work that other work waits for,
    /// such as an exchange beside a long product. Results do not change.
    ///
    /// # Errors
    ///
    /// The same as for [`stream`](Self::stream).
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

    /// Waits until the device has completed all work.
    ///
    /// # Errors
    ///
    /// If a kernel caused a fault, now or earlier.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.refuse_in_graph("the host waits for the device")?;
        match &self.shared.backend {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.synchronize(None),
        }
    }

    /// Number of the calling thread's stream.
    pub(super) fn stream_number(&self) -> u32 {
        let number = self.shared.number;
        let mut innermost = INNERMOST.get();
        // SAFETY: each scope is in a caller's stack frame, and removes itself before it ends.
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
    /// Wraps the stream of a number, to be given back.
    pub(super) fn of_number(device: &Device, number: u32) -> Self {
        Self { device: device.clone(), number }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs `body`. Its work on this device in this thread is put on the stream; work on other devices or in
    /// other threads is not. Scopes may be nested: the innermost of a device applies.
    pub fn scope<R>(&self, body: impl FnOnce() -> R) -> R {
        let (device, stream) = (self.device.shared.number, self.number);
        let scope = Scope { device, stream, outer: INNERMOST.get() };
        INNERMOST.set(&raw const scope);
        body()
    }

    /// Waits until all work of the stream is complete. [`Device::synchronize`] waits for all streams.
    ///
    /// # Errors
    ///
    /// If a kernel caused a fault, now or earlier.
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
