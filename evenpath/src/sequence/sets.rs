//! Union, intersection, difference and symmetric difference of two sorted sequences on a device.
//!
//! Sequences are multisets, as in `std::set_union` and its family: the n-th copy of a key in A matches the n-th in B.
//! For a key with m copies in A and n in B:
//!
//! | operation | copies in the result | which copies |
//! |---|---|---|
//! | union | max(m, n) | all of A, then the last n − m of B |
//! | intersection | min(m, n) | the first of A |
//! | difference | max(m − n, 0) | the last of A |
//! | symmetric difference | \|m − n\| | the last of the sequence with more |
//!
//! Values stay with their keys. A match has A's value or, with [`Combine::Sum`], the sum of both.
//!
//! Keys are [`Key`]s; (row, column) tuples are packed by [`coordinate`](crate::keys::coordinate). Method: balanced path
//! (Baxter, "Modern GPU", 2013; Dalton et al., IPDPS 2015): tiles of equal work, regardless of how many copies a key
//! has, and one pass over the data. Results are bitwise identical from run to run.
//!
//! The inputs must be sorted; [`check_sorted`] checks that. If they are not, the result is an unspecified sequence or an
//! error. No memory other than the outputs is written.
//!
//! ```
//! use evenpath::key::Pairs;
//! use evenpath::sets::{self, Combine, SetOperation};
//! use evenpath::Device;
//!
//! let device = Device::cpu();
//! let (a, b) = (device.upload(&[1_u32, 2, 2, 5])?, device.upload(&[2_u32, 5, 7])?);
//! assert_eq!(sets::keys(SetOperation::Union, &a, &b)?.download()?, [1, 2, 2, 5, 7]);
//! assert_eq!(sets::count(SetOperation::Intersection, &a, &b)?, 2);
//!
//! let (x, y) = (device.upload(&[0.5, 1.0, 2.0, 3.0])?, device.upload(&[10.0, 20.0, 30.0])?);
//! let (_, sums) = sets::pairs(SetOperation::Union, Pairs::new(&a, &x), Pairs::new(&b, &y), Combine::Sum)?;
//! assert_eq!(sums.download()?, [0.5, 11.0, 2.0, 23.0, 30.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use evenpath_kernels::key::Combine as KernelCombine;
use evenpath_kernels::sets::{
    FirstDescent, RESULT_SIZE, SetCount, SetKeys, SetPairs, SetPartition, keys_shared_bytes,
    pairs_shared_bytes, state_words,
};
use evenpath_simt::kernel::{Kernel, KernelInfo};

use super::merge::sequences;
use crate::cpu::SetPlan;
use crate::device::{DeviceError, DeviceKind, DeviceSlice, DeviceVec, Kernels, instance};
use crate::keys::{Key, PairValue};
use crate::names::named;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operand::check::check_room;
use crate::operand::pairs::{Pairs, bits, bits_mut};

pub use crate::operation::SetOperation;

/// The value of a match in unions and intersections of pairs. The other operations keep no matches.
///
/// ```
/// use evenpath::key::Pairs;
/// use evenpath::sets::{Combine, SetOperation, pairs};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let (keys, values) = (device.upload(&[1_u32, 3])?, device.upload(&[0.5_f32, 2.0])?);
/// let own = Pairs::new(&keys, &values);
/// let (_, first) = pairs(SetOperation::Union, own, own, Combine::First)?;
/// let (_, sums) = pairs(SetOperation::Union, own, own, Combine::Sum)?;
/// assert_eq!((first.download()?, sums.download()?), (vec![0.5, 2.0], vec![1.0, 4.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Combine {
    /// A's value, as in `std::set_union`.
    #[default]
    First,
    /// A's value plus B's; integers wrap around.
    Sum,
}

named! {
    Combine, "way to combine values":
    First = "first",
    Sum = "sum",
}

/// Reason why graphs hold no set operation.
const WAITS: &str = "a set operation waits for the size of its result";

/// Returns the keys of the result in a new vector. Waits for the device to learn their number.
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
    operation: SetOperation,
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
) -> Result<DeviceVec<K>, OpError> {
    let device = a.device();
    device.refuse_in_graph(WAITS)?;
    device.check_same(b.device())?;
    if let Some(plan) = host_plan(operation, a, b) {
        let mut result = device.uninitialized(plan.len())?;
        write_keys(&plan, &mut result);
        return Ok(result);
    }
    let mut result = device.uninitialized(operation.largest_result(a.len(), b.len()))?;
    let len = keys_into(operation, a, b, &mut result)?;
    result.truncate(len);
    Ok(result)
}

/// Writes the keys of the result to the start of `result`, and returns their number. Waits for the device.
/// The rest of `result` is unchanged.
///
/// If `result` has room for the [largest result](SetOperation::largest_result), there is one pass over the data;
/// otherwise the result is counted first.
///
/// # Errors
///
/// If `result` is too small; then nothing is written. Otherwise the same as for [`keys`].
pub fn keys_into<K: Key>(
    operation: SetOperation,
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
    result: &mut DeviceSlice<K>,
) -> Result<usize, OpError> {
    let device = a.device();
    device.refuse_in_graph(WAITS)?;
    device.check_same(b.device())?;
    device.check_same(result.device())?;
    if let Some(plan) = host_plan(operation, a, b) {
        check_room("result", result.len(), plan.len())?;
        write_keys(&plan, result);
        return Ok(plan.len());
    }
    if result.len() < operation.largest_result(a.len(), b.len()) {
        check_room("result", result.len(), count(operation, a, b)?)?;
    }
    let (a, b) = (&Aligned::new(a)?, &Aligned::new(b)?);
    device.prepare(|| Kernels::default().and::<SetPartition<K>>().and::<SetKeys<K>>())?;
    let info = instance::<SetKeys<K>>();
    let shared = keys_shared_bytes::<K>(info.block_size as usize, info.items_per_thread as usize);
    let launcher = device.kernel::<SetKeys<K>>().shared_bytes(shared);
    let Cut { tiles, starts, mut states } = Cut::new::<K, SetKeys<K>>(a, b)?;
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

/// Returns the pairs of the result in new vectors. Waits for the device. Memory is as for [`keys`].
///
/// # Errors
///
/// If the numbers of keys and values differ; otherwise the same as for [`keys`], with [temporary bytes for
/// pairs](pairs_temporary_bytes).
pub fn pairs<K: Key, V: PairValue>(
    operation: SetOperation,
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
    combine: Combine,
) -> Result<(DeviceVec<K>, DeviceVec<V>), OpError> {
    let device = a.keys.device();
    device.refuse_in_graph(WAITS)?;
    a.check(device, "values of a")?;
    b.check(device, "values of b")?;
    if let Some(plan) = host_plan(operation, a.keys, b.keys) {
        let (mut keys, mut values) = (device.uninitialized(plan.len())?, device.uninitialized(plan.len())?);
        write_pairs(&plan, a, b, combine, &mut keys, &mut values);
        return Ok((keys, values));
    }
    let room = operation.largest_result(a.keys.len(), b.keys.len());
    let (mut keys, mut values) = (device.uninitialized(room)?, device.uninitialized(room)?);
    let len = pairs_into(operation, a, b, combine, &mut keys, &mut values)?;
    keys.truncate(len);
    values.truncate(len);
    Ok((keys, values))
}

/// Writes the pairs of the result to the start of `keys` and `values`, and returns their number. Waits for
/// the device. Otherwise like [`keys_into`].
///
/// # Errors
///
/// If an output is too small, or the numbers of keys and values differ; then nothing is written. Otherwise
/// the same as for [`keys`].
pub fn pairs_into<K: Key, V: PairValue>(
    operation: SetOperation,
    a: Pairs<'_, K, V>,
    b: Pairs<'_, K, V>,
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
    if let Some(plan) = host_plan(operation, a.keys, b.keys) {
        check_room("keys", keys.len(), plan.len())?;
        check_room("values", values.len(), plan.len())?;
        write_pairs(&plan, a, b, combine, keys, values);
        return Ok(plan.len());
    }
    let room = keys.len().min(values.len());
    if room < operation.largest_result(a.keys.len(), b.keys.len()) {
        let len = count(operation, a.keys, b.keys)?;
        check_room("keys", keys.len(), len)?;
        check_room("values", values.len(), len)?;
    }
    let (a_keys, b_keys) = (&Aligned::new(a.keys)?, &Aligned::new(b.keys)?);
    device.prepare(|| Kernels::default().and::<SetPartition<K>>().and::<SetPairs<K, V::Bits>>())?;
    let info = instance::<SetPairs<K, V::Bits>>();
    let shared = pairs_shared_bytes::<K>(info.block_size as usize, info.items_per_thread as usize);
    let launcher = device.kernel::<SetPairs<K, V::Bits>>().shared_bytes(shared);
    let Cut { tiles, starts, mut states } = Cut::new::<K, SetPairs<K, V::Bits>>(a_keys, b_keys)?;
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

/// Returns the number of elements of the result, without writing it. Waits for the device.
///
/// # Errors
///
/// If the inputs are on different devices, there is not enough memory for the temporary bytes, the same as for [`keys`],
/// or the device was lost.
pub fn count<K: Key>(
    operation: SetOperation,
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
) -> Result<usize, OpError> {
    let device = a.device();
    device.refuse_in_graph(WAITS)?;
    device.check_same(b.device())?;
    if let Some(plan) = host_plan(operation, a, b) {
        return Ok(plan.len());
    }
    let (a, b) = (&Aligned::new(a)?, &Aligned::new(b)?);
    let Cut { tiles, starts, mut states } = Cut::new::<K, SetCount<K>>(a, b)?;
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

/// Checks that keys do not decrease, in one pass over them. Waits for the device.
///
/// # Errors
///
/// [`OpError::Unsorted`], with the first key that is less than its predecessor. If the device was lost.
pub fn check_sorted<K: Key>(keys: &DeviceSlice<K>) -> Result<(), OpError> {
    keys.device().refuse_in_graph("keys are checked, for which the call waits")?;
    first_descent(keys)?.map_or(Ok(()), |index| Err(OpError::Unsorted { input: "keys", index }))
}

/// Bytes of temporary device memory that [`keys`] and [`count`] use: 16 per tile of about 3000 keys or more. The CPU
/// uses a similar amount of host memory.
pub fn keys_temporary_bytes<K: Key>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<SetKeys<K>>(), (a_len as u64).saturating_add(b_len as u64))
}

/// Bytes of temporary device memory that [`pairs`] uses: 16 per tile of about 2300 pairs or more.
pub fn pairs_temporary_bytes<K: Key, V: PairValue>(a_len: usize, b_len: usize) -> u64 {
    temporary_bytes(instance::<SetPairs<K, V::Bits>>(), (a_len as u64).saturating_add(b_len as u64))
}

fn temporary_bytes(info: &KernelInfo, elements: u64) -> u64 {
    let tiles = elements.div_ceil(info.tile_items() as u64);
    (tiles + 1 + state_words(0) as u64 + tiles) * 8
}

impl Combine {
    fn of<V: PairValue>(self) -> KernelCombine {
        match self {
            Self::First => KernelCombine::First,
            Self::Sum => V::ADD,
        }
    }

    fn apply<V: PairValue>(self, a: V, b: V) -> V {
        match self {
            Self::First => a,
            Self::Sum => a.add(b),
        }
    }
}

/// The operation on the CPU, if the keys are there.
fn host_plan<'k, K: Key>(
    operation: SetOperation,
    a: &'k DeviceSlice<K>,
    b: &'k DeviceSlice<K>,
) -> Option<SetPlan<'k, K>> {
    if a.device().kind() != DeviceKind::Cpu {
        return None;
    }
    Some(SetPlan::new(a.host_slice()?, b.host_slice()?, operation))
}

/// Writes the result of the plan to a vector on the CPU that has room for it.
fn write_keys<K: Key>(plan: &SetPlan<'_, K>, result: &mut DeviceSlice<K>) {
    if let Some(result) = result.host_slice_mut() {
        plan.write_keys(&mut result[..plan.len()]);
    }
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

/// Two inputs split into the tiles of a set operation's kernel.
struct Cut {
    tiles: u32,
    /// Start of each tile, as encoded by the partition kernel.
    starts: DeviceVec<u64>,
    /// Tickets, the size of the result, and look-back states.
    states: DeviceVec<u64>,
}

impl Cut {
    fn new<K: Key, S: Kernel>(a: &Aligned<'_, K>, b: &Aligned<'_, K>) -> Result<Self, OpError> {
        let device = a.device();
        let tiles = device.kernel::<S>().items(a.len() + b.len())?.grid();
        let launch = device.kernel().threads(tiles as usize + 1)?;
        let mut starts = device.uninitialized(tiles as usize + 1)?;
        let mut states = device.uninitialized(state_words(tiles))?;
        let kernel = SetPartition {
            inputs: sequences(a, b),
            starts: starts.as_global_mut(),
            states: states.as_global_mut(),
            tiles,
            tile_items: instance::<S>().tile_items() as u32,
        };
        // SAFETY: the views are of live buffers on this device, with the lengths passed to the kernel.
        unsafe { launch.launch(kernel) }?;
        Ok(Self { tiles, starts, states })
    }
}

/// The size of the result, which fits in its room if the inputs are sorted.
fn result_len<K: Key>(
    states: &DeviceSlice<u64>,
    room: usize,
    a: &DeviceSlice<K>,
    b: &DeviceSlice<K>,
) -> Result<usize, OpError> {
    let len = states.get(RESULT_SIZE)? as usize;
    if len <= room {
        return Ok(len);
    }
    for (input, keys) in [("a", a), ("b", b)] {
        if let Some(index) = first_descent(keys)? {
            return Err(OpError::Unsorted { input, index });
        }
    }
    Err(OpError::Length { operand: "result", len: room, needed: len })
}

/// The first key that is less than its predecessor.
fn first_descent<K: Key>(keys: &DeviceSlice<K>) -> Result<Option<usize>, OpError> {
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
