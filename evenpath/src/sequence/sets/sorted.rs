//! Checks that keys are sorted.

use evenpath_kernels::sets::FirstDescent;

use crate::device::{DeviceError, DeviceSlice};
use crate::keys::Key;
use crate::operand::OpError;

/// Checks that keys do not decrease: `keys` has n elements, which are read once. Waits for the device.
///
/// ```
/// use evenpath::{Device, sets};
///
/// let device = Device::cpu();
/// assert!(sets::check_sorted(&device.upload(&[1_u32, 2, 2])?).is_ok());
/// let error = sets::check_sorted(&device.upload(&[1_u32, 3, 2])?).unwrap_err();
/// assert!(error.to_string().contains("2"), "the third key is less than the second");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpError::Unsorted`], with the first key that is less than its predecessor. If the device was lost.
pub fn check_sorted<K: Key>(keys: &DeviceSlice<K>) -> Result<(), OpError> {
    keys.device().refuse_in_graph("keys are checked, for which the call waits")?;
    first_descent(keys)?.map_or(Ok(()), |index| Err(OpError::Unsorted { input: "keys", index }))
}

/// The first key that is less than its predecessor.
pub(super) fn first_descent<K: Key>(keys: &DeviceSlice<K>) -> Result<Option<usize>, OpError> {
    Ok(survey(keys, "keys")?.and_then(|survey| survey.first_descent))
}

/// Result of [`survey`].
pub(crate) struct Survey {
    /// The first key that is less than its predecessor.
    pub(crate) first_descent: Option<usize>,
    /// The bits of the first key.
    pub(crate) first: u64,
    /// The bits of the last key.
    pub(crate) last: u64,
}

/// Returns whether keys are sorted, and the ends of their range, if any; waits for the device once. `what`
/// names them in errors. The keys must not change until the operation is done with them, so no graph may
/// write them.
pub(crate) fn survey<K: evenpath_kernels::Key + bytemuck::Pod>(
    keys: &DeviceSlice<K>,
    what: &'static str,
) -> Result<Option<Survey>, OpError> {
    let device = keys.device();
    if keys.is_in_graph() {
        return Err(DeviceError::WrittenByGraph { what }.into());
    }
    if keys.is_empty() {
        return Ok(None);
    }
    if let Some(keys) = keys.host_slice() {
        let first_descent = keys.windows(2).position(|pair| pair[1] < pair[0]).map(|index| index + 1);
        let [first, last] = [keys[0], keys[keys.len() - 1]].map(evenpath_simt::Element::to_bits);
        return Ok(Some(Survey { first_descent, first, last }));
    }
    let launch = device.kernel().items(keys.len())?;
    let mut found = device.upload(&[u64::MAX; 3])?;
    let kernel =
        FirstDescent { keys: keys.as_global(), found: found.as_global_mut(), len: keys.len() as u64 };
    // SAFETY: the views are of live buffers on this device, one with the length passed to the kernel, which is not zero, one
    // with three elements.
    unsafe { launch.launch(kernel) }?;
    let [descent, first, last] = found.first::<3>()?;
    let first_descent = usize::try_from(descent).ok().filter(|&index| index < keys.len());
    Ok(Some(Survey { first_descent, first, last }))
}
