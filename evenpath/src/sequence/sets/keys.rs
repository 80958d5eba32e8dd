//! Set operations on keys.

use evenpath_kernels::sets::{SetKeys, SetPartition, keys_shared_bytes};

use super::count::count;
use super::cut::{SetTiles, WAITS, host_plan, result_len, temporary_bytes};
use crate::cpu::SetPlan;
use crate::device::{DeviceSlice, DeviceVec, Kernels, instance};
use crate::keys::Key;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::check_room;
use crate::operation::SetOperation;
use crate::sequence::merge::sequences;

/// Combines two sets of keys: `a` has m sorted keys, `b` n, the result at most m + n. Waits for the device to learn
/// their number.
///
/// ```
/// use evenpath::sets::{self, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (a, b) = (device.upload(&[1_u32, 2, 5])?, device.upload(&[2_u32, 7])?);
/// assert_eq!(sets::keys(&a, &b, SetOperation::Union)?.download()?, [1, 2, 5, 7]);
/// assert_eq!(sets::keys(&a, &b, SetOperation::Difference)?.download()?, [1, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// On a GPU the result is computed in one pass, in memory for the [largest result](SetOperation::largest_result), which
/// the vector keeps until it is dropped. [`DeviceVec::shrink_to_fit`] frees the rest at the cost of a copy. To allocate
/// the exact size from the start, call [`count`] and [`keys_into`], which read the inputs twice.
///
/// # Errors
///
/// If the inputs are on different devices, there is not enough memory for the largest result and the [temporary
/// bytes](keys_temporary_bytes), the inputs are unsorted such that the result exceeds the largest one, or the device was
/// lost.
pub fn keys<K: Key>(
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
    operation: SetOperation,
) -> Result<DeviceVec<K>, OpError> {
    let device = a.device();
    device.refuse_in_graph(WAITS)?;
    device.check_same(b.device())?;
    if let Some(plan) = host_plan(a, b, operation) {
        let mut result = device.uninitialized(plan.len())?;
        write_keys(&plan, &mut result);
        return Ok(result);
    }
    let mut result = device.uninitialized(operation.largest_result(a.len(), b.len()))?;
    let len = keys_into(a, b, operation, &mut result)?;
    result.truncate(len);
    Ok(result)
}

/// Combines two sets of keys like [`keys()`], into an existing vector: `a` has m sorted keys, `b` n, and `result` room
/// for the result. Returns the number of keys at the start of `result`; the rest is unchanged. Waits for the device.
///
/// ```
/// use evenpath::sets::{self, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (a, b) = (device.upload(&[1_u32, 2, 5])?, device.upload(&[2_u32, 7])?);
/// let mut result = device.zeros(5)?;
/// assert_eq!(sets::keys_into(&a, &b, SetOperation::Union, &mut result)?, 4);
/// assert_eq!(result.download()?, [1, 2, 5, 7, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// If `result` has room for the [largest result](SetOperation::largest_result), there is one pass over the data;
/// otherwise the result is counted first.
///
/// # Errors
///
/// If `result` is too small; then nothing is written. Otherwise the same as for [`keys()`].
pub fn keys_into<K: Key>(
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
    operation: SetOperation,
    result: &mut DeviceSlice<K>,
) -> Result<usize, OpError> {
    let device = a.device();
    device.refuse_in_graph(WAITS)?;
    device.check_same(b.device())?;
    device.check_same(result.device())?;
    if let Some(plan) = host_plan(a, b, operation) {
        check_room("result", result.len(), plan.len())?;
        write_keys(&plan, result);
        return Ok(plan.len());
    }
    if result.len() < operation.largest_result(a.len(), b.len()) {
        check_room("result", result.len(), count(a, b, operation)?)?;
    }
    let (a, b) = (&Aligned::new(a)?, &Aligned::new(b)?);
    device.prepare(|| Kernels::default().and::<SetPartition<K>>().and::<SetKeys<K>>())?;
    let info = instance::<SetKeys<K>>();
    let shared = keys_shared_bytes::<K>(info.block_size as usize, info.items_per_thread as usize);
    let launcher = device.kernel::<SetKeys<K>>().shared_bytes(shared);
    let SetTiles { tiles, starts, mut states } = SetTiles::new::<K, SetKeys<K>>(a, b)?;
    let launch = launcher.resident(tiles)?;
    let kernel = SetKeys {
        inputs: sequences(a, b),
        starts: starts.as_global(),
        states: states.as_global_mut(),
        result: result.as_global_mut(),
        capacity: result.len() as u64,
        operation: operation.code(),
        tiles,
    };
    // SAFETY: the views are of buffers on this device, with the lengths passed to the kernel; the partition wrote
    // `starts`, which are inside the inputs for any contents, and `states`; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    result_len(&states, result.len(), a, b)
}

/// Bytes of device memory that [`keys()`] takes on a GPU beside its operands and result: 16 per tile of about 3000 keys
/// or more. The CPU uses a similar amount of host memory.
///
/// ```
/// assert!(evenpath::sets::keys_temporary_bytes::<u32>(1 << 20, 1000) < 1 << 20);
/// ```
pub fn keys_temporary_bytes<K: Key>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<SetKeys<K>>(), a_len, b_len)
}

/// Writes the result of the plan to a vector on the CPU that has room for it.
fn write_keys<K: Key>(plan: &SetPlan<'_, K>, result: &mut DeviceSlice<K>) {
    if let Some(result) = result.host_slice_mut() {
        plan.write_keys(&mut result[..plan.len()]);
    }
}
