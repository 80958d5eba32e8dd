//! Kinds and properties of devices.

use super::error::Version;

/// The kinds of device.
///
/// ```
/// use evenpath::device::DeviceKind;
/// use evenpath::Device;
///
/// let device = Device::best()?;
/// let is_gpu = matches!(device.kind(), DeviceKind::Cuda(_));
/// assert_eq!(device.memory()?.total.is_some(), is_gpu); // the CPU has no memory of its own
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The CPU.
    Cpu,
    /// A GPU that the CPU simulates.
    Simulated,
    /// An NVIDIA GPU, by its number.
    Cuda(u32),
}

/// Properties of a device. `None` if the device lacks or does not report one.
///
/// ```
/// use evenpath::Device;
///
/// let device = Device::best()?;
/// assert!(device.properties().multiprocessors > 0);
/// assert!(Device::cpu().properties().compute_capability.is_none()); // only GPUs have one
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceProperties {
    /// Name, such as `NVIDIA H200`.
    pub name: String,
    /// Number of multiprocessors of a GPU; number of threads on the CPU.
    pub multiprocessors: u32,
    /// Compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of the second-level cache.
    pub l2_bytes: Option<u64>,
    /// Maximum shared memory of a block, in bytes.
    pub max_shared_bytes: Option<u32>,
    /// The newest CUDA that the driver supports.
    pub driver: Option<Version>,
}

impl DeviceProperties {
    /// Maximum shared memory of a block, in bytes: the minimum over all GPUs if unknown.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.max_shared_bytes.unwrap_or(48 << 10)
    }
}

/// Properties of the CPU.
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
