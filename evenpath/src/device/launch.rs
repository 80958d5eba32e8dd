//! Launches of kernels.

use std::marker::PhantomData;

use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::kernels::{Kernels, instance, variant};
use super::node::Node;
use super::shared::SharedMemory;

/// The most blocks of a grid, on any GPU.
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

    /// Adds `bytes` bytes of shared memory per block to the statically sized ones.
    pub(crate) fn shared_bytes(self, bytes: u32) -> Self {
        Self { shared: SharedMemory { dynamic_bytes: bytes, ..self.shared }, ..self }
    }

    /// The number of blocks that the device runs at once; at least 1.
    ///
    /// # Errors
    ///
    /// As for [`Device::resident_blocks`].
    pub(crate) fn resident_blocks(&self) -> Result<u32, DeviceError> {
        self.device.resident_blocks(self.info, self.shared.dynamic_bytes)
    }

    /// As many blocks as the device runs at once, and `blocks` at most.
    ///
    /// # Errors
    ///
    /// As for [`Device::resident_blocks`] and [`blocks`](Self::blocks).
    pub(crate) fn resident(self, blocks: u32) -> Result<Launch<K>, DeviceError> {
        let resident = self.resident_blocks()?;
        self.blocks(resident.min(blocks) as usize)
    }

    /// A grid of `blocks` blocks.
    ///
    /// # Errors
    ///
    /// All of the ways to give a grid fail if it has more blocks than a GPU launches.
    pub(crate) fn blocks(self, blocks: usize) -> Result<Launch<K>, DeviceError> {
        match u32::try_from(blocks).ok().filter(|&blocks| blocks <= MAX_GRID) {
            Some(grid) => Ok(Launch { launcher: self, grid }),
            None => Err(self
                .device
                .refuse(self.info, format!("{blocks} blocks are over the limit of {MAX_GRID}"))),
        }
    }

    /// As many blocks as have `threads` threads.
    pub(crate) fn threads(self, threads: usize) -> Result<Launch<K>, DeviceError> {
        let block_size = self.info.block_size as usize;
        self.blocks(threads.div_ceil(block_size))
    }

    /// As many blocks as have `warps` warps.
    pub(crate) fn warps(self, warps: usize) -> Result<Launch<K>, DeviceError> {
        let block_warps = self.info.block_size as usize / 32;
        self.blocks(warps.div_ceil(block_warps))
    }

    /// As many blocks as handle `items` items: one for each tile.
    pub(crate) fn items(self, items: usize) -> Result<Launch<K>, DeviceError> {
        let tile_items = self.info.tile_items();
        self.blocks(items.div_ceil(tile_items))
    }
}

/// A kernel instance with its grid on a device. Plans keep it.
pub(crate) struct Launch<K> {
    launcher: Launcher<K>,
    grid: u32,
}

impl<K: Kernel> Launch<K> {
    /// Blocks of the grid.
    pub(crate) fn grid(&self) -> u32 {
        self.grid
    }

    /// The kernel instance.
    pub(crate) fn info(&self) -> &'static KernelInfo {
        self.launcher.info
    }

    /// Keeps shared memory for `blocks` blocks on each multiprocessor, or for all that it can run if these are fewer, and leaves
    /// the rest of the memory to the first-level cache. Without it the driver divides the memory.
    pub(crate) fn room_for(self, blocks: u32) -> Self {
        let shared = SharedMemory { blocks: Some(blocks), ..self.launcher.shared };
        Self { launcher: Launcher { shared, ..self.launcher }, ..self }
    }

    /// Puts the kernel on the device's stream; does not wait for it. An empty grid does nothing.
    ///
    /// # Errors
    ///
    /// As for [`Device::launch`].
    ///
    /// # Safety
    ///
    /// As for [`Device::launch`].
    pub(crate) unsafe fn launch(&self, kernel: K) -> Result<(), DeviceError> {
        let Launcher { device, info, shared, .. } = &self.launcher;
        // SAFETY: the caller's.
        unsafe { device.launch_with(kernel, info, self.grid, *shared) }
    }
}

impl Device {
    /// The kernel's instance for its types: the first in its table.
    pub(crate) fn kernel<K: Kernel>(&self) -> Launcher<K> {
        self.instance(instance::<K>())
    }

    /// The named variant of a kernel for its types.
    pub(crate) fn variant<K: Kernel>(&self, name: &str) -> Launcher<K> {
        self.instance(variant::<K>(name))
    }

    /// An instance of a kernel, which is for its types.
    pub(crate) fn instance<K: Kernel>(&self, info: &'static KernelInfo) -> Launcher<K> {
        Launcher { device: self.clone(), info, shared: SharedMemory::default(), kernel: PhantomData }
    }

    /// The error of a launch that is not made.
    pub(super) fn refuse(&self, info: &KernelInfo, reason: String) -> DeviceError {
        DeviceError::Launch { device: self.to_string(), kernel: info.name, reason }
    }

    /// The error of a launch on the CPU.
    pub(crate) fn no_kernels(&self, info: &KernelInfo) -> DeviceError {
        self.refuse(info, "the CPU runs no kernels".into())
    }

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
    /// code writes them, or reads what the kernel writes, but through the device. The kernel reaches memory through its views only:
    /// what is done in other streams is ordered by them.
    #[doc(hidden)]
    pub unsafe fn launch<K: Kernel>(
        &self,
        kernel: K,
        info: &'static KernelInfo,
        grid: u32,
        dynamic_shared: u32,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.launch_with(kernel, info, grid, SharedMemory::dynamic(dynamic_shared)) }
    }

    /// As [`launch`](Self::launch), with what is wanted of the multiprocessors' memory.
    ///
    /// # Errors
    ///
    /// As for [`launch`](Self::launch).
    ///
    /// # Safety
    ///
    /// As for [`launch`](Self::launch).
    unsafe fn launch_with<K: Kernel>(
        &self,
        kernel: K,
        info: &'static KernelInfo,
        grid: u32,
        shared: SharedMemory,
    ) -> Result<(), DeviceError> {
        let refuse = |reason: String| self.refuse(info, reason);
        if info.types != K::TYPES || !K::INSTANCES.iter().any(|instance| instance.name == info.name) {
            return Err(refuse("the arguments are those of another kernel".into()));
        }
        if grid > MAX_GRID {
            return Err(refuse(format!("{grid} blocks are over the limit of {MAX_GRID}")));
        }
        let Backend::Machine(machine) = self.backend() else {
            return Err(self.no_kernels(info));
        };
        if grid == 0 {
            return Ok(());
        }
        if self.is_recording() {
            self.records(|| Node::Launch { kernel: info, grid, shared, arguments: kernel.pack() });
            return Ok(());
        }
        // SAFETY: `info` is an instance of `K` for its types, so `pack` gives the parameters' arguments in order; the
        // caller vouches for the views.
        unsafe { machine.launch(self.stream_number(), info, grid, shared, &kernel.pack()) }
    }

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

#[cfg(test)]
mod tests {
    use evenpath_kernels::vector::Dot;

    use super::*;
    use crate::device::SimulatedOptions;

    /// Of 256 threads with 4 items each.
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
            assert!(error.contains("2147483648 blocks are over the limit of 2147483647"), "{error}");
            assert!(error.contains("vector_dot_f64"), "{error}");
        }
        assert!(launcher().threads(usize::MAX).is_err() && launcher().warps(usize::MAX).is_err());
    }
}
