//! Kernel instances: by name, in lists to compile together, and a program's own.

#[cfg(any(feature = "simulated", test))]
use evenpath_simt::kernel::Simulation;
use evenpath_simt::kernel::{Kernel, KernelInfo};

/// The kernel's instance for its types: the first in its table.
pub(crate) fn instance<K: Kernel>() -> &'static KernelInfo {
    match K::first() {
        Some(info) => info,
        None => unreachable!("the kernels' tables have an instance for every type"),
    }
}

/// The kernel's variant of the given name for its types.
pub(crate) fn variant<K: Kernel>(name: &str) -> &'static KernelInfo {
    match K::variant(name) {
        Some(info) => info,
        None => unreachable!("the kernels' tables have every variant for every type"),
    }
}

/// List of kernel instances.
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

/// Instances of a program's own kernel.
pub(crate) struct OwnKernels<'p> {
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only NVIDIA GPUs read PTX.
    pub(super) ptx: &'p [(u32, &'p str)],
    pub(super) instances: &'static [&'static KernelInfo],
    /// Bodies of the instances.
    #[cfg(any(feature = "simulated", test))]
    pub(super) simulations: &'static [Simulation],
}
