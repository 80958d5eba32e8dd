//! Scans of all values.

use evenpath_kernels::block::tile_prefix::entry_words;
use evenpath_kernels::scan::Scan;
use evenpath_simt::{Aligned16, GlobalMut};

use super::launch::{arguments, launch_over, look_back_state, state_bytes};
use super::options::ScanOptions;
use crate::cpu;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec, Kernels, variant};
use crate::element::Element;
use crate::operand::OpError;
use crate::operand::aligned::{Aligned, write_aligned};
use crate::operand::check::check_vector;
use crate::operation::Operator;

/// Scans all values: `values` has n elements, the result n. Runs in the order of the device's stream; the call
/// does not wait.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let values = Device::cpu().upload(&[1.0, 2.0, 3.0, 4.0])?;
/// let sums = scan::values(&values, ScanOptions::inclusive(Operator::Sum))?;
/// assert_eq!(sums.download()?, [1.0, 3.0, 6.0, 10.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`OpError::InitialValue`] if an inclusive scan has an initial value. If there is too little memory for the
/// result and the [temporary bytes](values_temporary_bytes), or the device was lost.
pub fn values<T: Element>(values: &DeviceSlice<T>, options: ScanOptions<T>) -> Result<DeviceVec<T>, OpError> {
    let mut result = values.device().uninitialized(values.len())?;
    values_into(values, options, &mut result)?;
    Ok(result)
}

/// Scans all values like [`values()`], into an existing vector: `values` has n elements, `result` n.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
/// use evenpath::Device;
///
/// let device = Device::cpu();
/// let mut offsets = device.zeros(4)?;
/// let lengths = device.upload(&[3_u32, 0, 2, 5])?;
/// scan::values_into(&lengths, ScanOptions::exclusive(Operator::Sum), &mut offsets)?;
/// assert_eq!(offsets.download()?, [0, 3, 3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`values()`], and if lengths or devices differ; then nothing is written.
pub fn values_into<T: Element>(
    values: &DeviceSlice<T>,
    options: ScanOptions<T>,
    result: &mut DeviceSlice<T>,
) -> Result<(), OpError> {
    let device = values.device();
    options.check_initial(false)?;
    check_vector(device, ("result", result), values.len())?;
    if device.kind() == DeviceKind::Cpu {
        if let (Some(values), Some(result)) = (values.host_slice(), result.host_slice_mut()) {
            match options.initial {
                Some(initial) => cpu::scan_from(initial, values, options.operator, result),
                None => cpu::scan(values, options.operator, options.is_exclusive, result),
            }
        }
        return Ok(());
    }
    let Some(initial) = options.initial else {
        return write_aligned(result, |result| launch(&Aligned::new(values)?, options, result));
    };
    // An exclusive scan from an initial value is an inclusive one of that value and all others but the last.
    let mut shifted = device.uninitialized(values.len() + 1)?;
    shifted.set_first(initial)?;
    shifted.slice_mut(1..)?.copy_from(values)?;
    shifted.truncate(values.len());
    let inclusive = ScanOptions::inclusive(options.operator);
    write_aligned(result, |result| launch(&shifted.into(), inclusive, result))
}

/// Scans on a device with kernels; `result` is as long as `values` and on the same device.
fn launch<T: Element>(
    values: &Aligned<'_, T>,
    options: ScanOptions<T>,
    result: GlobalMut<T, Aligned16>,
) -> Result<(), OpError> {
    let device = values.device();
    let launch = launch_over::<T, Scan<T>>(device, options.operator, 0, values.len())?;
    let mut state = look_back_state::<T>(device, launch.grid(), false)?;
    let scan = arguments(values, options, result, &mut state, launch.grid());
    // SAFETY: source and target have `len` elements, and the state is that of the tiles; buffers are freed in the
    // stream's order.
    unsafe { launch.launch(Scan { scan }) }?;
    Ok(())
}

/// The kernel of sums of all values, to be compiled ahead.
pub(crate) fn sum_kernel<T: Element>() -> Kernels {
    Kernels::default().and_variant::<Scan<T>>(Operator::Sum.variant())
}

/// Bytes of device memory that [`values()`] of `len` elements takes on a GPU beside its operands: some words per
/// tile of thousands of values and, with an initial value, a copy of all of them.
///
/// ```
/// use evenpath::operator::Operator;
/// use evenpath::scan::{self, ScanOptions};
///
/// let sums = ScanOptions::<u32>::exclusive(Operator::Sum);
/// assert!(scan::values_temporary_bytes(1 << 20, sums) < 1 << 20);
/// assert!(scan::values_temporary_bytes(1 << 20, sums.with_initial(1)) > 4 << 20);
/// ```
pub fn values_temporary_bytes<T: Element>(len: usize, options: ScanOptions<T>) -> u64 {
    let info = variant::<Scan<T>>(options.operator.variant());
    let state = state_bytes(info, len, entry_words(T::SIZE, false));
    let copied = if options.initial.is_some() { (len as u64).saturating_add(1) } else { 0 };
    state.saturating_add(copied.saturating_mul(T::SIZE as u64))
}
