//! Reductions of a vector to one number.

use evenpath_kernels::fold::{Extreme, ExtremeElements, FinishExtreme, SumElements};
use evenpath_kernels::vector::FinishDot;
use evenpath_simt::kernel::Kernel;

use crate::device::{DeviceError, DeviceSlice, instance};
use crate::operand::OpError;
use crate::operand::check::check_vector;
use crate::{Value, cpu};

/// Maximum number of blocks: the same on every GPU, because the division of elements among blocks determines the
/// rounding of sums.
pub(crate) const BLOCKS: usize = 1024;

/// Declares a reduction to a number, and its form that writes to the device.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident, $(#[$into_doc:meta])* $into:ident: $function:ident($argument:expr);)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// If this thread captures a graph, there is too little memory for 2048 elements, or the device was lost.
        pub fn $name<V: Value>(x: &DeviceSlice<V>) -> Result<V, OpError> {
            x.device().refuse_in_graph(concat!(
                "`vector::", stringify!($name), "` gives its result to the host; `vector::", stringify!($into), "` does not"
            ))?;
            let mut result = x.device().uninitialized(1)?;
            $into(x, &mut result)?;
            Ok(result.get(0)?)
        }

        $(#[$into_doc])*
        ///
        /// # Errors
        ///
        /// If `result` is not one element, or on another device; then nothing is written. If there is too little
        /// memory for 2048 elements, or the device was lost.
        pub fn $into<V: Value>(x: &DeviceSlice<V>, result: &mut DeviceSlice<V>) -> Result<(), OpError> {
            check_vector(x.device(), ("result", result), 1)?;
            $function(x, $argument, result)
        }
    )*};
}

reductions! {
    /// Returns the sum of the elements of a vector of any length; zero for an empty one. Waits for the device. Results
    /// are the same to the bit in every run.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let x = Device::best()?.upload(&[1.0, -2.0, 3.5])?;
    /// assert_eq!((vector::sum(&x)?, vector::norm1(&x)?, vector::norm_max(&x)?), (2.5, 6.5, 3.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    sum,
    /// Like [`sum`], but writes to the one element of `result`: the same to the last bit. Runs in the order of the
    /// device's stream; the call does not wait.
    sum_into: add_up(false);

    /// Returns ‖x‖₁, the sum of absolute values of a vector of any length; zero for an empty one. Waits for the device.
    /// Results are the same to the bit in every run.
    norm1,
    /// Like [`norm1`], but writes to the one element of `result`: the same to the last bit. Runs in the order of the
    /// device's stream; the call does not wait.
    norm1_into: add_up(true);

    /// Returns ‖x‖∞, the greatest absolute value of a vector of any length; zero for an empty one, and NaN if any
    /// element is. Waits for the device.
    norm_max,
    /// Like [`norm_max`], but writes to the one element of `result`. Runs in the order of the device's stream; the call
    /// does not wait.
    norm_max_into: find_value(Extreme::AbsMax);

    /// Returns the least element of a vector of any length that is not NaN; ∞ if there is none. −0 is less than 0.
    /// Waits for the device.
    ///
    /// ```
    /// use evenpath::{Device, vector};
    ///
    /// let x = Device::best()?.upload(&[1.0, -2.0, f64::NAN, 3.5])?;
    /// assert_eq!((vector::min(&x)?, vector::max(&x)?), (-2.0, 3.5));
    /// assert_eq!((vector::argmin(&x)?, vector::argmax(&x)?), (Some(1), Some(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    min,
    /// Like [`min()`], but writes to the one element of `result`. Runs in the order of the device's stream; the call does
    /// not wait.
    min_into: find_value(Extreme::Min);

    /// Returns the greatest element of a vector of any length that is not NaN; −∞ if there is none. −0 is less than 0.
    /// Waits for the device.
    max,
    /// Like [`max()`], but writes to the one element of `result`. Runs in the order of the device's stream; the call does
    /// not wait.
    max_into: find_value(Extreme::Max);
}

/// Returns the index of the least element of a vector, the first of several; `None` if all are NaN, or there is
/// none. −0 is less than 0. Waits for the device.
///
/// # Errors
///
/// If this thread captures a graph, there is too little memory for 2048 elements, or the device was lost.
pub fn argmin<V: Value>(x: &DeviceSlice<V>) -> Result<Option<usize>, OpError> {
    x.device()
        .refuse_in_graph("`vector::argmin` gives its result to the host; `vector::argmin_into` does not")?;
    index_on_host(x, argmin_into)
}

/// Like [`argmin`], but writes the index to the one element of `result`, and 2⁶⁴ − 1 if there is none. Runs in the
/// order of the device's stream; the call does not wait.
///
/// # Errors
///
/// If `result` is not one element, or on another device; then nothing is written. If there is too little memory for
/// 2048 elements, or the device was lost.
pub fn argmin_into<V: Value>(x: &DeviceSlice<V>, result: &mut DeviceSlice<u64>) -> Result<(), OpError> {
    find_index(x, Extreme::Min, result)
}

/// Returns the index of the greatest element of a vector, the first of several; `None` if all are NaN, or there is
/// none. −0 is less than 0. Waits for the device.
///
/// # Errors
///
/// If this thread captures a graph, there is too little memory for 2048 elements, or the device was lost.
pub fn argmax<V: Value>(x: &DeviceSlice<V>) -> Result<Option<usize>, OpError> {
    x.device()
        .refuse_in_graph("`vector::argmax` gives its result to the host; `vector::argmax_into` does not")?;
    index_on_host(x, argmax_into)
}

/// Like [`argmax`], but writes the index to the one element of `result`, and 2⁶⁴ − 1 if there is none. Runs in the
/// order of the device's stream; the call does not wait.
///
/// # Errors
///
/// If `result` is not one element, or on another device; then nothing is written. If there is too little memory for
/// 2048 elements, or the device was lost.
pub fn argmax_into<V: Value>(x: &DeviceSlice<V>, result: &mut DeviceSlice<u64>) -> Result<(), OpError> {
    find_index(x, Extreme::Max, result)
}

fn index_on_host<V: Value>(
    x: &DeviceSlice<V>,
    find: impl FnOnce(&DeviceSlice<V>, &mut DeviceSlice<u64>) -> Result<(), OpError>,
) -> Result<Option<usize>, OpError> {
    let mut index = x.device().uninitialized(1)?;
    find(x, &mut index)?;
    let index: u64 = index.get(0)?;
    Ok(usize::try_from(index).ok().filter(|&index| index < x.len()))
}

fn find_index<V: Value>(
    x: &DeviceSlice<V>,
    extreme: Extreme,
    result: &mut DeviceSlice<u64>,
) -> Result<(), OpError> {
    check_vector(x.device(), ("result", result), 1)?;
    let mut value = x.device().uninitialized(1)?;
    find(x, extreme, &mut value, result)
}

fn find_value<V: Value>(
    x: &DeviceSlice<V>,
    extreme: Extreme,
    result: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    let mut index = x.device().uninitialized(1)?;
    find(x, extreme, result, &mut index)
}

/// Number of blocks of a kernel that reduces `len` elements.
pub(super) fn blocks<K: Kernel>(len: usize) -> usize {
    len.div_ceil(instance::<K>().tile_items()).min(BLOCKS)
}

/// Writes the sum of all elements, or of their absolute values, to one element.
fn add_up<V: Value>(
    x: &DeviceSlice<V>,
    is_absolute: bool,
    result: &mut DeviceSlice<V>,
) -> Result<(), OpError> {
    let (device, len) = (x.device(), x.len());
    if let (Some(x), Some([result])) = (x.host_slice(), result.host_slice_mut()) {
        *result = if is_absolute { cpu::sum(x, V::abs) } else { cpu::sum(x, |x| x) };
        return Ok(());
    }
    let blocks = blocks::<SumElements<V>>(len);
    let (launch, finish_launch) = (device.kernel().blocks(blocks)?, device.kernel().blocks(1)?);
    let mut sums = device.uninitialized(blocks)?;
    let kernel = SumElements {
        x: x.as_global(),
        sums: sums.as_global_mut(),
        len: len as u64,
        is_absolute: u32::from(is_absolute),
    };
    let finish = FinishDot { sums: sums.as_global(), count: blocks as u32, result: result.as_global_mut() };
    // SAFETY: the views are of a vector of `len` elements, of one sum per block, at most the number that one block
    // takes, and of one element, on this device; buffers are freed in the stream's order.
    unsafe {
        launch.launch(kernel)?;
        finish_launch.launch(finish)?;
    }
    Ok(())
}

/// Writes the extreme element, and its index unless it is of absolute values, to one element each.
fn find<V: Value>(
    x: &DeviceSlice<V>,
    extreme: Extreme,
    value: &mut DeviceSlice<V>,
    index: &mut DeviceSlice<u64>,
) -> Result<(), OpError> {
    if let (Some(x), Some([value]), Some([index])) =
        (x.host_slice(), value.host_slice_mut(), index.host_slice_mut())
    {
        (*value, *index) = cpu::extreme(extreme, x);
        return Ok(());
    }
    Ok(find_on_device(x, extreme, value, index)?)
}

fn find_on_device<V: Value>(
    x: &DeviceSlice<V>,
    extreme: Extreme,
    value: &mut DeviceSlice<V>,
    index: &mut DeviceSlice<u64>,
) -> Result<(), DeviceError> {
    let (device, len) = (x.device(), x.len());
    let blocks = blocks::<ExtremeElements<V>>(len);
    let (launch, finish_launch) = (device.kernel().blocks(blocks)?, device.kernel().blocks(1)?);
    let (mut keys, mut indices) = (device.uninitialized(blocks)?, device.uninitialized(blocks)?);
    let kernel = ExtremeElements {
        x: x.as_global(),
        keys: keys.as_global_mut(),
        indices: indices.as_global_mut(),
        len: len as u64,
        extreme: extreme.code(),
    };
    let finish = FinishExtreme {
        keys: keys.as_global(),
        indices: indices.as_global(),
        value: value.as_global_mut(),
        index: index.as_global_mut(),
        count: blocks as u32,
        extreme: extreme.code(),
    };
    // SAFETY: the views are of a vector of `len` elements, of one key and index per block, at most the number that one
    // block takes, and of one element each, on this device; buffers are freed in the stream's order.
    unsafe {
        launch.launch(kernel)?;
        finish_launch.launch(finish)
    }
}
