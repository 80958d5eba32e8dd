//! What a device is: its kind, and what it is like.

use super::error::Version;

/// The kinds of device.
///
/// ```
/// use evenpath::device::DeviceKind;
/// use evenpath::Device;
///
/// match Device::best()?.kind() {
///     DeviceKind::Cuda(ordinal) => println!("GPU {ordinal}"),
///     DeviceKind::Cpu | DeviceKind::Simulated => println!("no GPU"),
/// }
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The CPU.
    Cpu,
    /// A GPU that the CPU simulates.
    Simulated,
    /// The NVIDIA GPU of this number.
    Cuda(u32),
}

/// What a device is like. `None` where a device has no such thing or does not tell.
///
/// ```
/// let device = evenpath::Device::best()?;
/// let properties = device.properties();
/// println!("{}, {} multiprocessors", properties.name, properties.multiprocessors);
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceProperties {
    /// The device's name, such as `NVIDIA H200`.
    pub name: String,
    /// Multiprocessors of a GPU; threads that run at once on the CPU.
    pub multiprocessors: u32,
    /// Compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of the second-level cache.
    pub l2_bytes: Option<u64>,
    /// Bytes of shared memory that one block can have.
    pub max_shared_bytes: Option<u32>,
    /// The newest CUDA that the driver supports.
    pub driver: Option<Version>,
}

impl DeviceProperties {
    /// Bytes of shared memory that one block can have: as much as every GPU has, where it is not known.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.max_shared_bytes.unwrap_or(48 << 10)
    }
}

/// What the CPU is like.
pub(super) fn cpu_properties() -> DeviceProperties {
    DeviceProperties {
        name: "CPU".into(),
        multiprocessors: std::thread::available_parallelism().map_or(1, usize::from) as u32,
        compute_capability: None,
        memory_bytes: None,
        l2_bytes: None,
        max_shared_bytes: None,
        driver: None,
    }
}
