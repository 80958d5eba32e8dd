//! Sizes of the results of set operations.

use evenpath_kernels::sets::{RESULT_SIZE, SetCount};

use super::cut::{SetTiles, WAITS, host_plan, temporary_bytes};
use crate::device::{DeviceSlice, instance};
use crate::keys::Key;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operation::SetOperation;
use crate::sequence::merge::sequences;

/// Counts the elements of a result without writing it: `a` has m sorted keys, `b` n, the result at most m + n. Waits
/// for the device.
///
/// ```
/// use evenpath::sets::{self, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (a, b) = (device.upload(&[1_u32, 2, 5])?, device.upload(&[2_u32, 7])?);
/// assert_eq!(sets::count(&a, &b, SetOperation::Union)?, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the inputs are on different devices, there is not enough memory for the
/// [temporary bytes](count_temporary_bytes), or the device was lost.
pub fn count<K: Key>(
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
    operation: SetOperation,
) -> Result<usize, OpError> {
    let device = a.device();
    device.refuse_in_graph(WAITS)?;
    device.check_same(b.device())?;
    if let Some(plan) = host_plan(a, b, operation) {
        return Ok(plan.len());
    }
    let (a, b) = (&Aligned::new(a)?, &Aligned::new(b)?);
    let SetTiles { tiles, starts, mut states } = SetTiles::new::<K, SetCount<K>>(a, b)?;
    let kernel = SetCount {
        inputs: sequences(a, b),
        starts: starts.as_global(),
        states: states.as_global_mut(),
        operation: operation.code(),
    };
    let launch = device.kernel().blocks(tiles as usize)?;
    // SAFETY: as for keys.
    unsafe { launch.launch(kernel) }?;
    Ok(states.get(RESULT_SIZE)? as usize)
}

/// Bytes of device memory that [`count`] takes on a GPU beside its operands: 16 per tile of about 3000 keys or more.
///
/// ```
/// assert!(evenpath::sets::count_temporary_bytes::<u32>(1 << 20, 1000) < 1 << 20);
/// ```
pub fn count_temporary_bytes<K: Key>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<SetCount<K>>(), a_len, b_len)
}
