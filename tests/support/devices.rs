use std::collections::BTreeSet;

use evenpath::Device;
use evenpath::device::{BlockOrder, DeviceError, MemoryOrder, SimulatedOptions};
use evenpath_kernels::testing::FaultOutOfBounds;
use evenpath_simt::kernel::Kernel;

/// A device and its speed in tests.
#[derive(Debug, Clone)]
pub struct DeviceUnderTest {
    /// The device.
    pub device: Device,
    /// True if it is fast enough for matrices of millions of nonzeros.
    pub fast: bool,
}

/// Kinds of devices that tests run on.
const KINDS: [&str; 3] = ["cpu", "simulated", "cuda"];

/// Returns whether tests run on a kind of device: `EVENPATH_TEST_DEVICES` lists them, separated by commas;
/// all if it is not set. A GPU that is listed is required.
fn is_wanted(kind: &str) -> bool {
    let Ok(list) = std::env::var("EVENPATH_TEST_DEVICES") else { return true };
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    for name in &names {
        assert!(KINDS.contains(name), "EVENPATH_TEST_DEVICES: `{name}` is not one of {}", KINDS.join(", "));
    }
    names.contains(&kind)
}

fn is_gpu_required() -> bool {
    ["EVENPATH_REQUIRE_GPU", "EVENPATH_TEST_DEVICES"].into_iter().any(|name| std::env::var_os(name).is_some())
}

/// Every present device: the CPU, the simulated GPU in two block and memory orders, and the first NVIDIA GPU.
/// A missing GPU is reported in the output; with `EVENPATH_REQUIRE_GPU` set it is a failure.
/// `EVENPATH_TEST_DEVICES` excludes kinds.
///
/// # Panics
///
/// If there is a GPU that cannot be used, a GPU is required but missing, or a kind is unknown.
pub fn devices() -> Vec<DeviceUnderTest> {
    let mut devices = kernel_devices();
    if is_wanted("cpu") {
        devices.insert(0, DeviceUnderTest { device: Device::cpu(), fast: true });
    }
    devices
}

/// One device of each kind, for tests of what the host does: the order in which blocks run is not their subject.
///
/// # Panics
///
/// The same as for [`devices`].
pub fn device_of_each_kind() -> Vec<Device> {
    let mut devices: Vec<_> = devices().into_iter().map(|under_test| under_test.device).collect();
    devices.dedup_by_key(|device| device.kind());
    devices
}

/// The devices of [`devices`] that run kernels.
///
/// # Panics
///
/// The same as for [`devices`].
pub fn kernel_devices() -> Vec<DeviceUnderTest> {
    let simulated = |block_order, seed| {
        let memory_order = MemoryOrder::Weak(seed);
        let options =
            SimulatedOptions::default().with_block_order(block_order).with_memory_order(memory_order);
        DeviceUnderTest { device: Device::simulated(options), fast: false }
    };
    let mut devices = Vec::new();
    if is_wanted("simulated") {
        devices.extend([simulated(BlockOrder::Ascending, 0), simulated(BlockOrder::Seeded(7), 7)]);
    }
    if !is_wanted("cuda") {
        return devices;
    }
    match Device::cuda(0) {
        Ok(device) => devices.push(DeviceUnderTest { device, fast: true }),
        Err(
            error @ (DeviceError::NoDriver { .. }
            | DeviceError::NoSuchGpu { .. }
            | DeviceError::NoCudaSupport),
        ) => {
            assert!(!is_gpu_required(), "a GPU is required: {error}");
            eprintln!("skipped: cuda:0 ({error})");
        }
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
    devices
}

/// The devices of [`kernel_devices`], and one for which plans make different choices: simulated, with the
/// multiprocessors and cache of a large GPU.
///
/// # Panics
///
/// The same as for [`devices`].
pub fn unlike_devices() -> Vec<DeviceUnderTest> {
    let large =
        SimulatedOptions::default().with_threads(1).with_multiprocessors(132).with_l2_bytes(Some(50 << 20));
    let mut devices = kernel_devices();
    if is_wanted("simulated") {
        devices.push(DeviceUnderTest { device: Device::simulated(large), fast: false });
    }
    devices
}

/// Number of elements per tile of a kernel that has one tile size per combination of types, for tests around
/// the edges of tiles.
///
/// # Panics
///
/// If the kernel has no instance for these types.
pub fn tile_len<K: Kernel>() -> usize {
    let info = K::first().expect("an instance for these types");
    info.block_size as usize * info.items_per_thread as usize
}

/// Tile lengths of all instances of a kernel, whatever their types, in elements.
pub fn tile_lens<K: Kernel>() -> BTreeSet<usize> {
    K::INSTANCES.iter().map(|info| info.block_size as usize * info.items_per_thread as usize).collect()
}

/// Makes a simulated GPU fail with a kernel that writes out of bounds. Returns the name of the kernel.
///
/// # Panics
///
/// If the device does not fail.
pub fn lose(device: &Device) -> &'static str {
    let kernel = FaultOutOfBounds::first().expect("a kernel");
    let mut data = device.zeros::<u32>(1).expect("memory");
    let fault = FaultOutOfBounds { data: data.as_global_mut(), index: 1 << 40 };
    // SAFETY: the simulated GPU detects the index out of bounds, and writes nothing.
    let error = unsafe { device.launch(fault, kernel, 1, 0) }.expect_err("a fault");
    assert!(matches!(error, DeviceError::KernelFault { .. }), "{error}");
    kernel.name
}
