//! Errors of devices.

use std::fmt;
use std::path::PathBuf;

/// Error of an operation on a device.
///
/// ```
/// use evenpath::error::DeviceError;
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// device.set_memory_limit(Some(1000));
/// let refused = device.zeros::<f64>(1000).unwrap_err();
/// assert!(matches!(refused, DeviceError::MemoryLimit { .. }), "{refused}");
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The system's loader finds no NVIDIA driver.
    #[error("no NVIDIA driver: {reason}")]
    NoDriver {
        /// The loader's message.
        reason: String,
    },
    /// The library was built without its feature `cuda`.
    #[error("this build of evenpath has no CUDA support: the feature `cuda` is off")]
    NoCudaSupport,
    /// The GPU does not exist.
    #[error("GPU {ordinal} does not exist: the driver reports {count}")]
    NoSuchGpu {
        /// The requested number.
        ordinal: u32,
        /// Number of GPUs that the driver reports, numbered from 0.
        count: u32,
    },
    /// The GPU is older than every PTX target.
    #[error("{device} has compute capability {}.{}, but the oldest PTX is for sm_{oldest}", .capability.0, .capability.1)]
    UnsupportedGpu {
        /// The GPU.
        device: String,
        /// Its compute capability, major and minor.
        capability: (u32, u32),
        /// The oldest target with PTX, such as 75.
        oldest: u32,
    },
    /// There is no PTX to load modules from.
    #[error("no PTX found in {origin}")]
    NoPtx {
        /// The searched location.
        origin: String,
    },
    /// The driver does not support this version of PTX.
    #[error("the driver is too old: it supports CUDA {driver}, but module `{module}` is PTX {ptx}{}", needs(*.needed))]
    DriverTooOld {
        /// The newest CUDA that the driver supports.
        driver: Version,
        /// The module's version of PTX.
        ptx: Version,
        /// The first CUDA with that version of PTX, if known.
        needed: Option<Version>,
        /// The module that failed to load.
        module: String,
    },
    /// A PTX module is missing for the GPU's target.
    #[error("no PTX module `{module}` for sm_{target} in {origin}")]
    ModuleNotFound {
        /// The module.
        module: String,
        /// The searched target.
        target: u32,
        /// The searched location.
        origin: String,
    },
    /// A PTX file or folder could not be read.
    #[error("{}: {source}", .path.display())]
    ReadPtx {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The driver could not compile a module.
    #[error("the driver refused PTX module `{module}` for sm_{target} of {origin}: {message}{}", log_lines(.log))]
    Module {
        /// The module.
        module: String,
        /// The target it was compiled from.
        target: u32,
        /// The origin of the module.
        origin: String,
        /// The driver's error.
        message: String,
        /// The log of its compiler.
        log: String,
    },
    /// A loaded module lacks the kernel.
    #[error("PTX module `{module}` of {origin} has no entry `{kernel}`")]
    EntryNotFound {
        /// The kernel's entry name.
        kernel: &'static str,
        /// The module.
        module: &'static str,
        /// The origin of the module.
        origin: String,
    },
    /// A kernel's entry differs from what the host launches: the PTX is of another version of the library, or
    /// was edited.
    #[error("{location}: entry `{kernel}` has {found}, but the library launches it with {expected}")]
    EntryMismatch {
        /// The kernel's entry name.
        kernel: &'static str,
        /// The file.
        location: String,
        /// Declaration that the library expects: bytes of the parameters, threads per block, and bytes of
        /// shared memory.
        expected: String,
        /// Declaration found in the entry.
        found: String,
    },
    /// A call to a simulated GPU failed because a test asked for that. The device stays
    /// usable.
    #[error("{device} failed on request")]
    Injected {
        /// The device.
        device: String,
    },
    /// The device has too little free memory. It stays usable.
    #[error("{device} is out of memory: {requested} bytes requested, {free} of {total} free")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes requested.
        requested: u64,
        /// Free bytes at the time.
        free: u64,
        /// Total bytes of the device.
        total: u64,
    },
    /// The CPU was used in a process forked from one that had used it: `fork` does not copy threads.
    #[error("{}", crate::threads::FORKED)]
    Forked,
    /// The host has too little free memory.
    #[error("the host is out of memory: {requested} bytes requested")]
    HostOutOfMemory {
        /// Bytes requested.
        requested: u64,
    },
    /// The allocation would exceed the limit set with [`set_memory_limit`](super::Device::set_memory_limit).
    #[error("{device} is limited to {limit} bytes: {requested} bytes requested, {in_use} in use")]
    MemoryLimit {
        /// The device.
        device: String,
        /// Bytes requested.
        requested: u64,
        /// Bytes held by buffers.
        in_use: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The size of a buffer in bytes exceeds the address space.
    #[error("a buffer of {elements} elements of {element_bytes} bytes exceeds the address space")]
    TooLarge {
        /// Elements requested.
        elements: usize,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// Source and destination of a copy differ in length.
    #[error("cannot copy {source_len} elements to {destination_len}")]
    LengthMismatch {
        /// Elements of the source.
        source_len: usize,
        /// Elements of the destination.
        destination_len: usize,
    },
    /// An index is out of bounds.
    #[error("index {index} is out of bounds for a buffer of {len} elements")]
    OutOfBounds {
        /// The index.
        index: usize,
        /// Elements in the buffer.
        len: usize,
    },
    /// Foreign memory is not aligned to 16 bytes.
    #[error("memory at {address:#x} is not aligned to 16 bytes")]
    Misaligned {
        /// The address.
        address: u64,
    },
    /// The device cannot use foreign memory.
    #[error("{device} cannot use memory at {address:#x}: {reason}")]
    ForeignMemory {
        /// The address.
        address: u64,
        /// The device.
        device: String,
        /// The reason.
        reason: String,
    },
    /// A feature of NVIDIA GPUs was requested of another device.
    #[error("{device} has no {what}: it is not an NVIDIA GPU")]
    NotCuda {
        /// The device.
        device: String,
        /// The requested feature.
        what: &'static str,
    },
    /// A range is out of bounds, or ends before it begins.
    #[error("range {start}..{end} is out of bounds for a vector of {len} elements")]
    RangeOutOfBounds {
        /// The first index.
        start: usize,
        /// The index after the last.
        end: usize,
        /// Elements in the vector.
        len: usize,
    },
    /// Two operands that must be on one device are on different devices.
    #[error("{left} and {right} are different devices")]
    DifferentDevices {
        /// One device.
        left: String,
        /// The other.
        right: String,
    },
    /// An operation that a graph cannot hold was called during a capture, or while a graph was captured again
    /// before a launch. The device stays usable, and no graph is made.
    #[error("{device}: cannot capture a graph: {reason}")]
    Capture {
        /// The device.
        device: String,
        /// The operation.
        reason: &'static str,
    },
    /// A captured operation uses memory that the graph does not keep: its address was taken before the
    /// capture. The device stays usable, and no graph is made. Simulated GPUs check this, and other GPUs in
    /// builds with debug assertions.
    #[error("{device}: {operation} uses memory at address {address:#x}, which the graph does not keep")]
    NotKept {
        /// The device.
        device: String,
        /// The kernel or other operation.
        operation: &'static str,
        /// The first byte.
        address: u64,
    },
    /// An operation checks a vector's contents and relies on them, but a graph may write to the vector at any
    /// time. Pass a copy of the vector instead.
    #[error("the {what} are written by a graph")]
    WrittenByGraph {
        /// The role of the vector.
        what: &'static str,
    },
    /// A launch was refused before it began. The device stays usable.
    #[error("kernel `{kernel}` cannot be launched on {device}: {reason}")]
    Launch {
        /// The device.
        device: String,
        /// The kernel's entry name.
        kernel: &'static str,
        /// The reason, with numbers.
        reason: String,
    },
    /// A kernel caused a fault, such as an access outside its memory, which ended this device object and all
    /// its buffers. One call returns this error; later ones return [`DeviceLost`](Self::DeviceLost).
    ///
    /// On an NVIDIA GPU the fault ends the use of that GPU by the process: all its device objects are lost,
    /// and [`Device::cuda`](super::Device::cuda) returns [`GpuLost`](Self::GpuLost) until the process ends.
    /// (A few errors are milder according to the driver, such as a failed assertion: they end this device
    /// object only.) The CPU and simulated GPUs are not affected. A fault on a simulated GPU ends that device
    /// object, and a new one can be made.
    #[error("fault on {device} {}: {reason}", place(.kernels))]
    KernelFault {
        /// The device.
        device: String,
        /// Kernels that may have caused it: those launched on any device object of the GPU since the host
        /// last waited for that object. Empty if no kernel of this library caused it. The simulated GPU names
        /// exactly one.
        kernels: Vec<&'static str>,
        /// Description of the fault.
        reason: String,
    },
    /// The device object was ended by an earlier [`KernelFault`](Self::KernelFault), its own or that of
    /// another device object of the same GPU.
    #[error("{device} was lost to a fault {}: {reason}", place(.kernels))]
    DeviceLost {
        /// The device.
        device: String,
        /// Kernels that may have caused the fault.
        kernels: Vec<&'static str>,
        /// Description of the fault.
        reason: String,
    },
    /// No device object of this GPU can be made, because a fault ended the use of the GPU by this process: a
    /// [`KernelFault`](Self::KernelFault), or a fault caused by another CUDA library in the process.
    #[error(
        "this process can no longer use {device} after a fault {}: {reason}; start a new process",
        place(.kernels)
    )]
    GpuLost {
        /// The GPU.
        device: String,
        /// Kernels that may have caused the fault; empty if no kernel of this library caused it.
        kernels: Vec<&'static str>,
        /// Description of the fault.
        reason: String,
    },
    /// The simulated GPU refused an access by the host, such as a read of memory that nothing wrote.
    #[error("{device}: {reason}")]
    Simulated {
        /// The device.
        device: String,
        /// Description of the access.
        reason: String,
    },
    /// The driver returned an error that has no variant of its own.
    #[error("{device}: {call} failed: {message} ({code})")]
    Driver {
        /// The device.
        device: String,
        /// The driver's function.
        call: &'static str,
        /// The driver's code.
        code: i32,
        /// The driver's name and text for it.
        message: String,
    },
}

evenpath_simt::debug_as_message!(DeviceError);

/// A version of CUDA or of PTX.
///
/// ```
/// use evenpath::device::Version;
///
/// assert_eq!(Version { major: 13, minor: 0 }.to_string(), "13.0");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Number before the point.
    pub major: u32,
    /// Number after the point.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn needs(version: Option<Version>) -> String {
    version.map_or_else(String::new, |version| format!(", which needs a driver for CUDA {version} or newer"))
}

fn log_lines(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

/// Describes the place of a fault.
fn place(kernels: &[&str]) -> String {
    match kernels {
        [] => "outside the kernels of evenpath, probably by another library in the process".into(),
        [kernel] => format!("in kernel `{kernel}`"),
        kernels => format!("in one of the kernels `{}`", kernels.join("`, `")),
    }
}
