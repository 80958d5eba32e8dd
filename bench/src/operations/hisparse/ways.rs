//! Names of the ways to multiply and to add.

use evenpath::Device;
use evenpath::device::DeviceKind;

/// The queue scheduler of the thesis.
pub(crate) const QUEUE: &str = "queue";
/// From the leaves, which a plan has listed once and divided among warps.
pub(crate) const FROZEN: &str = "frozen";
/// From the CSR copy of a plan: the default on a GPU.
pub(crate) const COPIED: &str = "copied";
/// From the leaves on the threads of the CPU, which lists them by row in every product. The only way that it has.
pub(crate) const BY_ROW: &str = "leaves by row";

/// The sum by the queue scheduler, after the name of the operation. Without it, the sum is by levels.
pub(crate) const QUEUES: &str = "queues";

/// Returns whether a device has the queue scheduler, and plans with several methods. The CPU has one way for all.
pub(super) fn has_methods(device: &Device) -> bool {
    device.kind() != DeviceKind::Cpu
}
