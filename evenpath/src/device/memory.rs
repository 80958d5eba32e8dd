//! Memory use of a device, and its limit.

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::memory_limit::Reservation;

/// Memory use of a device.
///
/// ```
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let x = device.zeros::<f64>(100)?;
/// assert_eq!(device.memory()?.in_use, 800);
/// drop(x);
/// assert_eq!((device.memory()?.in_use, device.memory()?.peak), (0, 800));
/// # Ok::<(), evenpath::error::DeviceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes held by live buffers and graphs of this device object.
    pub in_use: u64,
    /// Maximum of [`in_use`](Self::in_use) since the device was created or since
    /// [`Device::reset_peak_memory`].
    pub peak: u64,
    /// The limit on [`in_use`](Self::in_use).
    pub limit: Option<u64>,
    /// Free bytes, shared with other programs and device objects. `None` on the CPU.
    pub free: Option<u64>,
    /// Total bytes of the device. `None` on the CPU.
    pub total: Option<u64>,
}

impl Device {
    /// Returns the current memory use.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn memory(&self) -> Result<DeviceMemory, DeviceError> {
        let (free, total) = match &self.shared.backend {
            Backend::Cpu => (None, None),
            Backend::Machine(machine) => {
                let (free, total) = machine.memory()?;
                (Some(free), Some(total))
            }
        };
        let (in_use, peak) = (self.budget().in_use(), self.budget().peak());
        Ok(DeviceMemory { in_use, peak, limit: self.memory_limit(), free, total })
    }

    /// Restarts the measurement of [`DeviceMemory::peak`].
    pub fn reset_peak_memory(&self) {
        self.budget().reset_peak();
    }

    /// The limit on the total bytes of buffers.
    pub fn memory_limit(&self) -> Option<u64> {
        self.budget().limit()
    }

    /// Limits the total bytes of buffers of this device object, including its clones. Existing buffers stay;
    /// allocations that would exceed the limit fail with [`DeviceError::MemoryLimit`].
    ///
    /// ```
    /// use evenpath::Device;
    /// use evenpath::error::DeviceError;
    ///
    /// let device = Device::cpu();
    /// device.set_memory_limit(Some(1000));
    /// let x = device.zeros::<f64>(100)?; // 800 bytes
    /// let refused = device.zeros::<f64>(100);
    /// assert!(matches!(refused, Err(DeviceError::MemoryLimit { requested: 800, in_use: 800, .. })));
    /// drop(x);
    /// assert!(device.zeros::<f64>(100).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        self.budget().set_limit(bytes);
    }

    /// Counts bytes as used until the reservation is dropped; fails if they would exceed the limit.
    pub(super) fn reserve(&self, bytes: u64) -> Result<Reservation, DeviceError> {
        Reservation::new(self.budget(), bytes).map_err(|in_use| DeviceError::MemoryLimit {
            device: self.to_string(),
            requested: bytes,
            in_use,
            limit: self.memory_limit().unwrap_or(u64::MAX),
        })
    }
}
