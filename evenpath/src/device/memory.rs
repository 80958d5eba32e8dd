//! How much of a device's memory is used, and the limit on it.

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::memory_limit::Reservation;

/// How much of a device's memory is used.
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
    /// Bytes that live buffers of this device object hold, and that its graphs keep.
    pub in_use: u64,
    /// The most that they held at once, since the device was made or [`Device::reset_peak_memory`].
    pub peak: u64,
    /// The limit on [`in_use`](Self::in_use).
    pub limit: Option<u64>,
    /// Bytes that are free; other programs and device objects take from them too. `None` on the CPU.
    pub free: Option<u64>,
    /// Bytes that the device has. `None` on the CPU.
    pub total: Option<u64>,
}

impl Device {
    /// How much of its memory is used.
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

    /// Forgets what was in use before, so that [`DeviceMemory::peak`] is that of what follows.
    pub fn reset_peak_memory(&self) {
        self.budget().reset_peak();
    }

    /// The limit on the bytes that buffers may hold together.
    pub fn memory_limit(&self) -> Option<u64> {
        self.budget().limit()
    }

    /// Limits the bytes that buffers of this device object, clones included, may hold together. Buffers that are
    /// there already stay; what would go over the limit is refused with [`DeviceError::MemoryLimit`].
    pub fn set_memory_limit(&self, bytes: Option<u64>) {
        self.budget().set_limit(bytes);
    }

    /// Counts bytes as used until the reservation is dropped, or refuses to.
    pub(super) fn reserve(&self, bytes: u64) -> Result<Reservation, DeviceError> {
        Reservation::new(self.budget(), bytes).map_err(|in_use| DeviceError::MemoryLimit {
            device: self.to_string(),
            requested: bytes,
            in_use,
            limit: self.memory_limit().unwrap_or(u64::MAX),
        })
    }
}
