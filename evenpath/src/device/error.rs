//! What can go wrong on a device.

use std::fmt;
use std::path::PathBuf;

/// What can go wrong on a device.
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
    /// The machine has no NVIDIA driver that the system's loader finds.
    #[error("no NVIDIA driver: {reason}")]
    NoDriver {
        /// What the loader said.
        reason: String,
    },
    /// The library was built without its feature `cuda`.
    #[error("this build of evenpath has no CUDA support (its feature `cuda` is off)")]
    NoCudaSupport,
    /// There is no GPU of this number.
    #[error("no GPU {ordinal}: the driver shows {count}")]
    NoSuchGpu {
        /// The number asked for.
        ordinal: u32,
        /// GPUs that the driver shows, numbered from 0.
        count: u32,
    },
    /// The GPU is older than every PTX target there is.
    #[error("{device} has compute capability {}.{}, and the oldest PTX is for sm_{oldest}", .capability.0, .capability.1)]
    UnsupportedGpu {
        /// The GPU.
        device: String,
        /// Its compute capability, major and minor.
        capability: (u32, u32),
        /// The oldest target that there is PTX for, such as 75.
        oldest: u32,
    },
    /// There is no PTX at all to load modules from.
    #[error("no PTX found in {origin}")]
    NoPtx {
        /// Where it was looked for.
        origin: String,
    },
    /// The driver does not know this version of PTX.
    #[error("the driver is too old: it is for CUDA {driver}, and module `{module}` is PTX {ptx}{}", needs(*.needed))]
    DriverTooOld {
        /// The newest CUDA that the driver supports.
        driver: Version,
        /// The module's version of PTX.
        ptx: Version,
        /// The first CUDA with that version of PTX, if known.
        needed: Option<Version>,
        /// The module that was to be loaded.
        module: String,
    },
    /// There is no PTX of this name for the GPU.
    #[error("no PTX module `{module}` for sm_{target} in {origin}")]
    ModuleNotFound {
        /// The module.
        module: String,
        /// The target it was looked for in.
        target: u32,
        /// Where it was looked for.
        origin: String,
    },
    /// A PTX file or folder could not be read.
    #[error("{}: {source}", .path.display())]
    ReadPtx {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The driver could not compile a module.
    #[error("the driver refused PTX module `{module}` for sm_{target} of {origin}: {message}{}", log_lines(.log))]
    Module {
        /// The module.
        module: String,
        /// The target it was compiled from.
        target: u32,
        /// Where it came from.
        origin: String,
        /// The driver's error.
        message: String,
        /// What its compiler had to say.
        log: String,
    },
    /// A loaded module does not have the kernel.
    #[error("PTX module `{module}` of {origin} has no entry `{kernel}`")]
    EntryNotFound {
        /// The kernel's entry name.
        kernel: &'static str,
        /// The module.
        module: &'static str,
        /// Where it came from.
        origin: String,
    },
    /// A kernel's entry is not what the host launches: from PTX of another version of the library, or edited.
    #[error("{location}: entry `{kernel}` has {found}, and the library launches it with {expected}")]
    EntryMismatch {
        /// The kernel's entry name.
        kernel: &'static str,
        /// The file.
        location: String,
        /// What the library passes: bytes of the parameters, threads of a block, and bytes of shared memory.
        expected: String,
        /// What the entry declares.
        found: String,
    },
    /// The call failed because it was to: see [`inject_failure`](super::Device::inject_failure). The device stays usable.
    #[error("{device} failed on request")]
    Injected {
        /// The device.
        device: String,
    },
    /// The device does not have that much memory left. It stays usable.
    #[error("{device} is out of memory: {requested} bytes requested, {free} of {total} free")]
    OutOfMemory {
        /// The device.
        device: String,
        /// Bytes requested.
        requested: u64,
        /// Bytes that were free.
        free: u64,
        /// Bytes that the device has.
        total: u64,
    },
    /// The CPU was to be used in a process that was forked from one that had used it: `fork` copies none of the threads.
    #[error("{}", crate::threads::FORKED)]
    Forked,
    /// The host has not that much memory left.
    #[error("the host is out of memory: {requested} bytes requested")]
    HostOutOfMemory {
        /// Bytes requested.
        requested: u64,
    },
    /// The allocation would exceed the limit that was set with
    /// [`set_memory_limit`](super::Device::set_memory_limit).
    #[error("{device} is limited to {limit} bytes: {requested} bytes requested, {in_use} in use")]
    MemoryLimit {
        /// The device.
        device: String,
        /// Bytes requested.
        requested: u64,
        /// Bytes that buffers hold already.
        in_use: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A buffer of this many elements has more bytes than can be addressed.
    #[error("a buffer of {elements} elements of {element_bytes} bytes is larger than any memory")]
    TooLarge {
        /// Elements requested.
        elements: usize,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// Source and destination of a copy differ in length.
    #[error("copy of {source_len} elements to {destination_len}")]
    LengthMismatch {
        /// Elements of the source.
        source_len: usize,
        /// Elements of the destination.
        destination_len: usize,
    },
    /// An index is not inside a buffer.
    #[error("index {index} of a buffer of {len} elements")]
    OutOfBounds {
        /// The index.
        index: usize,
        /// Elements in the buffer.
        len: usize,
    },
    /// Memory of somebody else does not begin at a multiple of sixteen bytes.
    #[error("memory at {address:#x} does not begin at a multiple of 16 bytes")]
    Misaligned {
        /// The address.
        address: u64,
    },
    /// Memory of somebody else is not where the device can use it.
    #[error("memory at {address:#x} is not of {device}: {reason}")]
    ForeignMemory {
        /// The address.
        address: u64,
        /// The device.
        device: String,
        /// Where it is.
        reason: String,
    },
    /// Something that NVIDIA GPUs alone have was asked of another device.
    #[error("{device} has no {what}: it is not an NVIDIA GPU")]
    NotCuda {
        /// The device.
        device: String,
        /// What was asked for.
        what: &'static str,
    },
    /// A range is not inside a vector, or ends before it begins.
    #[error("range {start}..{end} of a vector of {len} elements")]
    RangeOutOfBounds {
        /// The first index.
        start: usize,
        /// The index after the last.
        end: usize,
        /// Elements in the vector.
        len: usize,
    },
    /// Two things that must be on one device are on different ones.
    #[error("{left} and {right} are different devices")]
    DifferentDevices {
        /// One device.
        left: String,
        /// The other.
        right: String,
    },
    /// Something that a graph cannot hold was asked for while one was captured, or captured again before a launch. The device stays
    /// usable, and the graph is not made.
    #[error("{device}: a graph cannot be captured: {reason}")]
    Capture {
        /// The device.
        device: String,
        /// What was asked for.
        reason: &'static str,
    },
    /// An operation that was captured uses memory that the graph does not keep: its address was taken before the capture. The device
    /// stays usable, and the graph is not made. Simulated GPUs check this, and other GPUs in builds with debug assertions.
    #[error("{device}: {operation} uses memory at address {address:#x}, which the graph does not keep")]
    NotKept {
        /// The device.
        device: String,
        /// The kernel or other operation.
        operation: &'static str,
        /// The first byte.
        address: u64,
    },
    /// An operation checks what a vector holds and relies on it, and a graph may write to the vector at any time. A copy of the vector
    /// will do.
    #[error("the {what} are written by a graph")]
    WrittenByGraph {
        /// What the vector is.
        what: &'static str,
    },
    /// A launch was refused before it began. The device stays usable.
    #[error("kernel `{kernel}` cannot be launched on {device}: {reason}")]
    Launch {
        /// The device.
        device: String,
        /// The kernel's entry name.
        kernel: &'static str,
        /// Why, with the numbers.
        reason: String,
    },
    /// A kernel made a mistake, such as an access outside its memory, and ended this device object with all its
    /// buffers. One call is told so; later ones get [`DeviceLost`](Self::DeviceLost).
    ///
    /// On an NVIDIA GPU the fault ends the use of that GPU by the process: all its device objects are lost, and
    /// [`Device::cuda`](super::Device::cuda) answers [`GpuLost`](Self::GpuLost) until the process ends. (The driver
    /// documents a few errors as milder, such as a failed assertion: of those this device object alone is lost.) The
    /// CPU and simulated GPUs go on. A fault on a simulated GPU ends that device object, and a new one can be made.
    #[error("fault on {device} {}: {reason}", place(.kernels))]
    KernelFault {
        /// The device.
        device: String,
        /// The kernels that may have made it: those of any device object of the GPU that were launched since the host
        /// last waited for that device object. None if the fault was not made by a kernel of this library. The
        /// simulated GPU names exactly one.
        kernels: Vec<&'static str>,
        /// What happened.
        reason: String,
    },
    /// The device object was ended earlier by a [`KernelFault`](Self::KernelFault), its own or one of another device
    /// object of the same GPU.
    #[error("{device} is lost since a fault {}: {reason}", place(.kernels))]
    DeviceLost {
        /// The device.
        device: String,
        /// The kernels that may have made the fault.
        kernels: Vec<&'static str>,
        /// What happened.
        reason: String,
    },
    /// No device object of this GPU can be made, because a fault ended the use of the GPU by this process: a
    /// [`KernelFault`](Self::KernelFault), or one that another CUDA library in the process made.
    #[error(
        "{device} cannot be used by this process any more since a fault {}: {reason}; a new process can",
        place(.kernels)
    )]
    GpuLost {
        /// The GPU.
        device: String,
        /// The kernels that may have made the fault; none if it was not made by a kernel of this library.
        kernels: Vec<&'static str>,
        /// What happened.
        reason: String,
    },
    /// The simulated GPU refused an access by the host, such as a read of memory that nothing wrote.
    #[error("{device}: {reason}")]
    Simulated {
        /// The device.
        device: String,
        /// What it was.
        reason: String,
    },
    /// The driver answered with an error that has no variant of its own.
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
    /// The number before the point.
    pub major: u32,
    /// The number after it.
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

/// Where a fault was made.
fn place(kernels: &[&str]) -> String {
    match kernels {
        [] => "outside the kernels of evenpath, probably by another library in the process".into(),
        [kernel] => format!("in kernel `{kernel}`"),
        kernels => format!("in one of the kernels `{}`", kernels.join("`, `")),
    }
}
