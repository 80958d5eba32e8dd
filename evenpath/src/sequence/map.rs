//! Functions of every element of a vector.

use evenpath_kernels::map::{MapElements, Mapping, PowerElements, code};

use crate::device::{DeviceError, DeviceSlice};
use crate::operand::OpError;
use crate::operation::Map;
use crate::{Value, cpu};

/// Replaces every element of y, of any length, by a function of it. Runs in the order of the device's stream; the
/// call does not wait. Results are the same to the last bit on every device.
///
/// ```
/// use evenpath::vector::{self, Map};
/// use evenpath::Device;
///
/// let mut y = Device::best()?.upload(&[-4.0, 0.5])?;
/// vector::map(Map::Reciprocal, &mut y)?;
/// assert_eq!(y.download()?, [-0.25, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the device was lost.
pub fn map<V: Value>(map: Map<V>, y: &mut DeviceSlice<V>) -> Result<(), OpError> {
    Ok(apply(map.mapping(), y)?)
}

/// Replaces every element by a function of it, by one launch.
pub(crate) fn apply<V: Value>(mapping: Mapping<V>, y: &mut DeviceSlice<V>) -> Result<(), DeviceError> {
    if let Some(y) = y.host_slice_mut() {
        cpu::map(mapping, y);
        return Ok(());
    }
    if mapping.code == code::POWER {
        let launch = y.device().kernel().threads(y.len())?;
        let kernel = PowerElements { y: y.as_global_mut(), exponent: mapping.first, len: y.len() as u64 };
        // SAFETY: the view is of `len` elements on this device; buffers are freed in the stream's order.
        return unsafe { launch.launch(kernel) };
    }
    let launch = y.device().kernel().threads(y.len())?;
    let kernel = MapElements { y: y.as_global_mut(), mapping, len: y.len() as u64 };
    // SAFETY: the view is of `len` elements on this device; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }
}
