use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::{Backend, Device, DeviceError};

/// Blocks of a grid, at most, on any GPU.
const MAX_GRID: u32 = i32::MAX as u32;

impl Device {
    /// Launches `grid` blocks of the kernel's instance `info`, with `dynamic_shared` bytes of shared memory beside the
    /// statically sized ones, and does not wait for it. An empty grid does nothing.
    ///
    /// # Errors
    ///
    /// If the launch is over a limit or the kernel's module cannot be loaded; and whatever went wrong in earlier
    /// launches.
    ///
    /// # Safety
    ///
    /// The kernel's views are of live buffers on this device, as long as the kernel takes them to be, and no other
    /// code writes them, or reads what the kernel writes, but in the order of the device's stream.
    #[doc(hidden)]
    pub unsafe fn launch<K: Kernel>(
        &self,
        kernel: K,
        info: &'static KernelInfo,
        grid: u32,
        dynamic_shared: u32,
    ) -> Result<(), DeviceError> {
        let refuse =
            |reason: String| DeviceError::Launch { device: self.to_string(), kernel: info.name, reason };
        if info.types != K::TYPES || !K::INSTANCES.iter().any(|instance| instance.name == info.name) {
            return Err(refuse("the arguments are those of another kernel".into()));
        }
        if grid > MAX_GRID {
            return Err(refuse(format!("{grid} blocks are over the limit of {MAX_GRID}")));
        }
        let Backend::Machine(machine) = self.backend() else {
            return Err(refuse("the CPU runs no kernels".into()));
        };
        if grid == 0 {
            return Ok(());
        }
        // SAFETY: `info` is an instance of `K` for its types, so `pack` gives the parameters' arguments in order; the
        // caller vouches for the views.
        unsafe { machine.launch(info, grid, dynamic_shared, &kernel.pack()) }
    }

    /// Blocks of the kernel's instance `info`, each with `dynamic_shared` bytes of launch-sized shared memory, that the
    /// device runs at once; at least one. As many as a grid wants whose blocks do one tile after another.
    ///
    /// # Errors
    ///
    /// If the kernel's module cannot be loaded; and whatever went wrong in earlier launches.
    pub(crate) fn resident_blocks(
        &self,
        info: &'static KernelInfo,
        dynamic_shared: u32,
    ) -> Result<u32, DeviceError> {
        match self.backend() {
            Backend::Cpu => Ok(1),
            Backend::Machine(machine) => Ok(machine.resident_blocks(info, dynamic_shared)?.max(1)),
        }
    }
}
