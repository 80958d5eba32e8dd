//! Launches of kernels.

use std::marker::PhantomData;

use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::kernels::{Kernels, instance, variant};
use super::node::GraphNode;
use super::shared::SharedMemory;

/// Maximum number of blocks in a grid, on any GPU.
pub(crate) const MAX_GRID: u32 = i32::MAX as u32;

/// A kernel instance on a device, to be given a grid and launched:
/// `device.kernel::<Scale<V>>().threads(len)?.launch(Scale { … })`.
pub(crate) struct Launcher<K> {
    device: Device,
    info: &'static KernelInfo,
    shared: SharedMemory,
    kernel: PhantomData<fn(K)>,
}

impl<K: Kernel> Launcher<K> {
    /// The kernel instance.
    pub(crate) fn info(&self) -> &'static KernelInfo {
        self.info
    }

    /// Adds `bytes` bytes of dynamic shared memory per block.
    pub(crate) fn shared_bytes(self, bytes: u32) -> Self {
        Self { shared: SharedMemory { dynamic_bytes: bytes, ..self.shared }, ..self }
    }

    /// Number of blocks that the device runs at once; at least 1.
    ///
    /// # Errors
    ///
    /// The same as for [`Device::resident_blocks`].
    pub(crate) fn resident_blocks(&self) -> Result<u32, DeviceError> {
        self.device.resident_blocks(self.info, self.shared.dynamic_bytes)
    }

    /// Makes a grid of as many blocks as the device runs at once, at most `blocks`.
    ///
    /// # Errors
    ///
    /// The same as for [`Device::resident_blocks`] and [`blocks`](Self::blocks).
    pub(crate) fn resident(self, blocks: u32) -> Result<Launch<K>, DeviceError> {
        let resident = self.resident_blocks()?;
        self.blocks(resident.min(blocks) as usize)
    }

    /// Makes a grid of `blocks` blocks.
    ///
    /// # Errors
    ///
    /// If the grid has more blocks than a GPU can launch; this holds for all functions that make grids.
    pub(crate) fn blocks(self, blocks: usize) -> Result<Launch<K>, DeviceError> {
        match u32::try_from(blocks).ok().filter(|&blocks| blocks <= MAX_GRID) {
            Some(grid) => Ok(Launch { launcher: self, grid }),
            None => {
                Err(self.device.refuse(self.info, format!("{blocks} blocks exceed the limit of {MAX_GRID}")))
            }
        }
    }

    /// Makes a grid with at least `threads` threads.
    pub(crate) fn threads(self, threads: usize) -> Result<Launch<K>, DeviceError> {
        let block_size = self.info.block_size as usize;
        self.blocks(threads.div_ceil(block_size))
    }

    /// Makes a grid with at least `warps` warps.
    pub(crate) fn warps(self, warps: usize) -> Result<Launch<K>, DeviceError> {
        let block_warps = self.info.block_size as usize / 32;
        self.blocks(warps.div_ceil(block_warps))
    }

    /// Makes a grid for `items` items: one block per tile.
    pub(crate) fn items(self, items: usize) -> Result<Launch<K>, DeviceError> {
        let tile_items = self.info.tile_items();
        self.blocks(items.div_ceil(tile_items))
    }
}

/// A kernel instance with its grid on a device. Plans store it.
pub(crate) struct Launch<K> {
    launcher: Launcher<K>,
    grid: u32,
}

impl<K: Kernel> Launch<K> {
    /// Number of blocks in the grid.
    pub(crate) fn grid(&self) -> u32 {
        self.grid
    }

    /// The kernel instance.
    pub(crate) fn info(&self) -> &'static KernelInfo {
        self.launcher.info
    }

    /// Reserves shared memory for `blocks` blocks on each multiprocessor, or for the maximum that it can run
    /// if that is fewer, and leaves the rest of the memory to L1. By default the driver divides the memory.
    pub(crate) fn room_for(self, blocks: u32) -> Self {
        let shared = SharedMemory { blocks: Some(blocks), ..self.launcher.shared };
        Self { launcher: Launcher { shared, ..self.launcher }, ..self }
    }

    /// Launches the kernel on the device's stream and does not wait for it. An empty grid does nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`Device::launch`].
    ///
    /// # Safety
    ///
    /// The same as for [`Device::launch`].
    pub(crate) unsafe fn launch(&self, kernel: K) -> Result<(), DeviceError> {
        let Launcher { device, info, shared, .. } = &self.launcher;
        // SAFETY: guaranteed by the caller.
        unsafe { device.launch_with(kernel, info, self.grid, *shared) }
    }
}

impl Device {
    /// The kernel's instance for its types: the first in its table.
    pub(crate) fn kernel<K: Kernel>(&self) -> Launcher<K> {
        self.instance(instance::<K>())
    }

    /// The kernel's variant of the given name for its types.
    pub(crate) fn variant<K: Kernel>(&self, name: &str) -> Launcher<K> {
        self.instance(variant::<K>(name))
    }

    /// The given instance of a kernel, which must match its types.
    pub(crate) fn instance<K: Kernel>(&self, info: &'static KernelInfo) -> Launcher<K> {
        Launcher { device: self.clone(), info, shared: SharedMemory::default(), kernel: PhantomData }
    }

    /// Returns the error of a launch that was refused.
    pub(super) fn refuse(&self, info: &KernelInfo, reason: String) -> DeviceError {
        DeviceError::Launch { device: self.to_string(), kernel: info.name, reason }
    }

    /// Returns the error of a launch on the CPU.
    pub(crate) fn no_kernels(&self, info: &KernelInfo) -> DeviceError {
        self.refuse(info, "the CPU runs no kernels".into())
    }

    /// Launches `grid` blocks of the kernel's instance `info`, with `dynamic_shared` bytes of dynamic shared
    /// memory per block, and does not wait for it. An empty grid does nothing.
    ///
    /// # Errors
    ///
    /// If the launch exceeds a limit or the kernel's module cannot be loaded; also errors of earlier
    /// launches.
    ///
    /// # Safety
    ///
    /// The kernel's views are of live buffers on this device until the kernel has completed. No other code
    /// writes them, or reads the kernel's output, except through the device. The kernel accesses memory
    /// through its views only: the order with other streams depends on them.
    #[doc(hidden)]
    pub unsafe fn launch<K: Kernel>(
        &self,
        kernel: K,
        info: &'static KernelInfo,
        grid: u32,
        dynamic_shared: u32,
    ) -> Result<(), DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_with(kernel, info, grid, SharedMemory::dynamic(dynamic_shared)) }
    }

    /// Like [`launch`](Self::launch), with a request for the division of the multiprocessors' memory.
    ///
    /// # Errors
    ///
    /// The same as for [`launch`](Self::launch).
    ///
    /// # Safety
    ///
    /// The same as for [`launch`](Self::launch).
    unsafe fn launch_with<K: Kernel>(
        &self,
        kernel: K,
        info: &'static KernelInfo,
        grid: u32,
        shared: SharedMemory,
    ) -> Result<(), DeviceError> {
        let refuse = |reason: String| self.refuse(info, reason);
        if info.types != K::TYPES || !K::INSTANCES.iter().any(|instance| instance.name == info.name) {
            return Err(refuse("the arguments belong to another kernel".into()));
        }
        if grid > MAX_GRID {
            return Err(refuse(format!("{grid} blocks exceed the limit of {MAX_GRID}")));
        }
        let Backend::Machine(machine) = self.backend() else {
            return Err(self.no_kernels(info));
        };
        if grid == 0 {
            return Ok(());
        }
        if self.is_recording() {
            self.records(|| GraphNode::Launch { kernel: info, grid, shared, arguments: kernel.pack() });
            return Ok(());
        }
        // SAFETY: `info` is an instance of `K` for its types, so `pack` returns the parameters' arguments in
        // order; the caller guarantees the views.
        unsafe { machine.launch(self.stream_number(), info, grid, shared, &kernel.pack()) }
    }

    /// Makes the driver compile those kernels of a list that are not compiled yet, together and on all
    /// processors. If the driver refuses a kernel, its launch returns the error. Drivers before CUDA 12.9
    /// compile each kernel when it is launched.
    ///
    /// `list` is called once per device, and only if the driver compiles kernels.
    ///
    /// # Errors
    ///
    /// Errors of earlier launches.
    pub(crate) fn prepare(&self, list: fn() -> Kernels) -> Result<(), DeviceError> {
        match self.backend() {
            Backend::Cpu => Ok(()),
            Backend::Machine(machine) => machine.prepare(list),
        }
    }

    /// Number of blocks of the kernel's instance `info`, each with `dynamic_shared` bytes of dynamic shared
    /// memory, that the device runs at once; at least one. It is the grid size for persistent blocks.
    ///
    /// # Errors
    ///
    /// If the kernel's module cannot be loaded; also errors of earlier launches.
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

#[cfg(test)]
mod tests {
    use evenpath_kernels::vector::Dot;

    use super::*;
    use crate::device::SimulatedOptions;

    /// A launcher with 256 threads of 4 items each.
    fn launcher() -> Launcher<Dot<f64>> {
        Device::simulated(SimulatedOptions::default()).kernel()
    }

    #[test]
    fn grids_have_a_block_for_the_rest() -> Result<(), DeviceError> {
        assert_eq!(launcher().info().tile_items(), 1024);
        for (count, blocks) in [(0, 0), (1, 1), (2, 2)] {
            assert_eq!(launcher().blocks(count)?.grid(), blocks);
        }
        for (count, blocks) in [(0, 0), (1, 1), (8, 1), (9, 2)] {
            assert_eq!(launcher().warps(count)?.grid(), blocks);
            assert_eq!(launcher().threads(32 * count)?.grid(), blocks);
            assert_eq!(launcher().items(128 * count)?.grid(), blocks);
        }
        let resident = launcher().resident_blocks()?;
        assert_eq!(launcher().resident(u32::MAX)?.grid(), resident);
        assert_eq!(launcher().resident(1)?.grid(), 1);
        Ok(())
    }

    #[test]
    fn grids_that_are_too_large_are_refused() {
        let limit = MAX_GRID as usize;
        assert_eq!(launcher().blocks(limit).map(|launch| launch.grid()).ok(), Some(MAX_GRID));
        for refused in [launcher().blocks(limit + 1), launcher().items(1024 * limit + 1)] {
            let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("2147483648 blocks exceed the limit of 2147483647"), "{error}");
            assert!(error.contains("vector_dot_f64"), "{error}");
        }
        assert!(launcher().threads(usize::MAX).is_err() && launcher().warps(usize::MAX).is_err());
    }
}
