//! Reductions of runs of equal keys.

use evenpath_kernels::reduce::ReduceByKey;

use super::launch::{arguments, bytes_of, check_marks, check_output, write_host};
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, variant};
use crate::element::Element;
use crate::keys::Key;
use crate::operand::OpError;
use crate::operand::aligned::Aligned;
use crate::operation::Operator;
use crate::sequence::scan::{launch_over, look_back_state};

/// Reduces runs of equal keys: `keys` and `values` have n elements each, the results one per run, its key and its
/// sum. Waits for the device to learn the number of runs.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::{Device, reduce};
///
/// let device = Device::cpu();
/// let keys = device.upload(&[7_u32, 7, 3, 7])?;
/// let values = device.upload(&[1.0, 2.0, 3.0, 4.0])?;
/// let (keys, sums) = reduce::by_keys(&keys, &values, Operator::Sum)?;
/// assert_eq!((keys.download()?, sums.download()?), (vec![7, 3, 7], vec![3.0, 3.0, 4.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The results are computed in memory for as many segments as values, which they keep until they are dropped:
/// [`DeviceVec::shrink_to_fit`] frees the rest at the cost of a copy.
///
/// # Errors
///
/// If there is not one key per value, they are on another device, or there are 2³² values or more; then
/// nothing is written. If there is too little memory for the results and the
/// [temporary bytes](by_keys_temporary_bytes), or the device was lost.
pub fn by_keys<K: Key, T: Element>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<T>,
    operator: Operator,
) -> Result<(DeviceVec<K>, DeviceVec<T>), OpError> {
    let device = values.device();
    device.refuse_in_graph(
        "`reduce::by_keys` waits for the number of segments; `reduce::by_keys_into` does not",
    )?;
    let mut segment_keys = device.uninitialized(keys.len())?;
    let mut sums = device.uninitialized(values.len())?;
    let mut segments = device.zeros(1)?;
    by_keys_into(keys, values, operator, &mut segment_keys, &mut sums, &mut segments)?;
    let count = segments.get(0)? as usize;
    segment_keys.truncate(count);
    sums.truncate(count);
    Ok((segment_keys, sums))
}

/// Reduces runs of equal keys like [`by_keys`], into existing vectors, without waiting: `keys` and `values` have n
/// elements each, `segment_keys` and `sums` n or more, `segments` 1 or more.
///
/// The first element of `segments` becomes the number of runs, whose keys and sums are at the start of
/// `segment_keys` and `sums`. The rest is unchanged.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::{Device, reduce};
///
/// let device = Device::cpu();
/// let keys = device.upload(&[7_u32, 7, 3])?;
/// let values = device.upload(&[1.0, 2.0, 3.0])?;
/// let (mut run_keys, mut sums, mut runs) = (device.zeros(3)?, device.zeros(3)?, device.zeros(1)?);
/// reduce::by_keys_into(&keys, &values, Operator::Sum, &mut run_keys, &mut sums, &mut runs)?;
/// assert_eq!(runs.download()?, [2]);
/// assert_eq!((run_keys.download()?, sums.download()?), (vec![7, 3, 0], vec![3.0, 3.0, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`by_keys`], and if `segment_keys` or `sums` is shorter than there are values, `segments`
/// is empty, or one of them is on another device; then nothing is written.
pub fn by_keys_into<K: Key, T: Element>(
    keys: &DeviceSlice<K>,
    values: &DeviceSlice<T>,
    operator: Operator,
    segment_keys: &mut DeviceSlice<K>,
    sums: &mut DeviceSlice<T>,
    segments: &mut DeviceSlice<u64>,
) -> Result<(), OpError> {
    check_marks(("keys", keys), values)?;
    check_output("segment keys", values, segment_keys, values.len())?;
    check_output("sums", values, sums, values.len())?;
    check_output("the number of segments", values, segments, 1)?;
    let (device, len) = (values.device(), values.len());
    if device.kind() == DeviceKind::Cpu {
        if let (Some(keys), Some(values)) = (keys.host_slice(), values.host_slice()) {
            let begins = |index: usize| index == 0 || keys[index] != keys[index - 1];
            let (heads, own) = cpu::reduce(values, begins, operator);
            if let Some(segment_keys) = segment_keys.host_slice_mut() {
                segment_keys.iter_mut().zip(&heads).for_each(|(key, &head)| *key = keys[head]);
            }
            write_host(&own, sums, segments);
        }
        return Ok(());
    }
    let (keys, values) = (Aligned::new(keys)?, Aligned::new(values)?);
    let launch = launch_over::<T, ReduceByKey<T, K>>(device, operator, K::SIZE, len)?;
    let mut state = look_back_state::<T>(device, launch.grid(), true)?;
    segments.set_zero()?;
    let kernel = ReduceByKey {
        reduction: arguments(&values, operator, &mut state, launch.grid()),
        keys: keys.view(),
        segment_keys: segment_keys.as_global_mut(),
        segment_sums: sums.as_global_mut(),
        segments: segments.as_global_mut(),
    };
    // SAFETY: values, keys and both outputs have `len` elements or more, and there are no more segments than that; the
    // state is that of the tiles; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(())
}

/// Bytes of device memory that [`by_keys`] of `len` values takes on a GPU beside its operands and results: some words
/// per tile of thousands of values.
///
/// ```
/// assert!(evenpath::reduce::by_keys_temporary_bytes::<u32, f64>(1 << 20) < 1 << 20);
/// ```
pub fn by_keys_temporary_bytes<K: Key, T: Element>(len: usize) -> u64 {
    bytes_of::<T>(variant::<ReduceByKey<T, K>>(Operator::Sum.variant()), len)
}
