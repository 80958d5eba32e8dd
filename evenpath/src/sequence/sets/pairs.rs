//! Set operations on keys with values.

use evenpath_kernels::sets::{SetPairs, SetPartition, pairs_shared_bytes};

use super::combine::Combine;
use super::count::count;
use super::cut::{SetTiles, WAITS, host_plan, result_len, temporary_bytes};
use crate::cpu::SetPlan;
use crate::device::{DeviceSlice, DeviceVec, Kernels, instance};
use crate::keys::{Key, PairValue};
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::check_room;
use crate::operand::pairs::{Pairs, bits, bits_mut};
use crate::operation::SetOperation;
use crate::sequence::merge::sequences;

/// Combines two sets of pairs: `a` has m pairs with sorted keys, `b` n, the results at most m + n elements each. Waits
/// for the device to learn their number. Memory is as for [`keys()`](crate::sets::keys()).
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::sets::{self, Combine, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (a, x) = (device.upload(&[1_u32, 2])?, device.upload(&[0.5, 1.0])?);
/// let (b, y) = (device.upload(&[2_u32, 7])?, device.upload(&[10.0, 20.0])?);
/// let (a, b) = (Pairs::new(&a, &x), Pairs::new(&b, &y));
/// let (keys, sums) = sets::pairs(a, b, SetOperation::Union, Combine::Sum)?;
/// assert_eq!((keys.download()?, sums.download()?), (vec![1, 2, 7], vec![0.5, 11.0, 20.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the numbers of keys and values differ; otherwise the same as for [`keys()`](crate::sets::keys()), with
/// [temporary bytes for pairs](pairs_temporary_bytes).
pub fn pairs<K: Key, V: PairValue>(
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
    operation: SetOperation,
    combine: Combine,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let device = a.keys.device();
    device.refuse_in_graph(WAITS)?;
    a.check(device, "values of a")?;
    b.check(device, "values of b")?;
    if let Some(plan) = host_plan(a.keys, b.keys, operation) {
        let (mut keys, mut values) = (device.uninitialized(plan.len())?, device.uninitialized(plan.len())?);
        write_pairs(&plan, a, b, combine, &mut keys, &mut values);
        return Ok((keys, values));
    }
    let room = operation.largest_result(a.keys.len(), b.keys.len());
    let (mut keys, mut values) = (device.uninitialized(room)?, device.uninitialized(room)?);
    let len = pairs_into(a, b, operation, combine, &mut keys, &mut values)?;
    keys.truncate(len);
    values.truncate(len);
    Ok((keys, values))
}

/// Combines two sets of pairs like [`pairs()`], into existing vectors: `a` has m pairs with sorted keys, `b` n, and
/// `keys` and `values` room for the results. Returns the number of pairs at the start of `keys` and `values`; the rest
/// is unchanged. Otherwise like [`keys_into`](crate::sets::keys_into).
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::sets::{self, Combine, SetOperation};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (a, x) = (device.upload(&[1_u32, 2])?, device.upload(&[0.5, 1.0])?);
/// let (b, y) = (device.upload(&[2_u32, 7])?, device.upload(&[10.0, 20.0])?);
/// let (a, b) = (Pairs::new(&a, &x), Pairs::new(&b, &y));
/// let (mut keys, mut values) = (device.zeros(4)?, device.zeros(4)?);
/// let operation = SetOperation::Intersection;
/// assert_eq!(sets::pairs_into(a, b, operation, Combine::First, &mut keys, &mut values)?, 1);
/// assert_eq!((keys.get(0)?, values.get(0)?), (2, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If an output is too small, or the numbers of keys and values differ; then nothing is written. Otherwise
/// the same as for [`pairs()`].
pub fn pairs_into<K: Key, V: PairValue>(
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
    operation: SetOperation,
    combine: Combine,
    keys: &mut DeviceSlice<K>,
    values: &mut DeviceSlice<V>,
) -> Result<usize, OpError> {
    let device = a.keys.device();
    device.refuse_in_graph(WAITS)?;
    a.check(device, "values of a")?;
    b.check(device, "values of b")?;
    device.check_same(keys.device())?;
    device.check_same(values.device())?;
    if let Some(plan) = host_plan(a.keys, b.keys, operation) {
        check_room("keys", keys.len(), plan.len())?;
        check_room("values", values.len(), plan.len())?;
        write_pairs(&plan, a, b, combine, keys, values);
        return Ok(plan.len());
    }
    let room = keys.len().min(values.len());
    if room < operation.largest_result(a.keys.len(), b.keys.len()) {
        let len = count(a.keys, b.keys, operation)?;
        check_room("keys", keys.len(), len)?;
        check_room("values", values.len(), len)?;
    }
    let (a_keys, b_keys) = (&Aligned::new(a.keys)?, &Aligned::new(b.keys)?);
    device.prepare(|| Kernels::default().and::<SetPartition<K>>().and::<SetPairs<K, V::Bits>>())?;
    let info = instance::<SetPairs<K, V::Bits>>();
    let shared = pairs_shared_bytes::<K>(info.block_size as usize, info.items_per_thread as usize);
    let launcher = device.kernel::<SetPairs<K, V::Bits>>().shared_bytes(shared);
    let SetTiles { tiles, starts, mut states } = SetTiles::new::<K, SetPairs<K, V::Bits>>(a_keys, b_keys)?;
    let launch = launcher.resident(tiles)?;
    let kernel = SetPairs {
        inputs: sequences(a_keys, b_keys),
        a_values: bits(a.values),
        b_values: bits(b.values),
        starts: starts.as_global(),
        states: states.as_global_mut(),
        keys: keys.as_global_mut(),
        values: bits_mut(values),
        capacity: room as u64,
        operation: operation.code(),
        combine: combine.of::<V>().code(),
        tiles,
    };
    // SAFETY: as for keys alone; there is one value per key, and the width of values is that of the kernel.
    unsafe { launch.launch(kernel) }?;
    result_len(&states, room, a_keys, b_keys)
}

/// Bytes of device memory that [`pairs()`] takes on a GPU beside its operands and results: 16 per tile of about 2300
/// pairs or more.
///
/// ```
/// assert!(evenpath::sets::pairs_temporary_bytes::<u32, f64>(1 << 20, 1000) < 1 << 20);
/// ```
pub fn pairs_temporary_bytes<K: Key, V: PairValue>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<SetPairs<K, V::Bits>>(), a_len, b_len)
}

/// Writes the result of the plan to vectors on the CPU that have room for it.
fn write_pairs<K: Key, V: PairValue>(
    plan: &SetPlan<'_, K>,
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
    combine: Combine,
    keys: &mut DeviceSlice<K>,
    values: &mut DeviceSlice<V>,
) {
    let (inputs, len) = (a.host().zip(b.host()), plan.len());
    let outputs = keys.host_slice_mut().zip(values.host_slice_mut());
    if let (Some(((_, a), (_, b))), Some((keys, values))) = (inputs, outputs) {
        plan.write_pairs(a, b, |a, b| combine.apply(a, b), &mut keys[..len], &mut values[..len]);
    }
}
