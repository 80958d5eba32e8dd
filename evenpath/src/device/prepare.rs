//! Kernels that an operation is going to launch, compiled together.

use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::launch::variant;
use super::{Backend, Device, DeviceError};

/// A list of kernel instances.
#[derive(Default)]
pub(crate) struct Kernels(
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only NVIDIA GPUs compile kernels.
    pub(super)  Vec<&'static KernelInfo>,
);

impl Kernels {
    /// Adds all instances of a kernel for its types.
    pub(crate) fn and<K: Kernel>(mut self) -> Self {
        self.0.extend(K::INSTANCES.iter().filter(|info| info.types == K::TYPES));
        self
    }

    /// Adds the named variant of a kernel for its types.
    pub(crate) fn and_variant<K: Kernel>(self, name: &str) -> Self {
        self.and_instance(variant::<K>(name))
    }

    /// Adds an instance of a kernel.
    pub(crate) fn and_instance(mut self, instance: &'static KernelInfo) -> Self {
        self.0.push(instance);
        self
    }

    /// Adds another list.
    pub(crate) fn and_all(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

impl Device {
    /// Has the driver compile the kernels of a list that are not compiled yet, together and on all processors. One that the
    /// driver refuses is an error of its launch. Drivers before CUDA 12.9 compile each kernel when it is launched.
    ///
    /// `list` is called once per device, and only where the driver compiles kernels.
    ///
    /// # Errors
    ///
    /// Whatever went wrong in earlier launches.
    pub(crate) fn prepare(&self, list: fn() -> Kernels) -> Result<(), DeviceError> {
        match self.backend() {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.prepare(list),
        }
    }
}
