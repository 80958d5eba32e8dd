//! Common parts of the cases.

use std::path::Path;
use std::process::Command;

use evenpath::device::{Device, DeviceError, DeviceVec};
use evenpath_kernels::testing::{ConditionalBarrier, FaultOutOfBounds};
use evenpath_simt::kernel::Kernel;

/// The kernel that [`store`] launches.
pub(crate) const STORE: &str = "testing_fault_out_of_bounds";
/// The kernel that [`rotate`] launches.
pub(crate) const ROTATE: &str = "testing_conditional_barrier";

pub(crate) const PTX_FOLDER_VARIABLE: &str = "EVENPATH_PTX_DIR";
/// Environment variable that names the case of a child process.
pub(crate) const CHILD_VARIABLE: &str = "EVENPATH_TEST_CHILD";

/// Defines `CASES`, the tests of a module by name.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CASES: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}
pub(crate) use cases;

pub(crate) fn gpu() -> Device {
    Device::cuda(0).expect("the GPU that main found")
}

/// Stores 1 at `index`, inside or outside the buffer.
pub(crate) fn store(data: &mut DeviceVec<u32>, index: u64) -> Result<(), DeviceError> {
    let device = data.device().clone();
    let kernel = FaultOutOfBounds { data: data.as_global_mut(), index };
    // SAFETY: every caller keeps the buffer until the device is done or lost; an index outside of it is
    // intended, and outside all memory mapped on a GPU.
    unsafe { device.launch(kernel, FaultOutOfBounds::INSTANCES[0], 1, 0) }
}

/// Rotates the buffer, of at most 128 elements, by one place.
pub(crate) fn rotate(data: &mut DeviceVec<u32>) -> Result<(), DeviceError> {
    let device = data.device().clone();
    let kernel = ConditionalBarrier { len: data.len() as u32, data: data.as_global_mut() };
    // SAFETY: every caller keeps the buffer until the device is done or lost.
    unsafe { device.launch(kernel, ConditionalBarrier::INSTANCES[0], 1, 0) }
}

pub(crate) fn assert_works(device: &Device) {
    let mut data = device.upload(&[5_u32, 6, 7]).expect("a small buffer");
    store(&mut data, 1).expect("a launch");
    assert_eq!(data.download().expect("a copy"), [5, 1, 7]);
}

/// Runs a case in a process of its own, with more in its environment.
pub(crate) fn run_in_child(name: &str, environment: &[(&str, &Path)]) {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .env(CHILD_VARIABLE, name)
        .envs(environment.iter().copied())
        .output()
        .expect("a child process");
    let text = [output.stdout, output.stderr].concat();
    print!("{}", String::from_utf8_lossy(&text));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&text));
}
