//! Vectors of `f32` from those of `f64`, and the other way.

use evenpath_kernels::convert::{NarrowElements, WidenElements};

use crate::cpu;
use crate::device::DeviceSlice;
use crate::operand::OpError;
use crate::operand::check::check_vector;

/// Writes `x` to `y`, rounded to nearest; out of range it is infinite. Both have n elements. Does not wait.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&[0.1_f64, 1e300])?, device.zeros(2)?);
/// vector::narrow(&x, &mut y)?;
/// assert_eq!(y.download()?, [0.1_f32, f32::INFINITY]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the vectors differ in length or are on two devices; then nothing is written. If the device was lost.
pub fn narrow(x: &DeviceSlice<f64>, y: &mut DeviceSlice<f32>) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
        cpu::convert_elements(x, y, |x| x as f32);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel = NarrowElements { x: x.as_global(), y: y.as_global_mut(), len: x.len() as u64 };
    // SAFETY: the views are of `len` elements on this device; buffers are freed in the stream's order.
    Ok(unsafe { launch.launch(kernel) }?)
}

/// Writes `x` to `y`, exactly. Both have n elements. Does not wait.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let (x, mut y) = (device.upload(&[0.5_f32, 1e30])?, device.zeros(2)?);
/// vector::widen(&x, &mut y)?;
/// assert_eq!(y.download()?, [0.5_f64, f64::from(1e30_f32)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the vectors differ in length or are on two devices; then nothing is written. If the device was lost.
pub fn widen(x: &DeviceSlice<f32>, y: &mut DeviceSlice<f64>) -> Result<(), OpError> {
    check_vector(x.device(), ("y", y), x.len())?;
    if let (Some(x), Some(y)) = (x.host_slice(), y.host_slice_mut()) {
        cpu::convert_elements(x, y, f64::from);
        return Ok(());
    }
    let launch = x.device().kernel().threads(x.len())?;
    let kernel = WidenElements { x: x.as_global(), y: y.as_global_mut(), len: x.len() as u64 };
    // SAFETY: the views are of `len` elements on this device; buffers are freed in the stream's order.
    Ok(unsafe { launch.launch(kernel) }?)
}
